//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// Faults of being away that users met in systems of this kind.

func TestOfflineListOfEmptyResourceIsAnEmptyListWithItsRevision(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.cut()
	for _, again := range []string{"after the cut", "after a restart"} {
		got := s.local.get(t, secrets.path(""))
		l := parseList(t, got.body)
		if !bytes.Contains(got.body, []byte(`"items":[]`)) || l.Kind != "SecretList" || revisionOf(t, l) == 0 {
			t.Errorf("%s: %s", again, got.body)
		}
		if got.header.Get("Warning") == "" {
			t.Errorf("%s: the answer doesn't say that it may be behind", again)
		}
		s.restartEdge()
	}
}

func TestOfflineListOfCustomResourceAfterRestart(t *testing.T) {
	s := newSite(t, hubConfig{scopes: defaultScopes + "  - {group: ex.io, resource: widgets}\n"})
	s.cloud.create(t, definitions, "", widgetDefinition)
	eventually(t, func() error {
		got, err := s.cloud.do(t.Context(), "POST", widgets.path("default"), []byte(widget("default", "first", "red")))
		if err == nil && got.status != 201 {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		return err
	})
	for i := range 5 {
		s.cloud.create(t, widgets, "default", widget("default", fmt.Sprintf("w-%d", i), "blue"))
	}
	eventually(t, func() error {
		got, err := s.local.do(t.Context(), "GET", widgets.path(""), nil)
		if err == nil && (got.status != 200 || len(parseList(t, got.body).Items) != 6) {
			err = fmt.Errorf("%d %.500s", got.status, got.body)
		}
		return err
	})
	want := s.cloud.list(t, widgets.path(""))
	s.link.Cut()
	s.restartEdge()
	got := s.local.list(t, widgets.path(""))
	sameItems(t, "offline after a restart", got, want)
	if got.Kind != "WidgetList" {
		t.Errorf("kind %q", got.Kind)
	}
	for _, r := range []resource{configMaps, secrets, pods, nodes, namespaces} {
		sameItems(t, r.name, s.local.list(t, r.path("")), s.cloud.list(t, cloudPath(r)))
	}
}

func TestEdgeRestartKeepsWatchesResumable(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.sources(configMaps, pods)
	for _, r := range []resource{configMaps, pods} {
		s.watch(s.local, r, guarantee.ReaderConfig{NeverExpires: true}, nil)
	}
	l := startLoad(t, s.history, s.cloud, seed(t), 200, loadKinds...)
	l.awaitCount(200)
	l.stop()
	for _, w := range s.readers {
		await(t, w.CatchUp)
	}
	for range 3 {
		s.restartEdge()
	}
	s.edge.awaitContact(true)
	l = startLoad(t, s.history, s.cloud, seed(t)+1, 200, loadKinds...)
	l.awaitCount(100)
	l.stop()
	s.settle(configMaps, pods)
	for _, w := range s.readers[2:] {
		if _, lists := w.Len(); lists != 1 {
			t.Errorf("a watcher listed %d times", lists)
		}
	}
}

// away is a way for an edge to miss what happens.
type away struct {
	name        string
	leave, back func(s *site)
}

var aways = []away{
	{"link cut", (*site).cut, (*site).heal},
	{"edge down", func(s *site) { s.edge.kill() }, func(s *site) {
		s.history.Restarted(s.local.name)
		s.edge.start()
		s.edge.awaitContact(true)
	}},
	{"edge restarted while cut", func(s *site) {
		s.link.Cut()
		s.restartEdge()
	}, (*site).heal},
}

func TestDeletedWhileEdgeWasAwayDisappears(t *testing.T) {
	for _, a := range aways {
		t.Run(a.name, func(t *testing.T) {
			s := newSite(t, hubConfig{})
			keep := s.cloud.create(t, configMaps, "default", configMap("default", "keep", "a", "x"))
			gone := s.cloud.create(t, configMaps, "default", configMap("default", "gone", "a", "x"))
			s.awaitCount(configMaps, 2)
			position := s.awaitLevel(configMaps)
			a.leave(s)
			s.cloud.remove(t, configMaps, gone.Key)
			a.back(s)
			w := s.local.openWatch(t, watchFrom(configMaps, position))
			w.expect(guarantee.Deleted, gone.Key, gone.UID)
			if keys := s.local.list(t, configMaps.path("")).keys(t); len(keys) != 1 || keys[0] != keep.Key {
				t.Errorf("the edge lists %v", keys)
			}
		})
	}
}

func TestRecreatedWhileEdgeWasAwayIsDeletedAndAdded(t *testing.T) {
	for _, a := range aways {
		t.Run(a.name, func(t *testing.T) {
			s := newSite(t, hubConfig{})
			before := s.cloud.create(t, configMaps, "default", configMap("default", "same", "a", "old"))
			s.awaitCount(configMaps, 1)
			position := s.awaitLevel(configMaps)
			a.leave(s)
			for range 2 { // the one in between is never seen at the edge
				s.cloud.remove(t, configMaps, before.Key)
				s.cloud.create(t, configMaps, "default", configMap("default", "same", "a", "between"))
			}
			s.cloud.remove(t, configMaps, before.Key)
			after := s.cloud.create(t, configMaps, "default", configMap("default", "same", "a", "new"))
			a.back(s)
			eventually(t, func() error {
				if got := s.local.get(t, configMaps.object(after.Key)); string(bytes.TrimSpace(got.body)) != after.Body {
					return fmt.Errorf("got %s, want %s", got.body, after.Body)
				}
				return nil
			})
			checkRecreation(t, s, position, before, after)
		})
	}
}

// checkRecreation reads a watch from before: whatever is shown of the objects in between, each goes before the next comes.
func checkRecreation(t *testing.T, s *site, position uint64, before, after guarantee.Object) {
	t.Helper()
	w := s.local.openWatch(t, watchFrom(configMaps, position))
	live := before.UID
	for live != after.UID {
		typ, o := w.next()
		switch {
		case o.Key != before.Key:
			t.Fatalf("%s of another key: %s", typ, o)
		case typ == guarantee.Deleted && o.UID == live:
			live = ""
		case typ == guarantee.Added && live == "":
			live = o.UID
		default:
			t.Fatalf("%s %s while uid %q is there", typ, o, live)
		}
	}
	keys := s.local.list(t, configMaps.path("")).keys(t)
	if len(keys) != 1 {
		t.Errorf("the edge lists %v", keys)
	}
}

func TestPositionIsStoredNotDerivedFromSurvivors(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.cloud.create(t, configMaps, "default", configMap("default", "old", "a", "x"))
	newest := s.cloud.create(t, configMaps, "default", configMap("default", "newest", "a", "x"))
	s.awaitCount(configMaps, 2)
	s.cloud.remove(t, configMaps, newest.Key)
	s.awaitCount(configMaps, 1)
	position := s.awaitLevel(configMaps)
	s.link.Cut()
	s.restartEdge()
	if at := revisionOf(t, s.local.list(t, configMaps.path(""))); at < position {
		t.Errorf("the edge restarts at %d, it was at %d", at, position)
	}
	s.heal()
	next := s.cloud.create(t, configMaps, "default", configMap("default", "next", "a", "x"))
	s.local.openWatch(t, watchFrom(configMaps, position)).expect(guarantee.Added, next.Key, next.UID)
}

func TestNewObjectsArriveAfterHubRestart(t *testing.T) {
	s := newSite(t, hubConfig{})
	s.fill(50, 10)
	w := s.watch(s.local, configMaps, guarantee.ReaderConfig{NeverExpires: true}, nil)
	for i, restart := range []func(){s.hub.kill, s.hub.stop} {
		restart()
		s.hub.start()
		created := s.cloud.create(t, configMaps, "default", configMap("default", fmt.Sprintf("new-%d", i), "a", "x"))
		eventually(t, func() error {
			got, err := s.local.do(t.Context(), "GET", configMaps.object(created.Key), nil)
			if err == nil && got.status != 200 {
				err = fmt.Errorf("%d", got.status)
			}
			return err
		})
	}
	sameItems(t, "after the restarts", s.local.list(t, configMaps.path("")), s.cloud.list(t, configMaps.path("default")))
	if events, lists := w.Len(); events > 2 || lists != 1 {
		t.Errorf("the watcher saw %d events and listed %d times: something was taken away", events, lists)
	}
}
