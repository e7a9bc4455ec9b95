package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockName is the name of the file whose lock says who owns a data directory. bbolt's own lock is on the data file,
// which Open may set aside and replace while it owns the directory.
const lockName = "edge.lock"

// lockRetry is the time between two attempts to take the lock.
const lockRetry = 20 * time.Millisecond

// lockDir takes the lock of dir until the returned file is closed. It fails with ErrLocked when another process, or
// another store of this one, still has it after wait.
func lockDir(dir string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // in the edge's own directory
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(wait); ; time.Sleep(lockRetry) {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", f.Name(), err), f.Close())
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("%s: %w", filepath.Join(dir, FileName), ErrLocked), f.Close())
		}
	}
}
