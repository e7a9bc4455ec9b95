package store

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

var (
	pods = &watchlog.Resource{
		Version: "v1", Name: "pods", Kind: "Pod", ListKind: "PodList", Namespaced: true,
		Fields: []watchlog.Field{{Label: "spec.nodeName", Path: "spec.nodeName", Indexed: true}},
	}
	podsGR = pods.GroupResource()

	deployments = &watchlog.Resource{
		Group: "apps", Version: "v1", Name: "deployments", Kind: "Deployment", ListKind: "DeploymentList", Namespaced: true,
	}
)

var silent = slog.New(slog.DiscardHandler)

// pod returns the JSON of a pod with pad bytes of filling.
func podJSON(name, uid string, rev uint64, pad int) []byte {
	return fmt.Appendf(nil, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":%q,`+
		`"resourceVersion":"%d"},"spec":{"nodeName":"n1","pad":%q}}`, name, uid, rev, strings.Repeat("x", pad))
}

// podCells returns the cells of a pod; some have none, as what was stored by an older version.
func podCells(name string, rev uint64) []byte {
	if rev%4 != 1 {
		return nil
	}
	return fmt.Appendf(nil, `[%q,"1/1",{"since":"2026-01-01T00:00:00Z","format":"%%s"}]`, name)
}

func pod(t testing.TB, name, uid string, rev uint64, pad int) *watchlog.Object {
	t.Helper()
	o, err := watchlog.NewDecoder(pods).DecodeRow(podJSON(name, uid, rev, pad), podCells(name, rev))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// put returns the op that reports o.
func put(o *watchlog.Object) watchlog.Op { return watchlog.Op{Key: o.Key(), Rev: o.Rev(), Object: o} }

func del(key string, rev uint64) watchlog.Op { return watchlog.Op{Key: key, Rev: rev} }

// open opens the store in dir. The test ends with a check of the file.
func open(t testing.TB, dir string, o Options) *Store {
	t.Helper()
	s, err := tryOpen(t, dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryOpen(t testing.TB, dir string, o Options) (*Store, error) {
	t.Helper()
	if o.Logger == nil {
		o.Logger = silent
	}
	s, err := Open(dir, o)
	if err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		_ = s.Close()
		checkWith(t, dir, o.Keys)
	})
	return s, nil
}

// check fails the test unless the file in dir is sound.
func check(t testing.TB, dir string) *Report {
	t.Helper()
	return checkWith(t, dir, nil)
}

func checkWith(t testing.TB, dir string, keys *Keys) *Report {
	t.Helper()
	r, err := CheckEncrypted(dir, keys)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Err(); err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(r.Problems, "\n"))
	}
	return r
}

func update(t testing.TB, s *Store, fn func(tx *Tx) error) {
	t.Helper()
	if err := s.Update(fn); err != nil {
		t.Fatal(err)
	}
}

func describe(t testing.TB, s *Store, r *watchlog.Resource) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.Describe(State{Resource: *r, Epoch: "e1", Scope: "s1"}) })
}

func apply(t testing.TB, s *Store, b watchlog.Batch) {
	t.Helper()
	update(t, s, func(tx *Tx) error { return tx.Apply(podsGR, b) })
}

func load(t testing.TB, s *Store) *Content {
	t.Helper()
	c, err := s.Load(podsGR, watchlog.NewDecoder(pods))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func state(t testing.TB, s *Store, gr schema.GroupResource) State {
	t.Helper()
	all, err := s.Resources()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(st State) bool { return st.Resource.GroupResource() == gr })
	if i < 0 {
		t.Fatalf("%s is not in the store", gr)
	}
	return all[i]
}

// edge is a store together with a log that goes through the same, as an edge has them.
type edge struct {
	t     testing.TB
	dir   string
	opts  Options
	store *Store
	log   *watchlog.Log
	full  *watchlog.Log // the same without bounds: what really happened; nil when it isn't followed
	whole wholeWindow
}

// newEdge returns an edge that knows pods and nothing else.
func newEdge(t testing.TB, o Options) *edge {
	t.Helper()
	e := &edge{t: t, dir: t.TempDir(), opts: o, log: watchlog.New(pods, o.Window), full: watchlog.New(pods, watchlog.Config{})}
	e.store = open(t, e.dir, o)
	describe(t, e.store, pods)
	return e
}

// commit stores a batch and then shows it.
func (e *edge) commit(b watchlog.Batch) {
	e.t.Helper()
	apply(e.t, e.store, b)
	e.show(b)
}

// show commits a batch that is stored.
func (e *edge) show(b watchlog.Batch) {
	e.t.Helper()
	e.whole.add(b, e.log.Rev() == 0)
	if err := e.log.Commit(b); err != nil {
		e.t.Fatal(err)
	}
	if err := e.full.Commit(b); err != nil {
		e.t.Fatal(err)
	}
}

// wholeWindow is what a window of whole versions, as the file has them, reaches back over.
type wholeWindow struct {
	events []*watchlog.Event
	gaps   []watchlog.Gap
	floor  uint64
}

func (w *wholeWindow) add(b watchlog.Batch, first bool) {
	if first {
		*w = wholeWindow{floor: b.Rev}
		return
	}
	w.events = append(w.events, b.Events...)
	if !b.Gap.Empty() {
		w.gaps = append(w.gaps, b.Gap)
	}
}

