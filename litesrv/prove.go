package litesrv

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Prover proves that what is held here is no older than a request.
type Prover interface {
	// Prove returns a position that the backend's log of gvr has reached and at which its objects in the part are the
	// cloud's as of some moment since the call. It says nothing about later positions of the log.
	//
	// With minRev set it may also return, with the log's position, once that is minRev or later, and for the whole resource
	// it asks for the log to come to minRev, or to where the cloud is. It fails at once while there is no cloud.
	Prove(ctx context.Context, gvr schema.GroupVersionResource, part Part, minRev uint64) (uint64, error)
}

// Part is a part of a resource. The zero value is all of it.
type Part struct{ Namespace, Name, LabelSelector, FieldSelector string }

// freshness is what is known of how old an answer is.
type freshness uint8

const (
	asHeld   freshness = iota // as old as the log, which says itself when it is behind
	proved                    // no older than the request
	unproved                  // the request asked for the newest state, and there is no proof that this is it
)

// partOf returns the part that a selection is about.
func partOf(sel *selection, o *listOptions) Part {
	p := Part{Namespace: sel.namespace}
	if sel.key != "" {
		p.Name, _ = sel.exactField(fieldName)
		return p
	}
	if o.LabelSelector != nil {
		p.LabelSelector = o.LabelSelector.String()
	}
	if o.FieldSelector != nil {
		p.FieldSelector = o.FieldSelector.String()
	}
	return p
}

// consistent returns a state that is no older than the request, as kube-apiserver answers without a resourceVersion. When
// there is no proof of that it returns the newest state that is held, and the answer will say so.
func (s *Server) consistent(ctx context.Context, q *read) (watchlog.Snapshot, error) {
	if s.cfg.Prover == nil {
		return q.log.Snapshot(), nil
	}
	q.fresh = unproved
	if _, lost := q.log.Lost(); lost || s.cfg.LocalReads {
		return q.log.Snapshot(), nil
	}
	short, cancel := context.WithTimeout(ctx, s.freshWait)
	defer cancel()
	if rev, err := s.cfg.Prover.Prove(short, q.res.GroupVersionResource(), q.part, 0); err == nil {
		snap, err := q.log.SnapshotAt(rev)
		if err == nil {
			q.fresh = proved
			return snap, nil
		}
	}
	return q.log.Snapshot(), ctx.Err()
}

// hasten has the log come to a revision that a client has seen elsewhere, if the cloud is there: of a quiet resource it
// may be long until the log hears that nothing has happened.
func (s *Server) hasten(ctx context.Context, l *watchlog.Log, rev uint64) {
	if s.cfg.Prover == nil {
		return
	}
	// Whatever comes of it, who asks waits for the log itself.
	_, _ = s.cfg.Prover.Prove(ctx, l.Resource().GroupVersionResource(), Part{}, rev)
}

// lastContact returns when the cloud was last heard of, zero for never.
func (s *Server) lastContact(l *watchlog.Log) time.Time {
	if since, lost := l.Lost(); lost {
		return since
	}
	if s.cfg.LastContact != nil {
		return s.cfg.LastContact()
	}
	return time.Now()
}
