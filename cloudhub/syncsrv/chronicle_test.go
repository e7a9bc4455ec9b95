package syncsrv

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

var testPods = &watchlog.Resource{
	Version: "v1", Name: "pods", Kind: "Pod", ListKind: "PodList", Namespaced: true,
	Fields: []watchlog.Field{{Label: "spec.nodeName", Path: "spec.nodeName", Indexed: true}},
}

// testView returns the view of edge-1 under a rule for pods.
func testView(t testing.TB, rule string) scope.View {
	t.Helper()
	f, err := scope.Parse([]byte(`{scopes: [{name: s, edges: ["*"], rules: [` + rule + `]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	v, err := f.For("edge-1").View(testPods)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// chronicle writes a random history into a log and keeps what is needed to tell what was when.
type chronicle struct {
	t      testing.TB
	rng    *rand.Rand
	log    *watchlog.Log
	rev    uint64
	live   map[string]*watchlog.Object
	revs   []uint64 // the positions that a batch ended at
	events []*watchlog.Event
	snaps  []watchlog.Snapshot
}

func newChronicle(t testing.TB, seed uint64, c watchlog.Config) *chronicle {
	t.Helper()
	log := watchlog.New(testPods, c)
	if err := log.Load(watchlog.Content{Rev: 100, Floor: 100}); err != nil {
		t.Fatal(err)
	}
	return &chronicle{
		t: t, rng: rand.New(rand.NewPCG(seed, 11)), log: log, rev: 100, live: map[string]*watchlog.Object{}, revs: []uint64{100},
	}
}

// object returns a version of a pod with some text in it.
func (c *chronicle) object(name, uid, node, text string, rev uint64) *watchlog.Object {
	c.t.Helper()
	o, err := c.log.Decoder().Decode(fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns",`+
		`"uid":%q,"resourceVersion":"%d"},"spec":{"nodeName":%q,"text":%q}}`, name, uid, rev, node, text))
	if err != nil {
		c.t.Fatal(err)
	}
	return o
}

// change makes one random write.
func (c *chronicle) change() watchlog.Op {
	c.rev += uint64(1 + c.rng.IntN(3))
	name := fmt.Sprint("p", c.rng.IntN(15))
	key := watchlog.KeyOf("ns", name)
	old := c.live[key]
	if old != nil && c.rng.IntN(4) == 0 {
		delete(c.live, key)
		return watchlog.Op{Key: key, Rev: c.rev}
	}
	uid := fmt.Sprint("u", c.rev)
	if old != nil && c.rng.IntN(6) > 0 {
		uid = old.UID()
	}
	o := c.object(name, uid, fmt.Sprint("n", c.rng.IntN(3)), fmt.Sprint(c.rev), c.rev)
	c.live[key] = o
	return watchlog.Op{Key: key, Rev: c.rev, Object: o}
}

// step commits a batch: exact, with a gap, late, or none at all.
func (c *chronicle) step() {
	s := c.log.Snapshot()
	switch c.rng.IntN(8) {
	case 0:
		c.rev += uint64(c.rng.IntN(3))
		c.commit(watchlog.Batch{Rev: c.rev})
	case 1:
		c.commit(s.PlanReplace(c.someChanges(), c.rev))
	case 2:
		c.heal(s)
	case 3:
		c.deleteLate(s)
	default:
		var ops []watchlog.Op
		for range 1 + c.rng.IntN(4) {
			ops = append(ops, c.change())
		}
		c.commit(s.Plan(ops, c.rev))
	}
}

// someChanges makes some writes, and returns all that is there then.
func (c *chronicle) someChanges() (all []*watchlog.Object) {
	for range 1 + c.rng.IntN(6) {
		c.change()
	}
	for _, o := range c.live {
		all = append(all, o)
	}
	return all
}

// heal gives an object other bytes under the same revision, at a position that the log has announced.
func (c *chronicle) heal(s watchlog.Snapshot) {
	for key, o := range c.live {
		healed := c.object(o.Name(), o.UID(), o.Field(0), fmt.Sprint("healed ", c.rng.Uint32()), o.Rev())
		c.live[key] = healed
		c.commit(s.PlanCatchup([]watchlog.Op{{Key: key, Rev: o.Rev(), Object: healed}}, s.Rev()))
		return
	}
}

// deleteLate deletes an object at a position that the log has announced.
func (c *chronicle) deleteLate(s watchlog.Snapshot) {
	for key := range c.live {
		delete(c.live, key)
		c.commit(s.Plan([]watchlog.Op{{Key: key, Rev: s.Rev()}}, s.Rev()))
		return
	}
}

func (c *chronicle) commit(b watchlog.Batch) {
	c.t.Helper()
	c.snaps = append(c.snaps, c.log.Snapshot())
	if err := c.log.Commit(b); err != nil {
		c.t.Fatal(err)
	}
	c.events = append(c.events, b.Events...)
	c.revs = append(c.revs, c.log.Rev())
}
