package inproc

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/cloudhub/syncsrv"
	"github.com/tombolo-sync/tombolo/edgehub/session"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// proverOf returns src when it can prove something.
func proverOf(src syncsrv.Source) syncsrv.Prover {
	p, _ := src.(syncsrv.Prover)
	return p
}

// proving is a source whose proofs are what the test says.
type proving struct {
	*fakeSource

	mu    sync.Mutex // guards all below
	prove func(ctx context.Context, part source.Part, minRev uint64) (uint64, error)
	parts []source.Part // that proofs were asked of
}

func (p *proving) answer(prove func(ctx context.Context, part source.Part, minRev uint64) (uint64, error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.prove = prove
}

func (p *proving) Prove(ctx context.Context, _ schema.GroupResource, part source.Part, minRev uint64) (uint64, error) {
	p.mu.Lock()
	p.parts = append(p.parts, part)
	prove := p.prove
	p.mu.Unlock()
	return prove(ctx, part, minRev)
}

func (p *proving) asked() []source.Part {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]source.Part(nil), p.parts...)
}

// provingEdge returns an edge that follows pods of a hub with proofs.
func provingEdge(t *testing.T, c *fakeCloud, scope string) (*proving, *edge, func()) {
	t.Helper()
	src := &proving{fakeSource: c.source()}
	src.answer(func(context.Context, source.Part, uint64) (uint64, error) { return src.log.Rev(), nil })
	src.load()
	hub, stop := startHub(t, src, newScopes(t, scope), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.following()
	return src, e, stop
}

// following waits until the edge follows the cloud.
func (e *edge) following() {
	e.t.Helper()
	e.pods()
	e.eventually("the edge follows the cloud", func() bool {
		live, _ := e.Contact()
		return live
	})
}

// TestProvedPositionHasWhatWasWritten: whatever was in the hub's log when the answer came is at the edge, at the position
// that the answer names, a thousand times over.
func TestProvedPositionHasWhatWasWritten(t *testing.T) {
	c := newFakeCloud(t)
	_, e, _ := provingEdge(t, c, myPods)
	for i := range 300 {
		name := fmt.Sprint("p", i%7)
		removed := i%5 == 4
		node := "mine"
		if i%3 == 2 {
			node = "theirs"
		}
		var rev uint64
		if removed {
			rev = c.remove(name)
		} else {
			rev = c.put(name, fmt.Sprint("u", i/7), node)
		}
		at, err := e.Prove(t.Context(), podsGVR, session.Part{Namespace: "ns", Name: name}, 0)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := e.pods().SnapshotAt(at)
		if err != nil || at < rev {
			t.Fatalf("at %d after a write at %d: %v", at, rev, err)
		}
		o, want := snap.Get("ns/"+name), !removed && node == "mine"
		if (o != nil) != want || o != nil && o.Rev() != rev {
			t.Fatalf("round %d: the edge has %v, written was %d, removed %t, node %s", i, o, rev, removed, node)
		}
	}
	e.holds(c, "mine")
}

// TestAnswerComesBehindWhatItProves: of a proof that is there before the hub has sent what it is of, the edge hears later.
func TestAnswerComesBehindWhatItProves(t *testing.T) {
	c := newFakeCloud(t)
	src, e, _ := provingEdge(t, c, allPods)
	src.answer(func(context.Context, source.Part, uint64) (uint64, error) {
		c.putMany(300)
		return src.log.Rev(), nil
	})
	for i := range 10 {
		at, err := e.Prove(t.Context(), podsGVR, session.Part{}, 0)
		if err != nil {
			t.Fatal(err)
		}
		snap, err := e.pods().SnapshotAt(at)
		if err != nil || snap.Len() != 300*(i+1) {
			t.Fatalf("round %d: %d pods at %d: %v", i, snap.Len(), at, err)
		}
	}
	e.holds(c)
}

// putMany creates pods, all of which the hub's log has at once.
func (c *fakeCloud) putMany(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ops []watchlog.Op
	for range n {
		c.rev++
		name := fmt.Sprint("many-", c.rev)
		raw := fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":%q,`+
			`"resourceVersion":"%d"},"spec":{"nodeName":"mine"}}`, name, name, c.rev)
		c.objects["ns/"+name] = raw
		ops = append(ops, watchlog.Op{Key: "ns/" + name, Rev: c.rev, Object: c.decode(raw)})
	}
	log := c.current.log
	if err := log.Commit(log.Snapshot().Plan(ops, c.rev)); err != nil {
		c.t.Error(err)
	}
}

