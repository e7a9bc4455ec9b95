package clock

import (
	"encoding/binary"
	"fmt"
	"os"
	"time"
)

// Clock is what one or more processes go by that [Build] has made. Its methods may be called at the same time.
type Clock struct{ file *os.File }

// New makes a clock that is right, in a file that is not there yet.
func New(path string) (*Clock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("clock: %w", err)
	}
	c := &Clock{file}
	return c, c.Set(0)
}

// Environment is what makes a process go by the clock, to be appended to its environment.
func (c *Clock) Environment() string { return "TOMBOLO_E2E_CLOCK=" + c.file.Name() }

// Set makes the clock be ahead by that, in whole seconds; behind when it is negative.
func (c *Clock) Set(ahead time.Duration) error {
	// One write of eight aligned bytes: who reads them through memory sees the old or the new ones.
	seconds := binary.NativeEndian.AppendUint64(nil, uint64(int64(ahead/time.Second)))
	if _, err := c.file.WriteAt(seconds, 0); err != nil {
		return fmt.Errorf("clock: %w", err)
	}
	return nil
}

// Close closes the file. Processes that have it keep the time that was set last.
func (c *Clock) Close() error { return c.file.Close() }
