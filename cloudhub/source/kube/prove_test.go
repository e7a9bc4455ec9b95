package kube

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// proof is a proof under way.
type proof struct {
	h    *harness
	done chan struct{}
	rev  uint64
	err  error
}

func (h *harness) prove(part source.Part, minRev uint64) *proof {
	p := &proof{h: h, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.rev, p.err = h.Prove(h.t.Context(), pods, part, minRev)
	}()
	return p
}

// pending checks that the proof does not come as long as nothing happens.
func (p *proof) pending() {
	p.h.t.Helper()
	time.Sleep(500 * time.Millisecond)
	synctest.Wait()
	select {
	case <-p.done:
		p.h.t.Fatalf("proved at %d (%v) while the log lacks what the cloud had", p.rev, p.err)
	default:
	}
}

// state waits for the proof and returns the log's state at its position.
func (p *proof) state(log *watchlog.Log) watchlog.Snapshot {
	p.h.t.Helper()
	<-p.done
	if p.err != nil {
		p.h.t.Fatal(p.err)
	}
	snap, err := log.SnapshotAt(p.rev)
	if err != nil {
		p.h.t.Fatal(err)
	}
	return snap
}

// hold keeps the log's watch from showing what happens, or lets it.
func (b *boundResource) hold(held bool) { b.on(func() { b.held = held }) }

var podA = source.Part{Namespace: "ns", Name: "a"}

// TestProofWaitsForWhatTheCloudHad: while the log's watch is late, no part that something happened in is proved.
func TestProofWaitsForWhatTheCloudHad(t *testing.T) {
	inApp := source.Part{Labels: "app=x"}
	labelled := func(uid, app string) string { return fmt.Sprintf(`"uid":%q,"labels":{"app":%q}`, uid, app) }
	for name, c := range map[string]struct {
		part   source.Part
		happen func(r *boundResource)
	}{
		"object created":             {source.Part{Namespace: "ns", Name: "new"}, func(r *boundResource) { r.put("ns", "new", "", "") }},
		"object changed":             {podA, func(r *boundResource) { r.put("ns", "a", labelled("1", "x"), `,"n":1`) }},
		"object deleted":             {podA, func(r *boundResource) { r.drop("ns", "a") }},
		"object recreated":           {podA, func(r *boundResource) { r.drop("ns", "a"); r.put("ns", "a", labelled("2", "x"), "") }},
		"created in the whole":       {source.Part{}, func(r *boundResource) { r.put("ns", "new", "", "") }},
		"deleted from the whole":     {source.Part{}, func(r *boundResource) { r.drop("ns", "a") }},
		"deleted from a namespace":   {source.Part{Namespace: "ns"}, func(r *boundResource) { r.drop("ns", "a") }},
		"changed within a selector":  {inApp, func(r *boundResource) { r.put("ns", "a", labelled("1", "x"), `,"n":1`) }},
		"left a selector":            {inApp, func(r *boundResource) { r.put("ns", "a", labelled("1", "y"), "") }},
		"came into a selector":       {inApp, func(r *boundResource) { r.put("ns", "b", labelled("3", "x"), "") }},
		"recreated out of selection": {inApp, func(r *boundResource) { r.drop("ns", "a"); r.put("ns", "a", labelled("2", "y"), "") }},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			r := api.resource("pods")
			r.put("ns", "a", labelled("1", "x"), "")
			r.put("ns", "b", labelled("3", "y"), "")
			bubble(t, api, func(h *harness) {
				log := h.follow(pods)
				r.hold(true)
				c.happen(r)
				p := h.prove(c.part, 0)
				p.pending()
				r.hold(false)
				snap := p.state(log)
				if got, want := revisions(t, log, c.part, snap), revisions(t, log, c.part, r.snapshot(t, log)); !maps.Equal(got, want) {
					t.Errorf("the log has %v, the cloud %v", got, want)
				}
			})
		})
	}
}

