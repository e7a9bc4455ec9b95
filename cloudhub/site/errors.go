package site

import "errors"

var (
	// ErrStarting is returned while the EdgeSites have not been read yet.
	ErrStarting = errors.New("the hub has not read its EdgeSites yet")
	// ErrUnknown is returned for an edge that there is no EdgeSite of.
	ErrUnknown = errors.New("there is no EdgeSite of that name")
	// ErrSuspended is returned for an edge that is suspended, or is being deleted.
	ErrSuspended = errors.New("the edge is suspended")
	// ErrRevoked is returned for a certificate that the EdgeSite refuses.
	ErrRevoked = errors.New("the certificate was issued before what the EdgeSite accepts")
	// ErrUnusable is returned for an edge whose scope can't be told: it keeps what it has until that is mended.
	ErrUnusable = errors.New("the edge's scope can't be used")
)
