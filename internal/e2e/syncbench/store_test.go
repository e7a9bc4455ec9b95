//go:build e2e

package syncbench

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// versions makes new versions of config maps of 5 KB, with revisions behind rev.
func versions(t *testing.T, d *watchlog.Decoder, n int, rev uint64) (ops []watchlog.Op) {
	t.Helper()
	for i := range n {
		rev++
		o := configMap(name(i), 4850, rev)
		o["metadata"].(object)["uid"] = fmt.Sprint("uid-", i)
		o["metadata"].(object)["resourceVersion"] = fmt.Sprint(rev)
		raw, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := d.Decode(raw)
		if err != nil {
			t.Fatal(err)
		}
		ops = append(ops, watchlog.Op{Key: decoded.Key(), Rev: rev, Object: decoded})
	}
	return ops
}

// TestEdgeApplies measures how fast an edge makes durable what comes in groups, as after a while without a link.
func TestEdgeApplies(t *testing.T) {
	const group = 1000
	res := &watchlog.Resource{Version: "v1", Name: "configmaps", Kind: "ConfigMap", ListKind: "ConfigMapList", Namespaced: true}
	st, err := store.Open(t.TempDir(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := watchlog.New(res, watchlog.Config{})
	err = st.Update(func(tx *store.Tx) error { return tx.Describe(store.State{Resource: *res, Epoch: "e", Scope: "v"}) })
	if err != nil {
		t.Fatal(err)
	}
	commit := func(b watchlog.Batch) time.Duration {
		start := time.Now()
		if err := st.Update(func(tx *store.Tx) error { return tx.Apply(res.GroupResource(), b) }); err != nil {
			t.Fatal(err)
		}
		took := time.Since(start)
		if err := log.Commit(b); err != nil {
			t.Fatal(err)
		}
		return took
	}
	var first []*watchlog.Object
	for _, op := range versions(t, log.Decoder(), 5*group, 0) {
		first = append(first, op.Object)
	}
	commit(log.Snapshot().PlanReplace(first, 5*group))
	const rounds = 20
	var took time.Duration
	for range rounds {
		rev := log.Rev()
		took += commit(log.Snapshot().Plan(versions(t, log.Decoder(), group, rev), rev+group))
	}
	content, err := st.Load(res.GroupResource(), log.Decoder())
	if err != nil || len(content.Objects) != 5*group || content.Rev != log.Rev() {
		t.Errorf("%d objects at %d are stored, %d at %d were committed: %v", len(content.Objects), content.Rev, 5*group, log.Rev(), err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	rate := float64(rounds*group) / took.Seconds()
	figures.add("edge apply, with fsync", fmt.Sprintf("new versions of 5 KB, %d to a transaction, into an edge's file", group),
		fmt.Sprintf("%.0f objects/s", rate), "15,000 objects/s", rate >= 15_000)
}
