package inproc

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/guarantee"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// TestBothWaysToResumeShowTheSame: what a watch of an edge's shows, over many outages, does not depend on whether the edge
// is resumed in the Welcome or by a Subscription.
func TestBothWaysToResumeShowTheSame(t *testing.T) {
	for seed := range uint64(3) {
		brief, resumed := outages(t, seed, asItIs)
		long, none := outages(t, seed, bySubscription)
		if seed == 0 {
			if prompt, _ := outages(t, seed, eager); !slices.Equal(brief, prompt) {
				t.Errorf("acks that wait lead to\n%v\nothers to\n%v", brief, prompt)
			}
		}
		if resumed == 0 || none != 0 {
			t.Errorf("seed %d: %d and %d resumes in Welcomes", seed, resumed, none)
		}
		if !slices.Equal(brief, long) {
			t.Errorf("seed %d: the Welcome leads to\n%v\na Subscription to\n%v", seed, brief, long)
		}
	}
}

// outages has an edge follow a cloud through outages, and returns what a watch of it has shown.
func outages(t *testing.T, seed uint64, edit func(*tombolov1.Hello)) (shown []string, resumed int64) {
	t.Helper()
	c, h := newFakeCloud(t), guarantee.NewHistory()
	rng := rand.New(rand.NewPCG(seed, 7)) //nolint:gosec // the same each time
	lives := map[string]int{}
	last := uint64(0)
	change := func() {
		name := fmt.Sprint("p", rng.IntN(5))
		uid := fmt.Sprint(name, "-", lives[name])
		if _, ok := c.objects["ns/"+name]; ok && rng.IntN(4) == 0 {
			last = c.remove(name)
			h.Removed("cloud", "pods", "ns/"+name, uid, last)
			lives[name]++
			return
		}
		last = c.put(name, uid, []string{"mine", "other"}[rng.IntN(2)])
		h.Wrote("cloud", "pods", content(t, c.objects["ns/"+name]))
	}
	change()
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	r, addr := startRelay(t, hub, edit)
	e := startEdge(t, t.TempDir(), addr)
	e.waitFor(last)
	f := follow(e, h)
	from := e.pods().Rev()
	for range 12 {
		for range rng.IntN(4) {
			change()
		}
		e.waitFor(last)
		r.cut()
		for range rng.IntN(4) {
			change()
		}
		if rng.IntN(3) == 0 {
			last = c.bookmark()
		}
		r.mend()
		e.waitFor(last)
		e.following()
		f.drain()
	}
	e.holds(c)
	h.Settle(last)
	h.Require(t)
	return e.shownSince(from), r.resumed.Load()
}

// shownSince returns what a watch of the edge's pods shows behind a position.
func (e *edge) shownSince(from uint64) (shown []string) {
	e.t.Helper()
	r, err := e.pods().NewReader(from, make(watchlog.Signal, 1))
	if err != nil {
		e.t.Fatal(err)
	}
	defer r.Close()
	for {
		p, err := r.Read(make([]*watchlog.Event, 0, 16))
		if err != nil {
			e.t.Fatal(err)
		}
		for _, event := range p.Events {
			shown = append(shown, fmt.Sprint(event.Type, " ", event.Object.Key(), "@", event.Rev, " as ", event.Shown))
		}
		if !p.More {
			return shown
		}
	}
}

