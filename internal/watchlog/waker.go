package watchlog

// Waker is told that there may be something new to read. Wake never waits, and is cheap: it is called for every reader
// that an event concerns, by who commits it and with the log's lock held. It must not call the log.
type Waker interface{ Wake() }

// Signal is a Waker for a goroutine that waits: a channel with room for one signal.
type Signal chan struct{}

// Wake leaves a signal, unless one is waiting already.
func (s Signal) Wake() {
	select {
	case s <- struct{}{}:
	default:
	}
}