// TestQuestionsAreShared: a hundred who wait at once cost two questions, and none of them is answered by a question from
// before it came.
func TestQuestionsAreShared(t *testing.T) {
	c := newFakeCloud(t)
	src, e, _ := provingEdge(t, c, allPods)
	begun, goOn := make(chan struct{}, 10), make(chan struct{})
	src.answer(func(ctx context.Context, _ source.Part, _ uint64) (uint64, error) {
		rev := src.log.Rev()
		begun <- struct{}{}
		select {
		case <-goOn:
			return rev, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	})
	var wg sync.WaitGroup
	ask := func(least uint64) {
		wg.Go(func() {
			if at, err := e.Prove(t.Context(), podsGVR, session.Part{}, 0); err != nil || at < least {
				t.Errorf("at %d, want %d: %v", at, least, err)
			}
		})
	}
	ask(0)
	<-begun
	rev := c.put("a", "u", "mine")
	for range 100 {
		ask(rev)
	}
	time.Sleep(20 * time.Millisecond) // more of them come in time: with fewer the test would see less
	close(goOn)
	wg.Wait()
	if n := len(src.asked()); n < 2 || n > 3 {
		t.Errorf("%d questions", n)
	}
}

// TestQuestionIsNarrowedToTheView: a part is asked of as far as the edge's scope goes.
func TestQuestionIsNarrowedToTheView(t *testing.T) {
	src, e, _ := provingEdge(t, newFakeCloud(t), myPods)
	if _, err := e.Prove(t.Context(), podsGVR, session.Part{LabelSelector: "a=b"}, 0); err != nil {
		t.Fatal(err)
	}
	want := source.Part{Labels: "a=b", Fields: "spec.nodeName=mine"}
	if got := src.asked(); len(got) != 1 || got[0] != want {
		t.Errorf("asked of %v, want %v", got, want)
	}
}

// TestFailedProofsEndNothing: what the hub can't answer is an error to who asked, and the session goes on.
func TestFailedProofsEndNothing(t *testing.T) {
	c := newFakeCloud(t)
	src, e, stop := provingEdge(t, c, allPods)
	broken := errors.New("no proof today")
	src.answer(func(context.Context, source.Part, uint64) (uint64, error) { return 0, broken })
	if _, err := e.Prove(t.Context(), podsGVR, session.Part{}, 0); err == nil || !strings.Contains(err.Error(), broken.Error()) {
		t.Errorf("got %v", err)
	}
	if _, err := e.Prove(t.Context(), podsGVR, session.Part{LabelSelector: "a b c"}, 0); err == nil {
		t.Error("a selector that can't be parsed was proved")
	}
	e.waitFor(c.put("a", "u", "mine"))
	src.log.SetLost(time.Now())
	e.eventually("the edge knows that the hub has lost the cloud", func() bool {
		_, lost := e.pods().Lost()
		return lost
	})
	asked := len(src.asked())
	if _, err := e.Prove(t.Context(), podsGVR, session.Part{}, 0); err == nil || len(src.asked()) != asked {
		t.Errorf("got %v of a hub that has lost the cloud", err)
	}
	src.log.SetFollowing()
	e.following()
	waits := make(chan struct{}, 1)
	src.answer(func(ctx context.Context, _ source.Part, _ uint64) (uint64, error) {
		waits <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	})
	ended := make(chan error)
	go func() {
		_, err := e.Prove(t.Context(), podsGVR, session.Part{}, 0)
		ended <- err
	}()
	<-waits
	stop()
	if err := <-ended; err == nil {
		t.Error("proved without a hub")
	}
}

// TestPositionSeenElsewhere: a revision of another resource is reached without an event, as soon as the source says so,
// and one that the log reaches by itself needs no proof.
func TestPositionSeenElsewhere(t *testing.T) {
	c := newFakeCloud(t)
	src, e, _ := provingEdge(t, c, allPods)
	src.answer(func(_ context.Context, _ source.Part, minRev uint64) (uint64, error) {
		for src.log.Rev() < minRev {
			c.bookmark()
		}
		return src.log.Rev(), nil
	})
	want := e.pods().Rev() + 10
	if at, err := e.Prove(t.Context(), podsGVR, session.Part{}, want); err != nil || at < want || e.pods().Rev() < want {
		t.Errorf("at %d, the log at %d, want %d: %v", at, e.pods().Rev(), want, err)
	}
	src.answer(func(ctx context.Context, _ source.Part, _ uint64) (uint64, error) {
		c.put("a", "u", "mine")
		<-ctx.Done()
		return 0, ctx.Err()
	})
	want = e.pods().Rev() + 1
	if at, err := e.Prove(t.Context(), podsGVR, session.Part{}, want); err != nil || at < want {
		t.Errorf("at %d, want %d: %v", at, want, err)
	}
}
