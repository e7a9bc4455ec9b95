// Package source holds what all sources of objects have in common. A source gives a hub one log per resource: package
// kube from a kube-apiserver, package embedded from a file that is the cloud itself.
package source

import (
	"errors"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

var (
	// ErrUnknownResource is returned for a resource that the cloud does not serve, in any version.
	ErrUnknownResource = apidoc.ErrUnknownResource
	// ErrNotWatchable is returned for a resource that the cloud serves without LIST or WATCH.
	ErrNotWatchable = errors.New("the resource can't be listed and watched")
	// ErrUnordered is returned for a resource whose resourceVersions are not decimal numbers, so that nothing can be
	// said about the order of its changes.
	ErrUnordered = errors.New("the resource's resourceVersions are not numbers")
	// ErrRedefined closes the log of a resource whose kind, scope, served version or selectable fields have changed. It
	// can be opened again.
	ErrRedefined = errors.New("the resource has been redefined")
	// ErrRewound closes a log that has seen revisions which the cloud no longer knows: its store was restored from a
	// backup. The resource can be opened again; positions taken before mean nothing any more.
	ErrRewound = errors.New("the cloud has gone back to an earlier revision")
	// ErrReplaced closes a log because another cluster answers now where its cluster did.
	ErrReplaced = errors.New("another cluster has taken the place of the one before")
	// ErrIdle closes a log that nobody has used for a while.
	ErrIdle = errors.New("nobody uses the resource")
	// ErrStopped is returned by a source that is not running any more.
	ErrStopped = errors.New("the source has stopped")
)
