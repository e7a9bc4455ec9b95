package litesrv

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
	"testing/synctest"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// golden is what kube-apiserver 1.37.2 answered about one resource, and the objects that it answered from.
type golden struct {
	Rev     uint64   // the revision of the resource when it was asked
	Objects []string // JSON
	Answers []struct {
		Path, Accept string
		Code         int
		Type, Body   string
	}
	Events  string // what happened then, as a watch of whole objects
	Watches []struct{ Path, Accept, Body string }
}

func readGoldens(t *testing.T) map[string]golden {
	t.Helper()
	raw, err := os.ReadFile("testdata/representations.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]golden
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// world returns a cloud that has the objects.
func (g *golden) world(t *testing.T, r *watchlog.Resource) (*world, *watchlog.Log) {
	t.Helper()
	w := newWorld(t, g.Rev)
	l := w.open(r, watchlog.Config{})
	content := watchlog.Content{Rev: g.Rev, Floor: g.Rev}
	for _, raw := range g.Objects {
		content.Objects = append(content.Objects, w.decode(l, raw))
	}
	if err := l.Load(content); err != nil {
		t.Fatal(err)
	}
	return w, l
}

// replay lets the events happen.
func (g *golden) replay(t *testing.T, w *world, l *watchlog.Log) {
	t.Helper()
	for _, line := range bytes.Split(bytes.TrimSpace([]byte(g.Events)), []byte("\n")) {
		var e struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		o := w.decode(l, string(e.Object))
		op := watchlog.Op{Key: o.Key(), Rev: o.Rev(), Object: o}
		if e.Type == "DELETED" {
			op.Object = nil
		}
		w.commit(l, l.Snapshot().Plan([]watchlog.Op{op}, o.Rev()))
	}
}

// TestGoldenAnswers compares YAML, metadata and the errors in either with kube-apiserver's, byte for byte.
func TestGoldenAnswers(t *testing.T) {
	for name, g := range readGoldens(t) {
		r := map[string]*watchlog.Resource{"configmaps": configmaps, "widgets": widgets}[name]
		for _, a := range g.Answers {
			synctest.Test(t, func(t *testing.T) {
				w, _ := g.world(t, r)
				got := get(t, w.server(), a.Path, "Accept", a.Accept)
				if got.Code != a.Code || got.Header().Get("Content-Type") != a.Type || got.Body.String() != a.Body {
					t.Errorf("%s as %s:\n got %d %s %s\nwant %d %s %s", a.Path, a.Accept,
						got.Code, got.Header().Get("Content-Type"), got.Body, a.Code, a.Type, a.Body)
				}
			})
		}
	}
}

// TestGoldenWatches does the same for what happens in a watch.
func TestGoldenWatches(t *testing.T) {
	for name, g := range readGoldens(t) {
		r := map[string]*watchlog.Resource{"configmaps": configmaps, "widgets": widgets}[name]
		for _, a := range g.Watches {
			synctest.Test(t, func(t *testing.T) {
				w, l := g.world(t, r)
				g.replay(t, w, l)
				want(t, get(t, w.server(), a.Path, "Accept", a.Accept), 200, a.Body)
			})
		}
	}
}
