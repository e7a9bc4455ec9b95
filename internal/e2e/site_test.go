//go:build e2e

package e2e

import (
	"context"
	"strconv"
	"sync"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/link"
	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// site is a cloud with a hub, an edge, a link between the two, and the history of all.
type site struct {
	t       testing.TB
	history *guarantee.History
	hub     *hub
	link    *link.Link // between hub and edge
	edge    *edge
	cloud   *api // a kube-apiserver's, or what the hub serves
	local   *api // what the edge serves
	readers []*guarantee.Watcher
	stops   []func() // of the readers
}

// newSite starts an embedded cloud and an edge.
func newSite(t testing.TB, cfg hubConfig) *site {
	t.Helper()
	h := newHub(t, cfg)
	h.start()
	return joinSite(t, h, newAPI(t, "cloud", h.api), cfg.edgeArgs...)
}

// joinSite starts an edge for a hub that runs, and waits until it follows the cloud.
func joinSite(t testing.TB, h *hub, cloud *api, edgeArgs ...string) *site {
	t.Helper()
	s := &site{t: t, history: guarantee.NewHistory(), hub: h, cloud: cloud, link: newLink(t, h.sync)}
	s.edge = newEdge(t, "edge-1", edgeArgs, s.link.Addr)
	s.edge.start()
	s.local = newAPI(t, "edge", s.edge.url)
	s.edge.awaitContact(true)
	return s
}

func newLink(t testing.TB, target string) *link.Link {
	t.Helper()
	l, err := link.New(target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// inScope is what defaultScopes let an edge hold of a resource.
func inScope(r resource) guarantee.Match {
	switch r.name {
	case pods.name:
		return guarantee.HasField("spec.nodeName", "node-1")
	case configMaps.name, secrets.name:
		return guarantee.InNamespace("default")
	default:
		return nil
	}
}

// watch starts a watcher; setup may change it first. The end of the test stops it.
func (s *site) watch(a *api, r resource, cfg guarantee.ReaderConfig, setup func(w *guarantee.Watcher)) *guarantee.Watcher {
	cfg.Server, cfg.Resource = a.name, r.name
	if cfg.Name == "" {
		cfg.Name = a.name + " " + r.name + " " + strconv.Itoa(len(s.readers))
	}
	if !cfg.Source && cfg.Match == nil {
		cfg.Match = inScope(r)
	}
	w := guarantee.NewWatcher(s.history, cfg, a.target(r, nil))
	if setup != nil {
		setup(w)
	}
	stop := sync.OnceFunc(w.Start(s.t.Context()))
	s.t.Cleanup(stop)
	s.readers, s.stops = append(s.readers, w), append(s.stops, stop)
	return w
}

// sources starts readers of the cloud itself, and waits until they have listed.
func (s *site) sources(resources ...resource) {
	s.t.Helper()
	for _, r := range resources {
		w := s.watch(s.cloud, r, guarantee.ReaderConfig{Name: "source of " + r.name, Source: true}, nil)
		await(s.t, w.CatchUp)
	}
}

// await runs a wait with a bound.
func await(t testing.TB, wait func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := wait(ctx); err != nil {
		t.Fatal(err)
	}
}

// settle waits until every reader has the cloud's state, and judges all that happened.
func (s *site) settle(resources ...resource) {
	s.t.Helper()
	s.catchUp()
	for _, r := range resources {
		if err := sameItemsWithin(s.t, s.local, r.path(""), s.cloud, cloudPath(r)); err != nil {
			s.t.Error(err)
		}
	}
	s.judge()
}

// catchUp waits for every reader, the sources first. One that never gets there is judged like the others.
func (s *site) catchUp() {
	s.t.Helper()
	for _, w := range s.readers {
		ctx, cancel := context.WithTimeout(s.t.Context(), patience)
		if err := w.CatchUp(ctx); err != nil {
			s.t.Error(err)
		}
		cancel()
	}
}

// judge ends the readers, of which every one must have seen something, and judges all that happened.
func (s *site) judge() {
	s.t.Helper()
	for i, stop := range s.stops {
		stop()
		events, lists := s.readers[i].Len()
		s.t.Logf("%s: %d events, %d lists", s.readers[i].Name(), events, lists)
		if events == 0 {
			s.t.Errorf("%s saw no event", s.readers[i].Name())
		}
	}
	s.history.Settle(s.revision())
	s.history.Require(s.t)
}

// cloudPath is the list of the cloud that holds what defaultScopes let an edge hold.
func cloudPath(r resource) string {
	switch r.name {
	case pods.name:
		return r.path("") + "?fieldSelector=spec.nodeName%3Dnode-1"
	case configMaps.name, secrets.name:
		return r.path("default")
	default:
		return r.path("")
	}
}

// revision is that of the cloud now.
func (s *site) revision() uint64 {
	s.t.Helper()
	return revisionOf(s.t, s.cloud.list(s.t, configMaps.path("default")+"?limit=1"))
}

func revisionOf(t testing.TB, l listed) uint64 {
	t.Helper()
	rv, err := strconv.ParseUint(l.Metadata.ResourceVersion, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return rv
}

// cut breaks the link and waits until the edge knows.
func (s *site) cut() {
	s.t.Helper()
	s.link.Cut()
	s.edge.awaitContact(false)
}

// heal mends the link and waits until the edge follows the cloud again.
func (s *site) heal() {
	s.t.Helper()
	s.link.Heal()
	s.edge.awaitContact(true)
}

// restartEdge kills the edge, verifies what it left, and starts it again.
func (s *site) restartEdge() {
	s.t.Helper()
	s.edge.kill()
	s.history.Restarted(s.local.name)
	s.edge.check()
	s.edge.start()
}

// lister registers a reader of the edge that lists when told to.
func (s *site) lister(r resource) *guarantee.Lister {
	return guarantee.NewLister(s.history, guarantee.ReaderConfig{
		Name: "lister of " + r.name, Server: s.local.name, Resource: r.name, Match: inScope(r),
	}, s.local.target(r, nil))
}

// getter registers a reader of single objects of the edge. Those outside its scope it has from the cloud.
func (s *site) getter(r resource) *guarantee.Lister {
	return guarantee.NewLister(s.history, guarantee.ReaderConfig{
		Name: "getter of " + r.name, Server: s.local.name, Resource: r.name,
	}, s.local.target(r, nil))
}
