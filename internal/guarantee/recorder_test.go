package guarantee

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// bench is a fake API server with a writer and a way to add readers.
type bench struct {
	t      *testing.T
	ctx    context.Context
	h      *History
	api    *fakeAPI
	server *httptest.Server
	writer *Writer
	uids   int
}

func newBench(t *testing.T) *bench {
	b := &bench{t: t, h: NewHistory(), api: newFakeAPI()}
	b.server = httptest.NewServer(b.api)
	var cancel context.CancelFunc
	b.ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(func() {
		cancel()
		b.server.Close()
	})
	b.writer = NewWriter(b.h, "api", resource, b.server.Client(), b.server.URL+"/api/v1", "configmaps", nil)
	return b
}

func (b *bench) watcher(name string, source bool) *Watcher {
	return NewWatcher(b.h, ReaderConfig{Name: name, Server: "api", Resource: resource, Source: source},
		Target{Client: b.server.Client(), URL: b.server.URL + fakePath})
}

// start runs a watcher until the test ends.
func (b *bench) start(w *Watcher) { b.t.Cleanup(w.Start(b.ctx)) }

// write makes n random changes.
func (b *bench) write(rng *rand.Rand, n int) {
	b.t.Helper()
	for range n {
		name := fmt.Sprintf("cm-%02d", rng.IntN(8))
		if err := b.change(rng, name); err != nil {
			b.t.Fatal(err)
		}
	}
}

func (b *bench) change(rng *rand.Rand, name string) error {
	known, ok := b.writer.Known("ns/" + name)
	if ok && rng.IntN(4) == 0 {
		return b.writer.Delete(b.ctx, "ns/"+name)
	}
	uid := known.UID
	if !ok {
		b.uids++
		uid = fmt.Sprintf("uid-%d", b.uids)
	}
	asked := fmt.Appendf(nil, `{"Name":%q,"UID":%q,"Data":"%d"}`, name, uid, rng.IntN(1000))
	if ok {
		_, err := b.writer.Update(b.ctx, "ns/"+name, asked)
		return err
	}
	_, err := b.writer.Create(b.ctx, "ns/"+name, asked)
	return err
}

func TestRecordersAgainstAServerThatKeepsItsPromises(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(1, 1))
	watchers := []*Watcher{b.watcher("source", true), b.watcher("list", false), b.watcher("watchlist", false), b.watcher("pages", false)}
	watchers[2].WatchList = true
	watchers[3].Limit = 3
	for _, w := range watchers {
		b.start(w)
	}
	lister := NewLister(b.h, ReaderConfig{Name: "lister", Server: "api", Resource: resource}, watchers[0].Target)
	for range 20 {
		b.write(rng, 20)
		if _, err := lister.List(b.ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := lister.Get(b.ctx, "cm-01"); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range watchers {
		if err := w.CatchUp(b.ctx); err != nil {
			t.Error(err)
		}
		if events, _ := w.Len(); events < 100 {
			t.Errorf("%s saw %d events only", w.cfg.Name, events)
		}
	}
	if err := watchers[1].CatchUpRev(b.ctx, b.api.rv); err != nil {
		t.Error(err)
	}
	if _, err := lister.List(b.ctx); err != nil {
		t.Error(err)
	}
	b.h.Settle(b.api.rv)
	b.h.Require(t)
}

func TestWatcherListsAgainAfter410(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(2, 1))
	b.write(rng, 10)
	w := b.watcher("from afar", true)
	w.From = 10
	b.api.oldest = 15
	b.start(w)
	b.write(rng, 10)
	if err := w.CatchUp(b.ctx); err != nil {
		t.Fatal(err)
	}
	if _, lists := w.Len(); lists != 1 {
		t.Errorf("%d lists after one 410", lists)
	}
	b.h.Settle(b.api.rv)
	b.h.Require(t)
}

func TestEventLostAtTheHandOffIsFound(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(3, 1))
	source := b.watcher("source", true)
	b.start(source)
	b.write(rng, 1)
	if err := source.CatchUp(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.write(rng, 1)
	if err := source.CatchUp(b.ctx); err != nil { // by its stream: that is open
		t.Fatal(err)
	}
	b.api.mu.Lock()
	b.api.loseNext = true
	b.api.mu.Unlock()
	w := b.watcher("victim", false)
	b.start(w)
	if err := w.CatchUp(b.ctx); err != nil {
		t.Fatal(err)
	}
	b.write(rng, 30)
	if err := source.CatchUp(b.ctx); err != nil {
		t.Fatal(err)
	}
	if err := w.CatchUpRev(b.ctx, b.api.rv); err != nil {
		t.Fatal(err)
	}
	b.h.Settle(b.api.rv)
	for _, v := range b.h.Check() {
		if errors.Is(v, ErrGapless) || errors.Is(v, ErrDeletesSurvive) {
			return
		}
	}
	t.Error("the lost event goes unnoticed")
}

func TestUnansweredWriteIsResolved(t *testing.T) {
	b := newBench(t)
	rng := rand.New(rand.NewPCG(4, 1))
	b.write(rng, 5)
	b.writer.client = &http.Client{Transport: loseAnswer{b.server.Client().Transport}}
	if err := b.change(rng, "cm-01"); !errors.Is(err, ErrUnknownOutcome) {
		t.Fatalf("unexpected: %v", err)
	}
	b.writer.client = b.server.Client()
	if err := b.writer.Resolve(b.ctx, "ns/cm-01"); err != nil {
		t.Fatal(err)
	}
	w := b.watcher("source", true)
	b.start(w)
	if err := w.CatchUp(b.ctx); err != nil {
		t.Error(err)
	}
	b.h.Settle(b.api.rv)
	b.h.Require(t)
}

// loseAnswer lets requests through and loses what comes back.
type loseAnswer struct{ http.RoundTripper }

func (l loseAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close()
	return nil, errors.New("connection reset")
}