// snapshot returns the server's objects as a log would hold them.
func (b *boundResource) snapshot(t *testing.T, like *watchlog.Log) watchlog.Snapshot {
	t.Helper()
	log := watchlog.New(like.Resource(), watchlog.Config{})
	var all []*watchlog.Object
	for _, o := range b.objects {
		decoded, err := like.Decoder().Decode([]byte(b.whole(o.json)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, decoded)
	}
	if err := log.Load(watchlog.Content{Objects: all, Rev: b.api.rev, Floor: b.api.rev}); err != nil {
		t.Fatal(err)
	}
	return log.Snapshot()
}

// revisions returns those of the objects of a part.
func revisions(t *testing.T, log *watchlog.Log, part source.Part, snap watchlog.Snapshot) map[string]uint64 {
	t.Helper()
	c, err := compileCriteria(log.Resource(), part)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint64{}
	for o := range c.objects(snap) {
		all[o.Key()] = o.Rev()
	}
	return all
}

// TestQuietResourceIsProvedAtOnce: what happens to other resources moves the cloud's revision, and no proof of the content
// waits for the log's position to follow.
func TestQuietResourceIsProvedAtOnce(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	r.put("ns", "a", "", "")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		at := log.Rev()
		api.resource("namespaces").put("", "other", "", "")
		start := time.Now()
		for _, part := range []source.Part{podA, {Namespace: "ns", Name: "none"}, {}, {Namespace: "ns"}, {Labels: "app=x"}} {
			p := h.prove(part, 0)
			if snap := p.state(log); snap.Rev() != at {
				t.Errorf("%v: proved at %d, the log was at %d", part, snap.Rev(), at)
			}
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("it took %v", took)
		}
		if n := api.count("/api/v1/pods?", "metadata.name=-"); n != 0 {
			t.Errorf("%d times the API server was asked to look through all pods for none", n)
		}
		if n := api.count("/api/v1/namespaces/-/pods?", "metadata.name=-"); n == 0 {
			t.Error("the cloud's revision was not asked for")
		}
	})
}

// TestPairOnItsWay: an object that was created and deleted again, and of which the log has seen neither, is not in what was
// proved, and its events still come.
func TestPairOnItsWay(t *testing.T) {
	for name, part := range map[string]source.Part{"object": {Namespace: "ns", Name: "brief"}, "list": {Namespace: "ns"}} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			r := api.resource("pods")
			bubble(t, api, func(h *harness) {
				log := h.follow(pods)
				r.hold(true)
				r.put("ns", "brief", "", "")
				end := r.drop("ns", "brief")
				p := h.prove(part, 0)
				<-p.done
				r.hold(false)
				h.until(log, end)
				if snap := p.state(log); snap.Len() != 0 {
					t.Error("the brief object is in the state that was proved")
				}
				if got, gap := h.events(log, p.rev); len(got) != 2 || gap {
					t.Errorf("behind the proved position: %v, gap %t", got, gap)
				}
			})
		})
	}
}

// TestPositionIsMoved: a revision of another resource is reached within three seconds, by one watch for all that wait; and
// not before the log has what happened on the way.
func TestPositionIsMoved(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		r.hold(true)
		start := log.Rev()
		r.put("ns", "brief", "", "")
		r.drop("ns", "brief")
		seen := api.resource("namespaces").put("", "other", "", "")
		began := time.Now()
		var all []*proof
		for range 100 {
			all = append(all, h.prove(source.Part{}, seen))
		}
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		if log.Rev() != start {
			t.Fatalf("the log moved to %d without its events", log.Rev())
		}
		r.hold(false)
		for _, p := range all {
			if snap := p.state(log); snap.Rev() < seen {
				t.Errorf("at %d, want %d", snap.Rev(), seen)
			}
		}
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("it took %v", took)
		}
		if got, gap := h.events(log, start); len(got) != 2 || gap {
			t.Errorf("events %v, gap %t", got, gap)
		}
		if n := api.count("pods", "timeoutSeconds=3&watch"); n != 1 {
			t.Errorf("%d watches for a bookmark", n)
		}
		if p := h.prove(source.Part{}, seen+1000); p.state(log).Rev() < seen {
			t.Errorf("a revision that the cloud does not have: at %d", p.rev)
		}
	})
}

// TestProofsAreShared: a hundred of one part cost two questions each way.
func TestProofsAreShared(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		api.resource("namespaces").put("", "other", "", "")
		before := api.count("pods")
		gate := make(chan struct{})
		api.set(func() { api.gate = gate })
		var all []*proof
		for range 100 {
			all = append(all, h.prove(source.Part{}, 0))
		}
		synctest.Wait() // who asks when a proof is done takes part in another
		close(gate)
		for _, p := range all {
			p.state(log)
		}
		if n := api.count("pods") - before; n > 4 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestEventsAtTheTimeOfABookmark: what happens at the moment of a bookmark is sent before it, by the fake as by the API server.
func TestEventsAtTheTimeOfABookmark(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		for range 20 {
			time.Sleep(time.Minute)
			h.until(log, r.put("ns", "a", "", ""))
			if got := log.Snapshot().Get("ns/a"); got == nil || got.Rev() != log.Rev() {
				t.Fatalf("the log is at %d and has %v", log.Rev(), got)
			}
		}
	})
}

func TestNoProofWhileTheCloudIsLost(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		log.SetLost(time.Now())
		p := h.prove(source.Part{}, 0)
		if <-p.done; !errors.Is(p.err, source.ErrLost) {
			t.Errorf("got %v", p.err)
		}
		log.SetFollowing()
		api.set(func() { api.rev -= 50 })
		p = h.prove(source.Part{}, 0)
		if <-p.done; !errors.Is(p.err, source.ErrRewound) {
			t.Errorf("got %v", p.err)
		}
		if _, err := h.Prove(t.Context(), widgets, source.Part{}, 0); err == nil {
			t.Error("proved a resource that nobody follows")
		}
	})
}

