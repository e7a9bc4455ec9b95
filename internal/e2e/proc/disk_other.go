//go:build !linux

package proc

import "errors"

// FillDisk fails with errors.ErrUnsupported: only Linux can do it.
func (p *Process) FillDisk(bool) error { return errors.ErrUnsupported }
