//go:build e2e

package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// watchEverything starts readers of all kinds at the edge. They may see coalesced versions: the edge
// is away at times. With wide windows none of them may be told 410.
func (s *site) watchEverything(wide bool) {
	s.t.Helper()
	s.sources(configMaps, pods)
	coalesced := guarantee.ReaderConfig{Coalesced: true, NeverExpires: wide}
	for _, r := range []resource{configMaps, pods} {
		s.watch(s.local, r, coalesced, nil)
		s.watch(s.local, r, coalesced, func(w *guarantee.Watcher) { w.WatchList = true })
	}
	selected := coalesced
	selected.Match = guarantee.All(inScope(configMaps), guarantee.HasLabel("team", "a"))
	s.watch(s.local, configMaps, selected, func(w *guarantee.Watcher) {
		w.Query = url.Values{"labelSelector": {"team=a"}}
		w.Limit = 7
	})
}

// probe lists at the edge, at any moment.
func probe(t testing.TB, listers ...*guarantee.Lister) {
	t.Helper()
	for _, l := range listers {
		if _, err := l.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestEdgeKilledUnderWrites kills the edge again and again while it is applying changes.
func TestEdgeKilledUnderWrites(t *testing.T) {
	const rounds, perSecond = 50, 500
	s := newSite(t, hubConfig{})
	s.watchEverything(true)
	listers := []*guarantee.Lister{s.lister(configMaps), s.lister(pods)}
	rng := rand.New(rand.NewPCG(seed(t), 50))
	l := startLoad(t, s.history, s.cloud, seed(t), perSecond, loadKinds...)
	b := s.browse(loadKinds[0])
	for range rounds {
		l.awaitCount(20 + rng.Int64N(200))
		s.restartEdge()
		probe(t, listers...)
	}
	l.stop()
	b.done(t)
	s.edge.awaitContact(true)
	probe(t, listers...)
	for _, lister := range listers {
		lister.Close()
	}
	s.settle(configMaps, pods)
	s.edge.kill()
	s.edge.check()
}

// TestHubKilledUnderWrites kills the hub, and with it the embedded cloud, while clients write.
func TestHubKilledUnderWrites(t *testing.T) {
	const rounds, perSecond = 20, 300
	s := newSite(t, hubConfig{})
	s.watchEverything(true)
	rng := rand.New(rand.NewPCG(seed(t), 20))
	l := startLoad(t, s.history, s.cloud, seed(t), perSecond, loadKinds...)
	for range rounds {
		l.awaitCount(50 + rng.Int64N(250))
		s.hub.kill()
		s.history.Restarted(s.cloud.name)
		s.hub.start()
	}
	l.stop()
	s.edge.awaitContact(true)
	s.settle(configMaps, pods)
	s.edge.alive()
}

// TestLinkCutsUnderWrites loses the link while objects change, disappear and come back.
func TestLinkCutsUnderWrites(t *testing.T) {
	const rounds, perSecond = 10, 300
	s := newSite(t, hubConfig{})
	s.watchEverything(true)
	lister := s.lister(configMaps)
	rng := rand.New(rand.NewPCG(seed(t), 10))
	l := startLoad(t, s.history, s.cloud, seed(t), perSecond, loadKinds...)
	for round := range rounds {
		l.awaitCount(20 + rng.Int64N(100))
		if round%2 == 0 {
			s.cut()
			s.history.Offline(s.local.name)
			probe(t, lister)
			l.awaitCount(100 + rng.Int64N(200))
			probe(t, lister)
			s.history.Online(s.local.name)
		} else {
			s.link.BlackHole()
			l.awaitCount(100 + rng.Int64N(200))
			s.link.Reset()
		}
		s.heal()
	}
	l.stop()
	lister.Close()
	s.settle(configMaps, pods)
	s.edge.kill()
	s.edge.check()
}

// TestEverythingFailsUnderWrites lets all of it go wrong at once.
func TestEverythingFailsUnderWrites(t *testing.T) {
	const rounds, perSecond = 15, 200
	s := newSite(t, hubConfig{})
	s.watchEverything(true)
	rng := rand.New(rand.NewPCG(seed(t), 15))
	l := startLoad(t, s.history, s.cloud, seed(t), perSecond, loadKinds...)
	for range rounds {
		l.awaitCount(rng.Int64N(100))
		switch rng.IntN(4) {
		case 0:
			s.restartEdge()
		case 1:
			s.hub.kill()
			s.history.Restarted(s.cloud.name)
			s.hub.start()
		case 2:
			s.link.Reset()
		case 3: // the edge comes up while the link is down
			s.link.Cut()
			s.restartEdge()
			l.awaitCount(50)
			s.link.Heal()
		}
	}
	l.stop()
	s.heal()
	s.settle(configMaps, pods)
	s.edge.kill()
	s.edge.check()
}

// TestNarrowWindowsUnderWrites has windows so small that everybody who is away falls out of them.
func TestNarrowWindowsUnderWrites(t *testing.T) {
	const rounds, perSecond = 15, 400
	s := newSite(t, hubConfig{
		args:     []string{"--window-events", "60"},
		edgeArgs: []string{"--window-events", "100"},
	})
	s.watchEverything(false)
	rng := rand.New(rand.NewPCG(seed(t), 60))
	l := startLoad(t, s.history, s.cloud, seed(t), perSecond, loadKinds...)
	b := s.browse(loadKinds[0])
	sleepy := s.watch(s.local, configMaps, guarantee.ReaderConfig{Name: "sleepy", Coalesced: true}, func(w *guarantee.Watcher) {
		w.Timeout = time.Second
		w.Between = l.awaitMore(1500) // a third of them reach the edge's configmaps: several windows full
	})
	for round := range rounds {
		l.awaitCount(rng.Int64N(100))
		switch round % 3 {
		case 0:
			s.link.Cut()
			l.awaitCount(200)
			s.link.Heal()
		case 1:
			s.edge.kill()
			s.history.Restarted(s.local.name)
			l.awaitCount(200)
			s.edge.start()
		case 2:
			s.hub.kill()
			s.history.Restarted(s.cloud.name)
			s.hub.start()
		}
		s.edge.awaitContact(true)
	}
	l.stop()
	b.done(t)
	s.settle(configMaps, pods)
	if _, lists := sleepy.Len(); lists < 2 {
		t.Errorf("the one who falls out of the window listed %d times", lists)
	}
	s.edge.kill()
	s.edge.check()
}

// TestStrictWatchersOfASteadyEdge demands every single version of an edge that loses nothing.
func TestStrictWatchersOfASteadyEdge(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.sources(configMaps, pods)
	for i := range 3 {
		for _, r := range []resource{configMaps, pods} {
			s.watch(s.local, r, guarantee.ReaderConfig{NeverExpires: true, Name: fmt.Sprintf("strict %s %d", r.name, i)}, func(w *guarantee.Watcher) {
				w.WatchList = i == 1
				if i == 2 {
					w.Timeout = 1e9 // a new stream every second
				}
			})
		}
	}
	l := startLoad(t, s.history, s.cloud, seed(t), 400, loadKinds...)
	browsers := []*browser{s.browse(loadKinds[0]), s.browse(loadKinds[1])}
	l.awaitCount(2000)
	l.stop()
	for _, b := range browsers {
		b.done(t)
	}
	s.settle(configMaps, pods)
}
