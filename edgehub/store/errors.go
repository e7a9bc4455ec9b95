package store

import "errors"

var (
	// ErrLocked is returned by Open, Check and Dump when another process has the file open.
	ErrLocked = errors.New("locked by another process")
	// ErrNewerFormat is returned by Open, Check and Dump when the file was written by a newer version of this program.
	// Nothing was touched.
	ErrNewerFormat = errors.New("written in a newer format")
	// ErrNoKey is returned by Open, Check and Dump when the file is encrypted with a key that was not given. Nothing was touched.
	ErrNoKey = errors.New("encrypted with a key that was not given")
	// ErrCorrupt is returned by Load and the other readers when what they read is not what was written. The store then
	// can't be trusted: close it and open it again, and Open sets the file aside. A Probe wraps it to condemn a file.
	ErrCorrupt = errors.New("corrupt")
	// ErrUnknownResource is returned for a resource that was never described, or was dropped.
	ErrUnknownResource = errors.New("resource is not in the store")
	// ErrUnknownKey is returned by Dump for a key that no object has.
	ErrUnknownKey = errors.New("key is not in the store")
	// ErrOrder is returned by Apply and Stage for what does not follow from the stored state: a position below the stored
	// one, events out of order, an event against another version than the live one.
	ErrOrder = errors.New("does not follow from the stored state")
	// ErrDiskFull is returned by Update and Close when the file system has no room. Nothing of the update was stored; the
	// store goes on working when there is room again.
	ErrDiskFull = errors.New("no space for the data file")
	// ErrFailed is returned by everything but Close once an update met damage, or its commit could neither be confirmed
	// nor ruled out, as when the disk refuses to sync its last page. What that update held may or may not be there after
	// the store is opened again.
	ErrFailed = errors.New("store failed, open it again")
	// ErrClosed is returned after Close.
	ErrClosed = errors.New("store is closed")
)