func TestFutileProofEnds(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	bubble(t, api, func(h *harness) {
		h.follow(pods)
		r.hold(true)
		r.put("ns", "a", "", "")
		p := h.prove(podA, 0)
		began := time.Now()
		<-p.done
		if took := time.Since(began); !errors.Is(p.err, context.DeadlineExceeded) || took != proofLimit {
			t.Errorf("%v after %v", p.err, took)
		}
	})
}

// quiet hears what a store does and notes the worst.
type quiet struct{ faults []error }

func (*quiet) stored()                 {}
func (*quiet) replaced(int, int, bool) {}
func (q *quiet) lost(err error)        { q.faults = append(q.faults, err) }
func (q *quiet) rewound(err error)     { q.faults = append(q.faults, err) }

// TestWatchBehindTheProof: bookmarks and lists from a cache that is behind the one that a proof came from are no fault; what
// is before the last event is.
func TestWatchBehindTheProof(t *testing.T) {
	res := &watchlog.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	q := &quiet{}
	s := &logStore{log: watchlog.New(res, watchlog.Config{}), relist: &relist{}, events: q, past: &past{}}
	object := func(rev int) item {
		o, err := s.log.Decoder().Decode(fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a",`+
			`"namespace":"ns","uid":"u","resourceVersion":"%d"}}`, rev))
		if err != nil {
			t.Fatal(err)
		}
		return newItem(o)
	}
	step := func(want uint64, err error) {
		t.Helper()
		if err != nil || s.log.Rev() != want || len(q.faults) > 0 {
			t.Fatalf("at %d, want %d: %v %v", s.log.Rev(), want, err, q.faults)
		}
	}
	step(10, s.Replace([]any{object(10)}, "10"))
	step(10, s.prove(11, 30)) // its watch has not brought 11 yet
	step(30, s.prove(10, 30))
	step(30, s.Bookmark("20"))
	step(40, s.prove(10, 40))
	step(40, s.Replace([]any{object(10)}, "15"))
	step(40, s.prove(10, 35))
	step(45, s.Update(object(45)))
	step(50, s.Bookmark("50"))
	if err := s.Bookmark("45"); err != nil || len(q.faults) != 1 {
		t.Errorf("a bookmark from before the position is no fault: %v", q.faults)
	}
	if err := s.Replace([]any{object(10)}, "12"); err != nil || len(q.faults) != 2 {
		t.Errorf("a state from before the position is no fault: %v", q.faults)
	}
}

func TestCriteriaSelectAsTheCloudDoes(t *testing.T) {
	res := &watchlog.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true,
		Fields: []watchlog.Field{{Label: "spec.nodeName", Path: "spec.nodeName", Indexed: true}, {Label: "status.phase", Path: "status.phase"}}}
	log := watchlog.New(res, watchlog.Config{})
	var all []*watchlog.Object
	for i := range 8 {
		o, err := log.Decoder().Decode(fmt.Appendf(nil, `{"metadata":{"name":"p%d","namespace":"n%d","uid":"u","resourceVersion":"%d",`+
			`"labels":{"b":"%d"}},"spec":{"nodeName":"x%d"},"status":{"phase":"y"}}`, i, i&1, i+1, i>>1&1, i>>2&1))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	if err := log.Load(watchlog.Content{Objects: all, Rev: 8, Floor: 8}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		part source.Part
		want string
	}{
		{source.Part{}, "01234567"},
		{source.Part{Namespace: "n1"}, "1357"},
		{source.Part{Labels: "b=1"}, "2367"},
		{source.Part{Labels: "b!=1", Fields: "spec.nodeName=x1"}, "45"},
		{source.Part{Namespace: "n0", Labels: "b in (0,1)", Fields: "spec.nodeName!=x1,status.phase=y"}, "02"},
		{source.Part{Name: "p3"}, "3"},
		{source.Part{Fields: "metadata.name=p3,metadata.namespace=n0"}, ""},
	} {
		crit, err := compileCriteria(res, c.part)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for o := range crit.objects(log.Snapshot()) {
			got = append(got, strings.TrimPrefix(o.Name(), "p"))
		}
		if slices.Sort(got); strings.Join(got, "") != c.want {
			t.Errorf("%v selects %v, want %s", c.part, got, c.want)
		}
	}
	for _, bad := range []source.Part{{Labels: "a b"}, {Fields: "x"}, {Fields: "spec.host=x"}} {
		if _, err := compileCriteria(res, bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}
