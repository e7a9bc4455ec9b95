package syncsrv

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// plainDigest works a view's digest out without any help.
func plainDigest(v scope.View, s watchlog.Snapshot) (d delta.Digest) {
	for o := range s.All("") {
		if v.Matches(o) {
			d.Add(o)
		}
	}
	return d
}

// concerned tells whether an event behind rev concerns the view.
func (c *chronicle) concerned(v scope.View, rev uint64) bool {
	for _, e := range c.events {
		if _, ok := v.Transition(e); ok && e.Rev > rev {
			return true
		}
	}
	return false
}

var testRules = []string{
	`{resource: pods}`, `{resource: pods, fieldSelector: spec.nodeName=n1}`, `{resource: pods, fieldSelector: spec.nodeName!=n2}`,
	`{resource: pods, fieldSelector: spec.nodeName=n0}, {resource: pods, fieldSelector: metadata.name=p3, namespaces: [ns]}`,
	`{resource: pods, fieldSelector: spec.nodeName=nowhere}`,
}

// TestDigestsAreThoseOfAllObjects holds the digests of projections, which begin at any time and are asked for any position,
// against what the log holds there.
func TestDigestsAreThoseOfAllObjects(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			c := newChronicle(t, seed, watchlog.Config{MaxEvents: 60})
			ps := newProjections()
			var held []*projection
			for range 120 {
				c.step()
				if c.rng.IntN(6) == 0 {
					held = append(held, ps.of(c.log, testView(t, testRules[c.rng.IntN(len(testRules))])))
				}
				if n := len(held); n > 0 && c.rng.IntN(12) == 0 {
					held[0].release()
					held = held[1:]
				}
				for range min(len(held), 3) {
					c.checkDigests(held[c.rng.IntN(len(held))])
				}
			}
			for _, p := range held {
				p.release()
			}
			if len(ps.by) > 0 || c.log.HasReaders() {
				t.Errorf("%d projections without a holder, readers: %t", len(ps.by), c.log.HasReaders())
			}
		})
	}
}

// checkDigests asks for the digests at some positions.
func (c *chronicle) checkDigests(p *projection) {
	c.t.Helper()
	for range 4 {
		rev := c.revs[len(c.revs)-1-c.rng.IntN(min(len(c.revs), 40))] - uint64(c.rng.IntN(2))
		snap, err := c.log.SnapshotAt(rev)
		if r, torn := c.log.NewReader(rev, nil); torn == nil {
			r.Close()
		} else if err == nil {
			continue // a late event of that position has left the window
		}
		got, changed, gotErr := p.at(rev)
		if err != nil || gotErr != nil {
			if !errors.Is(err, watchlog.ErrCompacted) || !errors.Is(gotErr, watchlog.ErrCompacted) {
				c.t.Fatalf("at %d: %v, the log says %v", rev, gotErr, err)
			}
			continue
		}
		if want := plainDigest(p.view, snap); got != want {
			c.t.Fatalf("at %d: %v, want %v", rev, got, want)
		}
		if want := c.concerned(p.view, rev); changed != want {
			c.t.Fatalf("at %d: changed since: %t, want %t", rev, changed, want)
		}
		if n := len(p.digest.points); n > p.room() {
			c.t.Fatalf("%d points", n)
		}
	}
	if _, _, err := p.at(c.log.Rev() + 1); !errors.Is(err, watchlog.ErrFuture) {
		c.t.Fatalf("the future: %v", err)
	}
	for range 3 {
		s := c.snaps[len(c.snaps)-1-c.rng.IntN(min(len(c.snaps), 10))]
		if got, want := p.of(s), plainDigest(p.view, s); got != want {
			c.t.Fatalf("the snapshot at %d: %v, want %v", s.Rev(), got, want)
		}
	}
}

// TestDigestsWhileTheLogMoves: the same while others write and ask.
func TestDigestsWhileTheLogMoves(t *testing.T) {
	c := newChronicle(t, 1, watchlog.Config{})
	v, ps := testView(t, testRules[1]), newProjections()
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 4 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				p := ps.of(c.log, v)
				snap := c.log.Snapshot()
				if got, want := p.of(snap), plainDigest(v, snap); got != want {
					t.Errorf("the snapshot at %d: %v, want %v", snap.Rev(), got, want)
				}
				_, _, err := p.at(snap.Rev() - min(20, snap.Rev()-100))
				if err != nil && !errors.Is(err, watchlog.ErrCompacted) {
					t.Error(err)
				}
				p.release()
			}
		})
	}
	for range 500 {
		c.step()
	}
	close(done)
	wg.Wait()
}

// TestDigestOfManyHoldersCostsOneLook: however many edges ask, and whatever the position, nobody looks at all objects
// again.
func TestDigestOfManyHoldersCostsOneLook(t *testing.T) {
	c := newChronicle(t, 3, watchlog.Config{})
	for range 50 {
		c.step()
	}
	v, ps := testView(t, testRules[0]), newProjections()
	for range 20 {
		defer ps.of(c.log, v).release()
	}
	p := ps.of(c.log, v)
	defer p.release()
	last := c.revs[len(c.revs)-20:]
	for _, rev := range last { // begins at the newest, then goes back
		_, _, _ = p.at(rev)
	}
	before := len(p.digest.points)
	for range 1000 {
		if _, _, err := p.at(c.log.Rev()); err != nil {
			t.Fatal(err)
		}
	}
	if len(ps.by) != 1 || len(p.digest.points) != before {
		t.Errorf("%d projections, %d points after %d", len(ps.by), len(p.digest.points), before)
	}
	if n := testing.AllocsPerRun(100, func() { _, _, _ = p.at(c.log.Rev()) }); n > 0 {
		t.Errorf("%v allocations for a digest that is known", n)
	}
}
