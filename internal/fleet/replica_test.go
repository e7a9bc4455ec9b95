package fleet

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

var podInfo = &tombolov1.ResourceInfo{Version: "v1", Kind: "Pod", ListKind: "PodList", Namespaced: true}

// podKind is the kind of pods.
func podKind(t testing.TB) *kind {
	t.Helper()
	k, err := (&kinds{known: map[string]*kind{}}).get(groupResource(&tombolov1.Resource{Resource: "pods"}), podInfo)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func podJSON(name, uid string, rev uint64) []byte {
	return fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":%q,"resourceVersion":"%d"}}`,
		name, uid, rev)
}

// pair is a replica and a log, which are given the same.
type pair struct {
	t   *testing.T
	r   *replica
	log *watchlog.Log
	rng *rand.Rand
	rev uint64 // that was used last
}

// op makes a random operation at a later position; with old, sometimes one of an older object.
func (p *pair) op(old bool) (watchlog.Op, change) {
	p.rev += 1 + p.rng.Uint64N(2)
	name := fmt.Sprintf("pod-%d", p.rng.IntN(8))
	if p.rng.IntN(4) == 0 {
		return watchlog.Op{Key: "ns/" + name, Rev: p.rev}, change{key: "ns/" + name, rev: p.rev}
	}
	rev := p.rev
	if old && p.rng.IntN(3) == 0 {
		rev = 1 + p.rng.Uint64N(p.rev)
	}
	raw := podJSON(name, fmt.Sprintf("u%d", p.rng.IntN(2)), rev)
	o, err := p.r.kind.decoder.Decode(raw)
	if err != nil {
		p.t.Fatal(err)
	}
	v := newVersion(versionID{kind: p.r.kind, key: o.Key(), size: len(raw), crc: delta.Checksum(raw)}, origin{}, o)
	return watchlog.Op{Key: o.Key(), Rev: p.rev, Object: o}, change{key: o.Key(), rev: p.rev, to: v}
}

func (p *pair) compare(what string) {
	p.t.Helper()
	var want delta.Digest
	for o := range p.log.Snapshot().All("") {
		want.Add(o)
	}
	var held delta.Digest
	p.r.all(func(v *version) { held.Join(v.digest) })
	if p.r.digest != want || held != want || p.r.rev != p.log.Rev() {
		p.t.Fatalf("%s: the replica is at %d with %d objects (%d counted), the log at %d with %d",
			what, p.r.rev, held.Count, p.r.digest.Count, p.log.Rev(), want.Count)
	}
}

func TestReplicaHoldsWhatALogWould(t *testing.T) {
	for seed := range uint64(50) {
		res := resourceOf(podKind(t).gr, podInfo)
		p := &pair{t: t, r: newReplica(podKind(t)), log: watchlog.New(res, watchlog.Config{}), rng: rand.New(rand.NewPCG(seed, 1))}
		if err := p.log.Load(watchlog.Content{Rev: 1}); err != nil {
			t.Fatal(err)
		}
		p.r.rev, p.rev = 1, 1
		for range 40 {
			catchup := p.rng.IntN(3) == 0
			var ops []watchlog.Op
			var changes []change
			seen := map[string]bool{}
			for range 1 + p.rng.IntN(5) {
				op, c := p.op(catchup)
				if catchup && seen[op.Key] {
					continue
				}
				seen[op.Key] = true
				ops, changes = append(ops, op), append(changes, c)
			}
			var b watchlog.Batch
			if catchup {
				b = p.log.Snapshot().PlanCatchup(ops, p.rev)
				p.r.stage(changes, p.rev)
				outcome := p.r.outcome()
				var held delta.Digest
				p.r.all(func(v *version) { held.Join(v.digest) })
				if p.r.finish(p.rev); p.r.digest != outcome || held != outcome {
					t.Fatal("the outcome of a step is not what was said before")
				}
			} else {
				b = p.log.Snapshot().Plan(ops, p.rev)
				p.r.advance(changes, p.rev)
			}
			if err := p.log.Commit(b); err != nil {
				t.Fatal(err)
			}
			p.compare(fmt.Sprintf("seed %d, catch-up %t", seed, catchup))
		}
	}
}
