package watchlog

import "errors"

var (
	// ErrCompacted is returned for a position before the window or inside a gap, and to a reader that the window has
	// left behind.
	ErrCompacted = errors.New("position is no longer in the window")
	// ErrFuture is returned for an exact read at a position that the log has not reached.
	ErrFuture = errors.New("position is ahead of the log")
	// ErrOrder is returned by Commit and Load for a batch that would take the log backwards or does not follow from its
	// current state. Nothing of the batch is applied.
	ErrOrder = errors.New("batch does not follow from the log")
	// ErrMalformed is returned by Decode for bytes that are not one Kubernetes object in JSON.
	ErrMalformed = errors.New("malformed object")
	// ErrNotReady is returned to a reader of a log that has no first state yet.
	ErrNotReady = errors.New("log is not ready")
	// ErrClosed is what readers of a closed log get when Close was given no other reason.
	ErrClosed = errors.New("log is closed")
)