// floorWithin returns the smallest position that can be watched from within bounds.
func (w *wholeWindow) floorWithin(c watchlog.Config) uint64 {
	c = Options{Window: c}.withDefaults().Window
	floor, bytes := w.floor, int64(0)
	for i := len(w.events) - 1; i >= 0; i-- {
		e := w.events[i]
		if bytes += eventOverhead; e.Prev != nil {
			bytes += int64(e.Prev.Size())
		}
		if bytes > c.MaxBytes || len(w.events)-i > c.MaxEvents {
			floor = max(floor, e.Rev)
			break
		}
	}
	if extra := len(w.gaps) - maxGaps; extra > 0 {
		floor = max(floor, w.gaps[extra-1].To)
	}
	for _, g := range w.gaps {
		if g.From < floor && floor < g.To {
			floor = g.To
		}
	}
	return floor
}

// live commits ops, each at its own position.
func (e *edge) live(ops ...watchlog.Op) {
	e.t.Helper()
	for _, op := range ops {
		e.commit(e.log.Snapshot().Plan([]watchlog.Op{op}, op.Rev))
	}
}

// reopen closes the store and opens it again.
func (e *edge) reopen() {
	e.t.Helper()
	if err := e.store.Close(); err != nil {
		e.t.Fatal(err)
	}
	e.store = open(e.t, e.dir, e.opts)
}

// report closes the store, checks the file and opens it again.
func (e *edge) report() ResourceReport {
	e.t.Helper()
	if err := e.store.Close(); err != nil {
		e.t.Fatal(err)
	}
	r := check(e.t, e.dir)
	e.store = open(e.t, e.dir, e.opts)
	return r.Resources[0]
}

// restored returns a log loaded from the store.
func (e *edge) restored() *watchlog.Log {
	e.t.Helper()
	l := watchlog.New(pods, e.opts.Window)
	c, err := e.store.Load(podsGR, l.Decoder())
	if err != nil {
		e.t.Fatal(err)
	}
	if c.Rev == 0 {
		return l
	}
	if err := l.Load(c.Content); err != nil {
		e.t.Fatal(err)
	}
	return l
}

// verify fails the test unless a restart would show every client what the log shows it.
func (e *edge) verify() {
	e.t.Helper()
	got := e.restored()
	if got.Rev() != e.log.Rev() {
		e.t.Fatalf("position %d after a restart, %d before", got.Rev(), e.log.Rev())
	}
	if g, w := listing(got), listing(e.log); !slices.Equal(g, w) {
		e.t.Fatalf("objects after a restart:\n%s\nbefore:\n%s", strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
	if e.log.Rev() == 0 {
		return
	}
	if want := e.whole.floorWithin(e.opts.Window); e.whole.floor > 0 && got.Oldest() > want {
		e.t.Fatalf("watches from %d after a restart, from %d with whole versions", got.Oldest(), want)
	}
	// What was late at the oldest position may have left the one and not the other: the log packs when it can.
	oldest := max(e.log.Oldest(), got.Oldest()) + 1
	for _, from := range []uint64{oldest, (oldest + e.log.Rev()) / 2, e.log.Rev()} {
		e.same(from, watching(e.t, got, from), watching(e.t, e.log, from))
	}
	if e.full == nil {
		return
	}
	// The file may hold a longer window than the log does, but nothing else than what happened.
	for from := got.Oldest(); from < e.log.Oldest(); from++ {
		if saw := watching(e.t, got, from); len(saw) != 1 || !strings.Contains(saw[0], watchlog.ErrCompacted.Error()) {
			e.same(from, saw, watching(e.t, e.full, from))
		}
	}
}

func (e *edge) same(from uint64, got, want []string) {
	e.t.Helper()
	if !slices.Equal(got, want) {
		e.t.Fatalf("a watch from %d after a restart:\n%s\nbefore:\n%s", from, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// listing returns the objects of a log.
func listing(l *watchlog.Log) []string {
	var out []string
	for o := range l.Snapshot().All("") {
		out = append(out, o.Key()+" "+string(o.JSON()))
	}
	return out
}

// watching returns what a watch from a position gets, or the error that it gets.
func watching(t testing.TB, l *watchlog.Log, from uint64) []string {
	t.Helper()
	r, err := l.NewReader(from, make(watchlog.Signal, 1))
	if err != nil {
		return []string{err.Error()}
	}
	defer r.Close()
	var out []string
	for {
		p, err := r.Read(make([]*watchlog.Event, 0, 10))
		if err != nil {
			return append(out, err.Error())
		}
		for _, ev := range p.Events {
			out = append(out, fmt.Sprintf("%s at %d late=%t gap=%v %s", ev.Type, ev.Rev, ev.Late, p.Gap,
				ev.Object.AppendJSON(nil, ev.Shown)))
		}
		if len(p.Events) == 0 && !p.More {
			return out
		}
	}
}

// copyFile copies a file.
func copyFile(t testing.TB, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// asideFiles returns the files that were set aside in dir, oldest first.
func asideFiles(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, FileName+asideInfix+"*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// logTo returns a logger that writes to the returned buffer.
func logTo() (*slog.Logger, *bytes.Buffer) {
	b := &bytes.Buffer{}
	return slog.New(slog.NewTextHandler(b, nil)), b
}
