package watchlog

import (
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var pods = &Resource{
	Version: "v1", Name: "pods", Kind: "Pod", ListKind: "PodList", Namespaced: true,
	Fields: []Field{
		{Label: "spec.nodeName", Path: "spec.nodeName", Indexed: true},
		{Label: "status.phase", Path: "status.phase"},
		{Label: "spec.hostNetwork", Path: "spec.hostNetwork", Default: "false"},
	},
}

type pod struct {
	ns, name, uid, node, app string
	rev                      uint64
}

func (p pod) json() []byte {
	return fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":%q,"uid":%q,`+
		`"resourceVersion":"%d","labels":{"app":%q}},"spec":{"nodeName":%q}}`, p.name, p.ns, p.uid, p.rev, p.app, p.node)
}

func (p pod) object(t testing.TB, d *Decoder) *Object {
	t.Helper()
	o, err := d.Decode(p.json())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// op returns the pod as a change at its own rev.
func (p pod) op(t testing.TB, d *Decoder) Op {
	return Op{Key: KeyOf(p.ns, p.name), Rev: p.rev, Object: p.object(t, d)}
}

// loaded returns a log at position rev with the pods.
func loaded(t testing.TB, rev uint64, c Config, ps ...pod) *Log {
	t.Helper()
	l := New(pods, c)
	content := Content{Rev: rev, Floor: rev}
	for _, p := range ps {
		content.Objects = append(content.Objects, p.object(t, l.Decoder()))
	}
	if err := l.Load(content); err != nil {
		t.Fatal(err)
	}
	return l
}

func commit(t testing.TB, l *Log, b Batch) {
	t.Helper()
	if err := l.Commit(b); err != nil {
		t.Fatal(err)
	}
}

// write commits ops one position at a time.
func write(t testing.TB, l *Log, ops ...Op) {
	t.Helper()
	for _, op := range ops {
		commit(t, l, l.Snapshot().Plan([]Op{op}, op.Rev))
	}
}

// drain reads everything that a reader has, in pages of the given size, and returns it as "TYPE key@rev/shown".
func drain(t testing.TB, r *Reader, size int) []string {
	t.Helper()
	out, _ := drainTo(t, r, size)
	return out
}

func drainTo(t testing.TB, r *Reader, size int) (out []string, rev uint64) {
	t.Helper()
	for {
		p, err := r.Read(make([]*Event, 0, size))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Events {
			out = append(out, describe(e))
		}
		if len(p.Events) == 0 && !p.More {
			return out, p.Rev
		}
	}
}

func describe(e *Event) string {
	return fmt.Sprintf("%s %s@%d/%d", e.Type, e.Object.Key(), e.Rev, e.Shown)
}

func keys(seq func(func(*Object) bool)) []string {
	var out []string
	for o := range seq {
		out = append(out, o.Key())
	}
	return out
}

func equal(t testing.TB, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\n got %v\nwant %v", what, got, want)
	}
}
