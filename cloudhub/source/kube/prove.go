package kube

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/round"
)

const (
	// proofLimit bounds a proof.
	proofLimit = 3 * time.Second
	// maxProofs bounds the different parts of one resource that proofs are under way of.
	maxProofs = 256
	// maxListed is how many objects a part may have to be compared with a list of the cloud's.
	maxListed = 2000
	// listRate and listBurst bound such lists of one resource, per second.
	listRate, listBurst = 20, 40
)

// proofs are how a feed finds out that its log has come as far as the cloud. They belong to the feed.
type proofs struct {
	current *round.Table[struct{}, uint64]    // asks for the cloud's revision
	parts   *round.Table[source.Part, uint64] // proves a part
	marks   *round.Table[struct{}, struct{}]  // moves the log to where the cloud is
	lists   *rate.Limiter                     // of lists of metadata
}

func (f *feed) newProofs(ctx context.Context) *proofs {
	return &proofs{
		current: round.NewTable(ctx, proofLimit, 1, f.askRevision),
		parts:   round.NewTable(ctx, proofLimit, maxProofs, f.provePart),
		marks:   round.NewTable(ctx, 2*proofLimit, 1, f.mark),
		lists:   rate.NewLimiter(listRate, listBurst),
	}
}

// wait waits for what is under way, when the context given to newProofs has ended.
func (p *proofs) wait() {
	p.parts.Wait()
	p.current.Wait()
	p.marks.Wait()
}

// Prove returns a position of the log of gr, which the log has reached, at which its objects in the part are the cloud's
// as they were at some moment since the call. The log's position may lie below the cloud's revision then: nothing in the
// part differs between the two, and a watch from that position misses nothing. It says nothing about later positions: an
// object that was created and deleted again behind the position, before the call, may still be on its way.
//
// With minRev set the part does not matter: the position returned is minRev or later, or, when the cloud is not there
// yet, where the cloud was.
//
// Every answer follows from what the API server says, never from the time that has passed. It fails with source.ErrLost
// at once while the resource can't be followed, with source.ErrRewound when the cloud has gone back, and with the context's
// error or after 3 seconds when there is no proof.
func (k *Kube) Prove(ctx context.Context, gr schema.GroupResource, part source.Part, minRev uint64) (uint64, error) {
	k.mu.Lock()
	f := k.feeds[gr]
	k.mu.Unlock()
	if f == nil || !f.isOpen() || !f.entries.IsReady() {
		return 0, fmt.Errorf("prove %s: it is not followed", gr)
	}
	if _, lost := f.entries.Lost(); lost {
		return 0, fmt.Errorf("prove %s: %w", gr, source.ErrLost)
	}
	rev, err := uint64(0), error(nil)
	if minRev > 0 {
		rev, err = f.proveRev(ctx, minRev)
	} else {
		rev, err = f.proofs.parts.Ask(ctx, part, 0)
	}
	if errors.Is(err, source.ErrRewound) {
		f.rewound(err) // here, because it ends the rounds that have found it out
	}
	if err != nil {
		return 0, fmt.Errorf("prove %s: %w", gr, err)
	}
	return rev, nil
}

// proveRev takes the log to minRev, or to where the cloud is.
func (f *feed) proveRev(ctx context.Context, minRev uint64) (uint64, error) {
	if rev := f.entries.Rev(); rev >= minRev {
		return rev, nil
	}
	rev, err := f.revision(ctx)
	if err != nil {
		return 0, err
	}
	return f.advance(ctx, min(rev, minRev))
}

// revision returns the cloud's revision at a moment since the call.
func (f *feed) revision(ctx context.Context) (uint64, error) {
	return f.proofs.current.Ask(ctx, struct{}{}, 0)
}

func (f *feed) askRevision(ctx context.Context, _ struct{}, _ func() uint64) (uint64, error) {
	seen := f.entries.Rev()
	p, err := newProbe(ctx, f.client, f.resource.Name, f.resource.Namespaced)
	if err != nil {
		return 0, err
	}
	if p.rev < seen {
		return 0, fmt.Errorf("%w: it is at %d, the hub has seen %d", source.ErrRewound, p.rev, seen)
	}
	return p.rev, nil
}

// provePart is the work of one proof.
func (f *feed) provePart(ctx context.Context, part source.Part, _ func() uint64) (uint64, error) {
	start := time.Now()
	method, rev, err := f.choose(ctx, part)
	f.kube.metrics.proved(method, time.Since(start), err)
	return rev, err
}

// choose proves a part in the cheapest way that is exact.
func (f *feed) choose(ctx context.Context, part source.Part) (method string, rev uint64, err error) {
	cloud, err := f.revision(ctx)
	if err != nil {
		return "position", 0, err
	}
	if rev, ok := f.reached(cloud); ok {
		return "position", rev, nil
	}
	if part.Name != "" && (part.Namespace != "") == f.resource.Namespaced {
		rev, err = f.proveObject(ctx, part, cloud)
		return "object", rev, err
	}
	c, err := compileCriteria(f.resource, part)
	if err != nil {
		return "list", 0, err
	}
	if c.few(f.entries.Snapshot()) && f.proofs.lists.Allow() {
		rev, err = f.proveListed(ctx, part, c)
		if !errors.Is(err, errTooMany) {
			return "list", rev, err
		}
	}
	rev, err = f.advance(ctx, cloud)
	return "watch", rev, err
}

// reached tells whether the log has everything up to a revision of the cloud's, and the position that it has.
//
// Several Events may expire at one revision, and the watch tells them one by one, so that the log is at that revision
// before it has them all.
func (f *feed) reached(cloud uint64) (uint64, bool) {
	rev := f.entries.Rev()
	if f.resource.Name == "events" && rev == cloud && f.entries.LastChange() == cloud {
		return rev, false
	}
	return rev, rev >= cloud
}