// TestWhatAWelcomeResumes: only what needs nothing but events is resumed in the Welcome, and only what has missed nothing,
// and holds what it should, is said to be caught up.
func TestWhatAWelcomeResumes(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, myPods), "127.0.0.1:0")
	at := c.put("b", "u2", "mine")
	held := heldOf(t, hub, src)

	agreed := func(name string) {
		t.Helper()
		w := greet(t, hub, name, held, func(*tombolov1.Position) {})
		if !slices.Equal(w.GetResumed(), []uint32{0}) || !slices.Equal(w.GetAgreed(), []uint32{0}) || w.GetEpoch() != "" || len(w.GetScope()) != 0 {
			t.Errorf("%s: %v", name, w)
		}
	}
	agreed("unchanged")
	c.put("c", "u3", "other")
	c.bookmark()
	agreed("changes elsewhere")
	for name, change := range map[string]func(*tombolov1.Position){
		"no state":        func(p *tombolov1.Position) { p.Rev = 0 },
		"staged":          func(p *tombolov1.Position) { p.StagedRev = at + 1 },
		"ahead":           func(p *tombolov1.Position) { p.Rev = at + 100 },
		"before the log":  func(p *tombolov1.Position) { p.Rev = 1 },
		"another view":    func(p *tombolov1.Position) { p.View = "x" },
		"another cluster": func(p *tombolov1.Position) { p.Epoch = "x" },
		"another state":   func(p *tombolov1.Position) { p.Digest[0] ^= 1 },
		"another count":   func(p *tombolov1.Position) { p.Count++ },
		"no such thing":   func(p *tombolov1.Position) { p.Resource.Resource = "secrets" },
	} {
		w := greet(t, hub, name, held, change)
		if len(w.GetResumed()) != 0 || len(w.GetAgreed()) != 0 || w.GetEpoch() != c.epoch || len(w.GetScope()) != 1 {
			t.Errorf("%s: %v", name, w)
		}
	}
	for name, change := range map[string]func(*tombolov1.Position){
		"digest not told":       func(p *tombolov1.Position) { p.Digest = nil },
		"something has changed": func(*tombolov1.Position) { c.put("a", "u1", "mine") },
	} {
		w := greet(t, hub, name, held, change)
		if !slices.Equal(w.GetResumed(), []uint32{0}) || len(w.GetAgreed()) != 0 {
			t.Errorf("%s: %v", name, w)
		}
	}
	src.log.SetLost(time.Now())
	if w := greet(t, hub, "lost", held, func(*tombolov1.Position) {}); len(w.GetResumed()) != 1 || len(w.GetAgreed()) != 0 {
		t.Errorf("a hub that has lost the cloud: %v", w)
	}
}

// heldOf returns the Hello of an edge that holds what is of the node mine, at the newest position.
func heldOf(t *testing.T, hub string, src *fakeSource) *tombolov1.Hello {
	t.Helper()
	s := openRaw(t, hub, "first")
	var view string
	awaitMessage(t, s, func(m *tombolov1.SyncResponse) bool { view = m.GetSubscription().GetView(); return view != "" })
	var d delta.Digest
	snap := src.log.Snapshot()
	for o := range snap.All("") {
		if o.Field(0) == "mine" {
			d.Add(o)
		}
	}
	return &tombolov1.Hello{
		Version: 1, Epoch: src.Epoch(), DocumentsHash: src.docs.Hash(),
		Capabilities: []tombolov1.Capability{tombolov1.Capability_CAPABILITY_RESUMED},
		Positions: []*tombolov1.Position{{
			Resource: &tombolov1.Resource{Resource: "pods"}, View: view, Rev: snap.Rev(), Count: d.Count, Digest: d.Bytes(),
		}},
	}
}

// greet returns the Welcome to a Hello whose position is changed, and sees to it that the edge is told of each resource
// once.
func greet(t *testing.T, hub, name string, hello *tombolov1.Hello, change func(*tombolov1.Position)) *tombolov1.Welcome {
	t.Helper()
	h := proto.CloneOf(hello)
	change(h.GetPositions()[0])
	h.Edge = "edge-" + strings.ReplaceAll(name, " ", "-")
	s, err := tombolov1.NewSyncServiceClient(dialRaw(t, hub)).Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: h}}); err != nil {
		t.Fatal(err)
	}
	m, err := s.Recv()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	w := m.GetWelcome()
	if len(w.GetResumed()) == 0 {
		awaitMessage(t, s, func(m *tombolov1.SyncResponse) bool { return m.GetSubscription() != nil })
		return w
	}
	awaitMessage(t, s, func(m *tombolov1.SyncResponse) bool {
		if m.GetSubscription() != nil || m.GetCheckpoint() != nil && len(w.GetAgreed()) > 0 {
			t.Errorf("%s: what was said in the Welcome comes again: %v", name, m)
		}
		return m.GetCheckpoint().GetSubscription() == 1 || m.GetProgress() != nil && len(w.GetAgreed()) > 0
	})
	return w
}
