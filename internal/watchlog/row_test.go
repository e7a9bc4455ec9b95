package watchlog

import (
	"errors"
	"testing"
)

func TestCellsLieBesideTheObject(t *testing.T) {
	d := NewDecoder(&Resource{Name: "things"})
	const raw, cells = `{"metadata":{"name":"a","resourceVersion":"5"}}`, `["a",{"since":"2026-01-01T00:00:00Z","format":"%s"}]`
	beside, err := d.DecodeRow([]byte(raw), []byte(cells))
	if err != nil {
		t.Fatal(err)
	}
	joined, err := d.DecodeJoined([]byte(raw + cells))
	if err != nil {
		t.Fatal(err)
	}
	without, err := d.DecodeJoined([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if !beside.Same(joined) || beside.Same(without) || without.Cells() != nil {
		t.Errorf("cells %s, %s, %s", beside.Cells(), joined.Cells(), without.Cells())
	}
	if beside.Size() != len(raw)+len(cells) || without.Size() != len(raw) {
		t.Errorf("sizes %d, %d", beside.Size(), without.Size())
	}
	if string(joined.JSON()) != raw || string(joined.Cells()) != cells {
		t.Errorf("joined: %s, %s", joined.JSON(), joined.Cells())
	}
	if string(joined.AppendJSON(nil, 7)) != `{"metadata":{"name":"a","resourceVersion":"7"}}` {
		t.Errorf("another revision: %s", joined.AppendJSON(nil, 7))
	}
}

func TestCellsAreOneValue(t *testing.T) {
	d := NewDecoder(&Resource{Name: "things"})
	const raw = `{"metadata":{"name":"a","resourceVersion":"5"}}`
	for _, cells := range []string{`[`, `["a"]x`, `"a"`, `["a"] `, `null`, `[}`} {
		if _, err := d.DecodeRow([]byte(raw), []byte(cells)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", cells, err)
		}
		if _, err := d.DecodeJoined([]byte(raw + cells)); !errors.Is(err, ErrMalformed) {
			t.Errorf("joined %s: %v", cells, err)
		}
	}
}

func TestOtherCellsAtTheSameRevisionAreAChange(t *testing.T) {
	l := New(&Resource{Name: "things"}, Config{})
	decode := func(cells string) *Object {
		o, err := l.Decoder().DecodeRow([]byte(`{"metadata":{"name":"a","uid":"u","resourceVersion":"5"}}`), []byte(cells))
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	if err := l.Load(Content{Objects: []*Object{decode(`["a"]`)}, Rev: 5, Floor: 5}); err != nil {
		t.Fatal(err)
	}
	for name, plan := range map[string]func(*Object) Batch{
		"replace": func(o *Object) Batch { return l.Snapshot().PlanReplace([]*Object{o}, 9) },
		"catchup": func(o *Object) Batch { return l.Snapshot().PlanCatchup([]Op{{Key: "a", Rev: 5, Object: o}}, 9) },
	} {
		if b := plan(decode(`["a"]`)); len(b.Events) != 0 {
			t.Errorf("%s: the same cells are %d events", name, len(b.Events))
		}
		b := plan(decode(`["b"]`))
		if len(b.Events) != 1 || b.Events[0].Type != Modified || b.Events[0].Rev != 9 {
			t.Errorf("%s: other cells are %d events", name, len(b.Events))
		}
	}
}

func FuzzJoined(f *testing.F) {
	f.Add([]byte(`{"metadata":{"name":"a","resourceVersion":"5"}}["a",1]`))
	f.Add([]byte(`{"metadata":{"name":"a","resourceVersion":"5"}}`))
	f.Add([]byte(`{}[`))
	d := NewDecoder(&Resource{Name: "things"})
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := d.DecodeJoined(raw)
		if err == nil && string(o.JSON())+string(o.Cells()) != string(raw) {
			t.Errorf("%q is not what was given", raw)
		}
	})
}
