package demand

import "errors"

var (
	// ErrOffline is returned while no hub can be asked.
	ErrOffline = errors.New("no hub can be asked for it")
	// ErrPending is returned for a resource that has been waited for in vain and is still on its way.
	ErrPending = errors.New("it is not synced yet")
	// ErrRefused is returned for a resource that the edge can't have.
	ErrRefused = errors.New("the edge can't have it")
	// ErrFull is returned when as many resources are wanted as may be.
	ErrFull = errors.New("as many resources are held on demand as may be")
)
