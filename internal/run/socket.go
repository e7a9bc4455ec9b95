package run

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// ListenSocket opens a Unix socket that only this process's user can connect to. What a process that is no more has left in its
// place is replaced. The error names the path and says what is wrong with it.
func ListenSocket(ctx context.Context, name, path string) (net.Listener, error) {
	if err := vacant(ctx, path); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// A socket is open to others between the calls that make it and that close it to them: it is made where nobody else gets.
	dir, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // empty by then
	made := filepath.Join(dir, "s")
	lis, err := (&net.ListenConfig{}).Listen(ctx, "unix", made)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lis.(*net.UnixListener).SetUnlinkOnClose(false)
	if err = os.Chmod(made, 0o600); err == nil {
		err = os.Rename(made, path)
	}
	if err != nil {
		_ = lis.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return lis, nil
}

// vacant fails when something is at path that is not a dead socket.
func vacant(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("%s is there, and no socket", path)
	}
	c, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil
	}
	_ = c.Close()
	return fmt.Errorf("%s is in use", path)
}
