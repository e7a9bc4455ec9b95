package litesrv

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// tableGolden is what kube-apiserver 1.37.2 answered about one resource as tables, and what a hub kept of the rows that it
// answered from. {{columns}} in a body stands for the resource's columns.
type tableGolden struct {
	Resource watchlog.Resource
	Rev      uint64
	Objects  []keptRow
	Answers  []tableAnswer

	WatchRev uint64    // the revision from which the watches began
	WatchNow time.Time // within the second in which everything happened
	Frames   []struct {
		Type string
		keptRow
	}
	Watches []struct{ Path, Accept, Body string }
}

// keptRow is a row as a hub keeps it.
type keptRow struct{ JSON, Cells string }

// tableAnswer is an answer.
type tableAnswer struct {
	Path, Accept string
	Code         int
	Type, Body   string
	Rev          uint64    // at which it was given
	Now          time.Time // within the second in which it was given
}

func readTables(t testing.TB) map[string]*tableGolden {
	t.Helper()
	raw, err := os.ReadFile("testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]*tableGolden
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func (g *tableGolden) body(text string) string {
	return strings.ReplaceAll(text, "{{columns}}", g.Resource.Columns)
}

// onceOnly is body for a watch: kube-apiserver may repeat the columns when another watch makes it encode an event anew.
func (g *tableGolden) onceOnly(text string) string {
	first, rest, _ := strings.Cut(text, "{{columns}}")
	return first + g.Resource.Columns + strings.ReplaceAll(rest, "{{columns}}", "null")
}

func (r keptRow) decode(t testing.TB, l *watchlog.Log) *watchlog.Object {
	t.Helper()
	o, err := l.Decoder().DecodeRow([]byte(r.JSON), []byte(r.Cells))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// world returns a cloud that has the objects at a revision, at a time.
func (g *tableGolden) world(t *testing.T, rev uint64, now time.Time) (*world, *watchlog.Log) {
	t.Helper()
	time.Sleep(time.Until(now))
	w := newWorld(t, rev)
	l := w.open(&g.Resource, watchlog.Config{})
	content := watchlog.Content{Rev: rev, Floor: rev}
	for _, row := range g.Objects {
		content.Objects = append(content.Objects, row.decode(t, l))
	}
	if err := l.Load(content); err != nil {
		t.Fatal(err)
	}
	return w, l
}

// TestGoldenTables compares tables of 30 kinds with kube-apiserver's, byte for byte, as of when those were given.
func TestGoldenTables(t *testing.T) {
	all := readTables(t)
	if len(all) < 30 {
		t.Fatalf("%d kinds", len(all))
	}
	for name, g := range all {
		for _, a := range g.Answers {
			synctest.Test(t, func(t *testing.T) {
				w, _ := g.world(t, a.Rev, a.Now)
				got := get(t, w.server(), a.Path, "Accept", a.Accept)
				if want := g.body(a.Body); got.Code != a.Code || got.Header().Get("Content-Type") != a.Type || got.Body.String() != want {
					t.Errorf("%s: %s as %s:\n got %d %s %s\nwant %d %s %s", name, a.Path, a.Accept,
						got.Code, got.Header().Get("Content-Type"), got.Body, a.Code, a.Type, want)
				}
			})
		}
	}
}

// TestGoldenTableWatches does the same for what happens in watches.
func TestGoldenTableWatches(t *testing.T) {
	watches := 0
	for name, g := range readTables(t) {
		for _, a := range g.Watches {
			watches++
			synctest.Test(t, func(t *testing.T) {
				w, l := g.world(t, g.WatchRev, g.WatchNow)
				for _, f := range g.Frames {
					o := f.decode(t, l)
					op := watchlog.Op{Key: o.Key(), Rev: o.Rev(), Object: o}
					if f.Type == "DELETED" {
						op.Object = nil
					}
					w.commit(l, l.Snapshot().Plan([]watchlog.Op{op}, o.Rev()))
				}
				got := get(t, w.server(), a.Path, "Accept", a.Accept)
				if want := g.onceOnly(a.Body); got.Code != http.StatusOK || got.Body.String() != want {
					t.Errorf("%s: %s as %s:\n got %d %s\nwant %s", name, a.Path, a.Accept, got.Code, got.Body, want)
				}
			})
		}
	}
	if watches < 12 {
		t.Errorf("%d watches", watches)
	}
}
