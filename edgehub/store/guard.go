package store

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// guard runs fn, which reads the mapped file, and turns what damage to the file can do to it into an error that wraps
// ErrCorrupt: bbolt's panics about pages that make no sense, and the fault that reading a page raises when the disk
// can't deliver it or the file was cut short.
func guard(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%w: %v", ErrCorrupt, r)
		}
	}()
	return fn()
}

// guardFaults is guard for code that runs callers' functions: it turns faults into errors and lets panics pass.
func guardFaults(fn func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		fault, ok := r.(interface {
			runtime.Error
			Addr() uintptr
		})
		if !ok {
			panic(r)
		}
		err = fmt.Errorf("%w: %w at %#x", ErrCorrupt, fault, fault.Addr())
	}()
	return fn()
}
