package credentials

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// temporary begins the names of files that are not whole yet.
const temporary = ".new-"

// writeFile replaces a file as a whole, durably, for its owner alone.
func writeFile(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	t, err := os.CreateTemp(dir, temporary+"*") // mode 0600
	if err != nil {
		return err
	}
	_, err = t.Write(data)
	if err = errors.Join(err, t.Sync(), t.Close()); err == nil {
		err = os.Rename(t.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	d, err := os.Open(dir) //nolint:gosec // in the edge's own directory
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// leftoverAge is how old a temporary file is that nobody can be writing any more, by whatever clock.
const leftoverAge = time.Minute

// removeLeftovers removes temporary files of processes that were killed: there may be keys in them.
func removeLeftovers(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("leftovers: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !strings.HasPrefix(e.Name(), temporary) || time.Since(info.ModTime()).Abs() < leftoverAge {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("leftovers: %w", err)
		}
	}
	return nil
}
