package watchlog

import "testing"

// TestReplaceSeesOtherBytesOfTheSameRevision: what a CRD's schema says applies to stored objects without a new revision.
func TestReplaceSeesOtherBytesOfTheSameRevision(t *testing.T) {
	l := New(&Resource{Version: "v1", Name: "widgets", Namespaced: true}, Config{})
	decode := func(extra string) *Object {
		o, err := l.Decoder().Decode([]byte(`{"metadata":{"name":"a","namespace":"ns","resourceVersion":"5","uid":"u"}` + extra + `}`))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if err := l.Load(Content{Objects: []*Object{decode("")}, Rev: 5, Floor: 5}); err != nil {
		t.Fatal(err)
	}
	if b := l.Snapshot().PlanReplace([]*Object{decode("")}, 9); len(b.Events) != 0 {
		t.Errorf("the same bytes: %d events", len(b.Events))
	}
	b := l.Snapshot().PlanReplace([]*Object{decode(`,"spec":{"b":"B"}`)}, 9)
	if len(b.Events) != 1 || b.Events[0].Type != Modified || b.Events[0].Rev != 9 || b.Events[0].Shown != 5 {
		t.Errorf("other bytes: %+v", b.Events)
	}
}
