package inproc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/internal/guarantee"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// counter returns the value of a counter or gauge.
func counter(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			m := f.GetMetric()[0]
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

const (
	misses  = "tombolo_edge_patch_misses_total"
	patches = "tombolo_edge_patches_total"
)

// TestChangesTravelAsPatches: of an object of 20 KB only what changed crosses the link, cells included; a recreated object
// comes whole.
func TestChangesTravelAsPatches(t *testing.T) {
	for _, printed := range []string{"", "cells"} {
		t.Run("printed "+printed, func(t *testing.T) {
			c := newFakeCloud(t)
			c.printed = printed
			node := noise(15_000)
			c.put("a", "u1", node)
			src := c.source()
			src.load()
			hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
			reg := prometheus.NewRegistry()
			e := startEdgeWith(t, edgehub.Config{DataDir: t.TempDir(), Hubs: []string{hub}, Metrics: reg})
			e.holds(c)
			before := e.BytesReceived()
			for range 20 {
				e.waitFor(c.put("a", "u1", node))
			}
			e.holds(c)
			if n := e.BytesReceived() - before; n > 15_000 {
				t.Errorf("20 changes of one number took %d bytes", n)
			}
			if got := counter(t, reg, patches); got != 20 {
				t.Errorf("%v patches", got)
			}
			c.remove("a")
			e.waitFor(c.put("a", "u2", node))
			c.put("a", "u3", node)
			e.waitFor(c.put("a", "u3", node))
			e.holds(c)
			if got := counter(t, reg, misses); got != 0 {
				t.Errorf("%v misses", got)
			}
		})
	}
}

// freeAddr returns an address for a hub that is started later.
func freeAddr(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close() //nolint:errcheck // nobody has connected
	return lis.Addr().String()
}

// reordered returns a pod's JSON with its members in another order.
func reordered(raw []byte) []byte {
	var pod struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Spec       json.RawMessage `json:"spec"`
		Metadata   json.RawMessage `json:"metadata"`
	}
	if err := json.Unmarshal(raw, &pod); err != nil {
		panic(err) // a fault of the test
	}
	out, err := json.Marshal(pod)
	if err != nil {
		panic(err)
	}
	return out
}

// content returns an object whose body does not depend on the order of members.
func content(t *testing.T, raw []byte) guarantee.Object {
	t.Helper()
	var v any
	err := json.Unmarshal(raw, &v)
	if err == nil {
		raw, err = json.Marshal(v)
	}
	o, perr := guarantee.ParseObject(raw)
	if err != nil || perr != nil {
		t.Fatal(err, perr)
	}
	return o
}

// follower records what a watch of the edge's pods shows.
type follower struct {
	t    *testing.T
	seen *guarantee.Reader
	r    *watchlog.Reader
}

// follow begins to record a reader. A hub whose bytes are others also disagrees with the edge's digest, and the reconcile
// that follows tells newest versions only.
func follow(e *edge, h *guarantee.History) *follower {
	snap := e.pods().Snapshot()
	seen := h.Reader(guarantee.ReaderConfig{Name: "edge", Server: "edge", Resource: "pods", NeverExpires: true, Coalesced: true})
	begin := seen.Begin()
	var items []guarantee.Object
	for o := range snap.All("") {
		items = append(items, content(e.t, o.JSON()))
	}
	seen.Listed(snap.Rev(), items, guarantee.Answer{Began: begin})
	r, err := snap.NewReader(make(watchlog.Signal, 1))
	if err != nil {
		e.t.Fatal(err)
	}
	seen.Opened(snap.Rev(), false)
	return &follower{e.t, seen, r}
}

// drain records what there is.
func (f *follower) drain() {
	f.t.Helper()
	for {
		page, err := f.r.Read(make([]*watchlog.Event, 0, 64))
		if err != nil {
			f.t.Fatal(err)
		}
		for _, e := range page.Events {
			o := content(f.t, e.Object.AppendJSON(nil, e.Shown))
			if e.Type == watchlog.Modified && e.Prev.Rev() == e.Object.Rev() {
				if o != content(f.t, e.Prev.JSON()) {
					f.t.Errorf("%v is not what that revision was", o)
				}
				continue // the same version in other bytes, after a checkpoint that did not agree
			}
			f.seen.Event(guarantee.EventType(e.Type.String()), o)
		}
		if !page.More {
			return
		}
	}
}

// TestHubsWithOtherBytes: an edge that goes back and forth between hubs that hold other bytes of the same revisions takes
// over these objects first, if it says what it holds; else it misses patches, and asks for them whole. It shows every change
// once and in order all the same.
func TestHubsWithOtherBytes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edit   func(*tombolov1.Hello)
		misses bool
	}{
		"resumed in the Welcome":    {asItIs, false},
		"resumed by a Subscription": {bySubscription, false},
		"not told what is held":     {untold, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if n := hubsWithOtherBytes(t, c.edit); c.misses && n < 4 || !c.misses && n != 0 {
				t.Errorf("%v misses", n)
			}
		})
	}
}

// hubsWithOtherBytes returns how many patches did not apply.
func hubsWithOtherBytes(t *testing.T, edit func(*tombolov1.Hello)) float64 {
	c, h := newFakeCloud(t), guarantee.NewHistory()
	lives := 0
	put := func(i int, node string) uint64 {
		name := fmt.Sprint("p", i)
		rev := c.put(name, fmt.Sprint("u", i, "-", lives), node)
		h.Wrote("cloud", "pods", content(t, c.objects["ns/"+name]))
		return rev
	}
	node := noise(1000)
	for i := range 10 {
		put(i, node)
	}
	first := c.source()
	first.load()
	second := c.otherBytes(reordered)
	second.load()
	sc, reg := newScopes(t, allPods), prometheus.NewRegistry()
	a, stopA := startHub(t, first, sc, "127.0.0.1:0")
	b, stopB := freeAddr(t), func() {}
	_, toA := startRelay(t, a, edit)
	_, toB := startRelay(t, b, edit)
	e := startEdgeWith(t, edgehub.Config{DataDir: t.TempDir(), Hubs: []string{toA, toB}, Metrics: reg})
	e.holds(c)
	f := follow(e, h)
	var last uint64
	for hop := range 4 {
		before := counter(t, reg, patches)
		for round := range 6 {
			for i := range 10 {
				if last = put(i, node); i%3 == 0 {
					e.waitFor(last)
				}
			}
			if round == 3 {
				for i := range 10 {
					last = c.remove(fmt.Sprint("p", i))
					h.Removed("cloud", "pods", fmt.Sprint("ns/p", i), fmt.Sprint("u", i, "-", lives), last)
				}
				lives++
			}
		}
		e.waitFor(last)
		f.drain()
		if got := counter(t, reg, patches); got == before {
			t.Errorf("hop %d: no patch applied", hop)
		}
		if hop%2 == 0 {
			stopA()
			last = put(3, node) // which nobody tells the edge but the other hub
			_, stopB = startHub(t, second, sc, b)
		} else {
			stopB()
			last = put(3, node)
			_, stopA = startHub(t, first, sc, a)
		}
	}
	e.waitFor(last)
	f.drain()
	e.eventually("live", func() bool { live, _ := e.Contact(); return live })
	h.Settle(last)
	h.Require(t)
	for o := range e.pods().Snapshot().All("") {
		if !bytes.Equal([]byte(content(t, o.JSON()).Body), []byte(content(t, c.objects[o.Key()]).Body)) {
			t.Errorf("%s is %s", o.Key(), o.JSON())
		}
	}
	return counter(t, reg, misses)
}
