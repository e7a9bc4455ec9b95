package inproc

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// TestReplicasWithOtherBytes: an edge that goes from one replica to another, which encodes an object in another way under
// the same revision, takes over that object, once each time.
func TestReplicasWithOtherBytes(t *testing.T) {
	t.Parallel()
	c := bigCloud(t)
	src := c.source()
	src.load()
	sc := newScopes(t, allPods)
	hub, stop := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	e.holds(c)
	e.following()
	from := e.pods().Rev()
	for hop := range 4 {
		stop()
		c.mu.Lock()
		raw := string(c.objects["ns/p7"])
		if hop%2 == 0 {
			raw = strings.Replace(raw, `"spec":{`, `"spec":{"new":true,`, 1)
		} else {
			raw = strings.Replace(raw, `"new":true,`, "", 1)
		}
		c.objects["ns/p7"] = []byte(raw)
		c.mu.Unlock()
		replica := c.source()
		replica.load()
		received := e.BytesReceived()
		_, stop = startHub(t, replica, sc, hub)
		e.eventually("the edge has the replica's bytes", func() bool {
			return string(e.pods().Snapshot().Get("ns/p7").JSON()) == raw
		})
		e.following()
		if n := e.BytesReceived() - received; n > 30_000 {
			t.Errorf("hop %d: %d bytes for an object of 10 KB", hop, n)
		}
		for range 3 { // checkpoints go by
			e.waitFor(c.put("p1", "u1", "other"))
		}
		e.holds(c)
		if n := e.changes("ns/p7", from); n != hop+1 {
			t.Errorf("after %d hops the object has changed %d times", hop+1, n)
		}
	}
}

// changes counts the events of an object behind a position.
func (e *edge) changes(key string, from uint64) int {
	e.t.Helper()
	r, err := e.pods().NewReader(from, make(watchlog.Signal, 1))
	if err != nil {
		e.t.Fatal(err)
	}
	defer r.Close()
	for n := 0; ; {
		p, err := r.Read(make([]*watchlog.Event, 0, 16))
		if err != nil {
			e.t.Fatal(err)
		}
		for _, event := range p.Events {
			if event.Object.Key() == key {
				n++
			}
		}
		if !p.More && len(p.Events) == 0 {
			return n
		}
	}
}

// TestRangesOfAHostileEdge: what makes no sense ends that session; an edge that is asked for parts and says nothing costs
// nobody anything.
func TestRangesOfAHostileEdge(t *testing.T) {
	c := newFakeCloud(t)
	c.put("a", "u1", "mine")
	src := c.source()
	src.load()
	hub, _ := startHub(t, src, newScopes(t, allPods), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), hub)
	for name, m := range map[string]*tombolov1.SyncRequest{
		"no-power-of-two": {Message: &tombolov1.SyncRequest_Ranges{Ranges: &tombolov1.Ranges{Subscription: 1, Sums: make([]byte, 17*8)}}},
		"not-asked-for":   {Message: &tombolov1.SyncRequest_Inventory{Inventory: &tombolov1.Inventory{Subscription: 1, Ranged: true}}},
	} {
		s := openRaw(t, hub, name)
		awaitMessage(t, s, func(m *tombolov1.SyncResponse) bool { return m.GetCheckpoint() != nil })
		if err := s.Send(m); err != nil {
			t.Fatal(err)
		}
		var err error
		for err == nil {
			_, err = s.Recv()
		}
		if status.Code(err) != codes.InvalidArgument {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := openRaw(t, hub, "silent")
	awaitMessage(t, s, func(m *tombolov1.SyncResponse) bool { return m.GetCheckpoint() != nil })
	ranges := &tombolov1.Ranges{Subscription: 1, Sums: delta.NewRanges(100, 1).Bytes()}
	if err := s.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ranges{Ranges: ranges}}); err != nil {
		t.Fatal(err)
	}
	awaitMessage(t, s, func(m *tombolov1.SyncResponse) bool {
		return delta.Parts(m.GetRangeNeed().GetParts()).Len() == 1
	})
	for i := range 20 {
		e.waitFor(c.put(fmt.Sprint("b", i), fmt.Sprint("v", i), "mine"))
	}
	e.holds(c)
}

// awaitMessage reads until a message is as wanted.
func awaitMessage(t *testing.T, s tombolov1.SyncService_SyncClient, wanted func(*tombolov1.SyncResponse) bool) {
	t.Helper()
	for {
		m, err := s.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if wanted(m) {
			return
		}
	}
}

// falsified returns the bytes of every third revision with something in them that nobody wrote.
func falsified(raw []byte) []byte {
	if rev := revision.FindSubmatch(raw); len(rev) > 0 && (rev[1][len(rev[1])-1]-'0')%3 == 0 {
		return bytes.Replace(raw, []byte(`"spec":{`), []byte(`"spec":{"falsified":true,`), 1)
	}
	return raw
}

var revision = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// TestFalsifiedReplica: of two hubs, one has other content under some revisions, which no hub should. An edge that goes
// from one to the other while writes go on comes, byte by byte, to what the hub holds that it is at; nothing is deleted on
// the way, and only what differs travels.
func TestFalsifiedReplica(t *testing.T) {
	c := newFakeCloud(t)
	node := noise(500)
	for i := range 30 {
		c.put(fmt.Sprint("p", i), fmt.Sprint("u", i), node)
	}
	first := c.source()
	first.load()
	second := c.otherBytes(falsified)
	second.load()
	sc, reg := newScopes(t, allPods), prometheus.NewRegistry()
	hubs := []string{freeAddr(t), freeAddr(t)}
	sources := []*fakeSource{first, second}
	_, stop := startHub(t, sources[0], sc, hubs[0])
	e := startEdgeWith(t, edgehub.Config{DataDir: t.TempDir(), Hubs: hubs, Metrics: reg})
	e.holds(c)
	from, operations := e.pods().Rev(), counter(t, reg, "tombolo_edge_operations_total")
	const hops, writes = 6, 20
	for hop := 1; hop <= hops; hop++ {
		stop()
		write := func(i int) { c.put(fmt.Sprint("p", i%10), fmt.Sprint("u", i%10), node) }
		for i := range writes / 2 {
			write(i)
		}
		_, stop = startHub(t, sources[hop%2], sc, hubs[hop%2])
		for i := range writes / 2 {
			write(i)
		}
		e.following()
		e.eventually("the edge has the bytes of the hub that it is at", func() bool {
			return digestOf(e.pods()) == digestOf(sources[hop%2].log)
		})
	}
	if n := counter(t, reg, "tombolo_edge_operations_total") - operations; n > hops*(30+2*writes) {
		t.Errorf("%v operations for %d hops of 30 objects and %d writes", n, hops, writes)
	}
	r, err := e.pods().NewReader(from, make(watchlog.Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		page, err := r.Read(make([]*watchlog.Event, 0, 64))
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range page.Events {
			if event.Type != watchlog.Modified {
				t.Errorf("%s was %s", event.Object.Key(), event.Type)
			}
		}
		if !page.More && len(page.Events) == 0 {
			return
		}
	}
}

// digestOf is the digest of what a log holds.
func digestOf(l *watchlog.Log) delta.Digest {
	var d delta.Digest
	for o := range l.Snapshot().All("") {
		d.Add(o)
	}
	return d
}
