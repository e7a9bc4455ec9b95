package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/meta"
)

// desk takes the reports of a hub and puts them into the cloud, as an API server does.
type desk struct {
	c        *cloud
	specs    map[string]map[string]any
	statuses map[string][]byte
	seen     []Seen
	writes   int
	fail     error
	bad      string // the edge whose status the cloud does not take
}

func (d *desk) write(_ context.Context, name string, patch []byte) error {
	d.writes++
	if d.fail != nil {
		return d.fail
	}
	if name == d.bad {
		return errors.New("invalid")
	}
	was := d.statuses[name]
	if was == nil {
		was = []byte(`{}`)
	}
	now, err := jsonpatch.MergePatch(was, patch)
	if err != nil {
		return err
	}
	d.statuses[name] = now
	var body map[string]any
	if err := json.Unmarshal(now, &body); err != nil {
		return err
	}
	d.c.put(Sites, name, map[string]any{"spec": d.specs[name], "status": body["status"]})
	return nil
}

// run reports for a while.
func (d *desk) run(r *Registry, hub string, long time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	rep := NewReporter(ReporterConfig{
		Registry: r, Hub: hub, Logger: slog.New(slog.DiscardHandler), Write: d.write,
		Seen: func(f func(Seen)) {
			for _, s := range d.seen {
				f(s)
			}
		},
	})
	_ = rep.Run(ctx)
}

func newDesk(t *testing.T, n int) (*desk, *Registry) {
	d := &desk{c: newCloud(t), specs: map[string]map[string]any{}, statuses: map[string][]byte{}}
	r := New(d.c, slog.New(slog.DiscardHandler))
	d.c.start(r)
	for i := range n {
		name := fmt.Sprint("edge-", i)
		d.specs[name] = map[string]any{"scopes": []string{"node"}}
		d.c.put(Sites, name, map[string]any{"spec": d.specs[name]})
	}
	return d, r
}

// status returns what the cloud says of an edge.
func (d *desk) status(name string) Status {
	d.c.t.Helper()
	var s EdgeSite
	if err := json.Unmarshal(d.c.logs[Sites].Snapshot().Get(name).JSON(), &s); err != nil {
		d.c.t.Fatal(err)
	}
	return s.Status
}

func TestReporterSaysWhoIsConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := newDesk(t, 2)
		d.seen = []Seen{{Edge: "edge-0", Version: "v1", Resources: 3, Wanted: 3, Position: 17, Objects: 5, Bytes: 1000}, {Edge: "no-site"}}
		d.run(r, "hub-a", 4*time.Second)
		s := d.status("edge-0")
		if !s.Connected || s.Hub != "hub-a" || s.Position != "17" || s.Objects != 5 || s.Lag != "0s" || !meta.IsStatusConditionTrue(s.Conditions, "Synced") {
			t.Errorf("connected: %+v", s)
		}
		if s := d.status("edge-1"); s.Connected || s.LastSeen != nil {
			t.Errorf("never seen: %+v", s)
		}
		before := d.writes
		d.seen[0].Objects, d.seen[0].Position = 6, 18
		d.run(r, "hub-a", time.Minute)
		if d.writes != before {
			t.Errorf("%d writes within the interval of what can wait", d.writes-before)
		}
		d.run(r, "hub-a", 5*time.Minute)
		if s := d.status("edge-0"); s.Objects != 6 || d.writes != before+1 {
			t.Errorf("after the interval: %+v, %d writes", s, d.writes-before)
		}
		d.seen = nil
		d.run(r, "hub-a", 4*time.Second)
		if s := d.status("edge-0"); s.Connected || meta.IsStatusConditionTrue(s.Conditions, "Connected") || s.LastSeen == nil {
			t.Errorf("gone: %+v", s)
		}
	})
}

// A hub that dies can't say that its edges are gone. Another one does, once nobody has seen them for long.
func TestReporterOfAnotherHub(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := newDesk(t, 1)
		d.seen = []Seen{{Edge: "edge-0"}}
		d.run(r, "hub-a", 4*time.Second)
		d.seen = nil
		d.run(r, "hub-b", 10*time.Minute)
		if s := d.status("edge-0"); !s.Connected {
			t.Fatal("an edge of another hub is gone too soon")
		}
		d.run(r, "hub-b", 11*time.Minute)
		if s := d.status("edge-0"); s.Connected || s.Hub != "hub-a" {
			t.Errorf("an edge of a hub that is gone: %+v", s)
		}
	})
}

// A thousand edges that come at once are told of at a bounded rate, and a cloud that refuses is asked at the same one.
func TestReporterWritesAtABoundedRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := newDesk(t, 300)
		for i := range 300 {
			d.seen = append(d.seen, Seen{Edge: fmt.Sprint("edge-", i)})
		}
		d.fail = errors.New("not now")
		d.run(r, "hub-a", 10*time.Second)
		if d.writes > 10 {
			t.Errorf("%d attempts in ten seconds at a cloud that refuses", d.writes)
		}
		d.fail, d.writes = nil, 0
		d.run(r, "hub-a", 10*time.Second)
		if d.writes < 80 || d.writes > 120 {
			t.Errorf("%d writes in ten seconds, ten a second are allowed", d.writes)
		}
		d.run(r, "hub-a", time.Minute)
		for i := range 300 {
			if name := fmt.Sprint("edge-", i); !d.status(name).Connected {
				t.Fatalf("%s was forgotten", name)
			}
		}
	})
}

// What an edge has no more is taken out of its status, though the cloud keeps what a patch does not name.
func TestStatusForgetsWhatIsNotSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := newDesk(t, 1)
		d.seen = []Seen{{
			Edge: "edge-0", Version: "v1", Resources: 3, Wanted: 3, Position: 17, Objects: 5, Bytes: 1000, CertificateNotAfter: time.Now(),
		}}
		d.run(r, "hub-a", 4*time.Second)
		d.seen = []Seen{{Edge: "edge-0", Version: "v2", Wanted: 3}}
		d.run(r, "hub-a", 4*time.Second)
		s := d.status("edge-0")
		if s.Resources != 0 || s.Position != "" || s.Objects != 0 || s.Bytes != 0 || s.Certificate != nil {
			t.Errorf("an edge that begins anew: %+v", s)
		}
		before := d.writes
		d.run(r, "hub-a", 4*time.Second)
		if d.writes != before {
			t.Errorf("%d more writes of the same", d.writes-before)
		}
	})
}

// A status that the cloud does not take keeps none of the others back.
func TestReporterGoesOnBesidesWhatIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, r := newDesk(t, 20)
		d.bad = "edge-0"
		for i := range 20 {
			d.seen = append(d.seen, Seen{Edge: fmt.Sprint("edge-", i)})
		}
		d.run(r, "hub-a", time.Minute)
		for i := 1; i < 20; i++ {
			if name := fmt.Sprint("edge-", i); !d.status(name).Connected {
				t.Errorf("nobody was told that %s is connected", name)
			}
		}
		for i := range d.seen {
			d.seen[i].Version = "v2"
		}
		d.run(r, "hub-a", time.Minute)
		for i := 1; i < 20; i++ {
			if name := fmt.Sprint("edge-", i); d.status(name).Version != "v2" {
				t.Errorf("nobody was told that %s has another version", name)
			}
		}
	})
}
