package enroll

import (
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/identity"
)

// Revocation bars all that was issued to an edge before a time.
type Revocation struct {
	Edge   string    `json:"edge"`
	Before time.Time `json:"before"` // a full second, as the times in certificates are
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by,omitempty"` // who said so
}

// NewRevocation bars all that was issued to an edge until now. last is the time of the edge's revocation before, if any.
func NewRevocation(edge, reason string, now, last time.Time) Revocation {
	before := now.UTC().Truncate(time.Second).Add(time.Second)
	if !before.After(last) {
		before = last.Add(time.Second)
	}
	return Revocation{Edge: edge, Before: before, Reason: reason}
}

// Revoked knows the revocations: an identity.Standing. Before the first Set it answers that it can't tell.
type Revoked struct {
	mu      sync.RWMutex         // guards all below
	before  map[string]time.Time // nil before the first Set
	changed chan struct{}
}

// NewRevoked returns one that knows nothing yet.
func NewRevoked() *Revoked { return &Revoked{changed: make(chan struct{})} }

// Set replaces what is known, and returns what is new, nothing the first time.
func (r *Revoked) Set(all []Revocation) (added []Revocation) {
	before := make(map[string]time.Time, len(all))
	for _, v := range all {
		if v.Before.After(before[v.Edge]) {
			before[v.Edge] = v.Before
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.before != nil && maps.Equal(r.before, before) {
		return nil
	}
	for _, v := range all {
		if r.before != nil && v.Before.After(r.before[v.Edge]) {
			added = append(added, v)
		}
	}
	r.before = before
	close(r.changed)
	r.changed = make(chan struct{})
	return added
}

// Check tells whether an edge may be here with a certificate that begins at notBefore.
func (r *Revoked) Check(edge string, notBefore time.Time) error {
	before, err := r.Before(edge)
	if err != nil {
		return err
	}
	if notBefore.Before(before) {
		return fmt.Errorf("%w: all that was issued before %s is", identity.ErrBarred, before.UTC().Format(time.RFC3339))
	}
	return nil
}

// Before returns when the edge was last revoked, zero for never. It fails while that can't be told.
func (r *Revoked) Before(edge string) (time.Time, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.before == nil {
		return time.Time{}, fmt.Errorf("the revocations are not read yet")
	}
	return r.before[edge], nil
}

// Changed is closed when revocations change.
func (r *Revoked) Changed() <-chan struct{} {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.changed
}
