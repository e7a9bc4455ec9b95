//go:build !linux

package proc

import "syscall"

// dieWithParent does nothing here: only Linux can do it.
func dieWithParent() *syscall.SysProcAttr { return nil }
