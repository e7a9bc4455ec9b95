package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

const (
	// asideInfix stands between the data file's name and the time at which it was set aside.
	asideInfix = ".corrupt-"
	// asideTime is the layout of that time, UTC: names sort as the times do.
	asideTime = "20060102T150405.000000000Z"
	// keepAside is how many files that were set aside are kept.
	keepAside = 2
)

// setAside renames the data file, which is corrupt because of cause, out of the way, and forgets the oldest ones so
// renamed before. It returns what Recovered is to return.
func setAside(path string, cause error, o *Options) (recovered, err error) {
	if err := o.step(StepSetAside); err != nil {
		return nil, err
	}
	to := path + asideInfix + time.Now().UTC().Format(asideTime)
	if err := os.Rename(path, to); err != nil { //nolint:gosec // in the edge's own directory
		return nil, fmt.Errorf("set corrupt file aside: %w", errors.Join(err, cause))
	}
	if err := pruneAside(path); err != nil {
		o.Logger.Warn("can't remove a corrupt file that was set aside long ago", "err", err)
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, err
	}
	o.Logger.Error("data file is corrupt, it was set aside and everything will be synced anew",
		"file", path, "aside", to, "err", cause)
	return fmt.Errorf("set aside as %s: %w", to, cause), nil
}

// pruneAside removes all but the newest files set aside.
func pruneAside(path string) error {
	old, err := filepath.Glob(path + asideInfix + "*")
	if err != nil {
		return err
	}
	slices.Sort(old)
	for _, name := range old[:max(0, len(old)-keepAside)] {
		if err := os.Remove(name); err != nil { //nolint:gosec // in the edge's own directory
			return err
		}
	}
	return nil
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // in the edge's own directory
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
