//go:build !linux

package cluster

import "syscall"

// dieWithParent does nothing here: only Linux can do it.
func dieWithParent() *syscall.SysProcAttr { return nil }
