package site

import (
	"errors"
	"fmt"

	"github.com/tombolo-sync/tombolo/cloudhub/identity"
)

var (
	// ErrStarting is returned while the EdgeSites have not been read yet.
	ErrStarting = errors.New("the hub has not read its EdgeSites yet")
	// ErrUnknown is returned for an edge that there is no EdgeSite of.
	ErrUnknown = fmt.Errorf("%w: there is no EdgeSite of that name", identity.ErrBarred)
	// ErrSuspended is returned for an edge that is suspended, or is being deleted.
	ErrSuspended = fmt.Errorf("%w: the edge is suspended", identity.ErrBarred)
	// ErrRevoked is returned for a certificate that the EdgeSite refuses.
	ErrRevoked = fmt.Errorf("%w: the certificate was issued before what the EdgeSite accepts", identity.ErrBarred)
	// ErrUnusable is returned for an edge whose scope can't be told: it keeps what it has until that is mended.
	ErrUnusable = errors.New("the edge's scope can't be used")
)
