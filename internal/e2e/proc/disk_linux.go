package proc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// FillDisk makes every write of the process to a file fail from now on, as a full disk does, or lets them succeed again.
// The error is EFBIG rather than ENOSPC. The process must run.
func (p *Process) FillDisk(full bool) error {
	var limit unix.Rlimit
	pid := p.cmd.Process.Pid
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		return fmt.Errorf("proc: limit of %s: %w", p.Name, err)
	}
	limit.Cur = limit.Max
	if full {
		limit.Cur = 0
	}
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		return fmt.Errorf("proc: limit of %s: %w", p.Name, err)
	}
	return nil
}
