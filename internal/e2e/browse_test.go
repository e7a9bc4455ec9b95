//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// browser reads one resource of a server in all ways there are, one after the other, as fast as it is
// answered. What isn't answered is tried no more: what is has to be right.
type browser struct {
	lister  *guarantee.Lister
	single  *guarantee.Lister // of the one namespace
	seed    uint64
	rng     *rand.Rand
	shown   []uint64 // positions that lists had, newest last
	answers map[string]int
	stop    func()
}

// browse starts a browser at the edge.
func (s *site) browse(k kind) *browser {
	s.t.Helper()
	b := &browser{
		lister:  s.lister(k.resource),
		single:  s.getter(k.resource),
		seed:    seed(s.t),
		rng:     rand.New(rand.NewPCG(seed(s.t), 99)),
		answers: map[string]int{},
	}
	b.single.URL = s.local.base + k.path(k.namespace)
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			b.read(ctx)
		}
	})
	b.stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
		b.lister.Close()
		b.single.Close()
	})
	s.t.Cleanup(b.stop)
	return b
}

// read makes one request.
func (b *browser) read(ctx context.Context) {
	var err error
	what := "list"
	b.lister.RV, b.lister.Limit = "", 0
	switch b.rng.IntN(6) {
	case 0:
		what, b.lister.RV = "list of anything", "0"
	case 1:
		what, b.lister.Limit = "pages", 1+b.rng.IntN(30)
	case 2:
		if len(b.shown) > 0 {
			what, b.lister.RV = "list not older", strconv.FormatUint(b.shown[len(b.shown)-1], 10)
		}
	case 3:
		what = "get"
		_, err = b.single.Get(ctx, fmt.Sprintf("load-%d-%d-%02d", b.seed, b.rng.IntN(loadWorkers), b.rng.IntN(loadKeys)))
	case 4:
		if len(b.shown) > 0 {
			what = "exact list"
			err = b.lister.ListExact(ctx, b.shown[b.rng.IntN(len(b.shown))])
		}
	}
	if strings.HasPrefix(what, "list") || what == "pages" {
		var rv uint64
		if rv, err = b.lister.List(ctx); err == nil {
			b.shown = append(b.shown[max(0, len(b.shown)-20):], rv)
		}
	}
	if err == nil {
		b.answers[what]++
	}
}

// done stops the browser. Each way of reading must have been answered.
func (b *browser) done(t testing.TB) {
	t.Helper()
	b.stop()
	t.Logf("%s: %v", b.lister.Name(), b.answers)
	for _, what := range []string{"list", "list of anything", "pages", "list not older", "get", "exact list"} {
		if b.answers[what] == 0 {
			t.Errorf("no %s was answered", what)
		}
	}
}
