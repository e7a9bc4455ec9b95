package proc

import "syscall"

// dieWithParent makes the kernel kill a child whose test process is gone, and
// keeps the terminal's interrupt from reaching it before the test handles it.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
