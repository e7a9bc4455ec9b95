package litesrv

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// bookmark returns a bookmark frame of configmaps.
func bookmark(rev uint64, initial bool) string {
	more := ""
	if initial {
		more = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	return frame("BOOKMARK", fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"%d"%s}}`, rev, more))
}

func cm(ns, name string, rev uint64) string { return thing{ns: ns, name: name}.json(configmaps, rev) }

func TestWatchByTheTable(t *testing.T) {
	const watch = "/api/v1/namespaces/t1/configmaps?watch=1"
	objects := []string{frame("ADDED", cm("t1", "c1", 102)), frame("ADDED", cm("t1", "c3", 101)), frame("ADDED", cm("t1", "c4", 104))}
	from102 := []string{frame("DELETED", cm("t1", "c2", 103)), frame("ADDED", cm("t1", "c4", 104))}
	initial := strings.Join(objects, "")
	events := strings.Join(from102, "")
	for _, c := range []struct{ query, at string }{
		{"", initial},
		{"&resourceVersion=0", initial},
		{"&allowWatchBookmarks=true", initial + bookmark(105, true)}, // owed since the legacy form is a watch list, too
		{"&resourceVersion=0&allowWatchBookmarks=1", initial + bookmark(105, true)},
		{"&resourceVersion=102", events},
		{"&resourceVersion=102&allowWatchBookmarks=true", events},
		{"&resourceVersion=105", ""},
		{"&resourceVersion=100", frame("ADDED", cm("t1", "c3", 101)) + frame("MODIFIED", cm("t1", "c1", 102)) + events},
		{"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", initial},
		{"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks", initial + bookmark(105, true)},
		{"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=0", initial + bookmark(105, true)},
		{"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&resourceVersion=102", initial + bookmark(105, true)},
		{"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true&labelSelector=no", bookmark(105, true)},
		{"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", ""},
		{"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=0", ""},
		{"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=102", events},
		{"&resourceVersion=102&limit=1&continue=garbage&timeout=garbage&pretty=1", events},
		{"&fieldSelector=metadata.name%3Dc4", frame("ADDED", cm("t1", "c4", 104))},
	} {
		synctest.Test(t, func(t *testing.T) {
			w, l := changed(t, configmaps)
			watcher := open(t, w.server(), watch+c.query, false)
			defer watcher.leave()
			watcher.wants(c.query, c.at)
			if watcher.status() != 200 || watcher.header.Get("Content-Type") != "application/json" || watcher.ended() {
				t.Errorf("%s: %d %v", c.query, watcher.status(), watcher.header)
			}
			// Whatever came first, the changes behind it come next, each once.
			rev := w.write(l, thing{ns: "t1", name: "c4"})
			w.write(l, thing{ns: "t2", name: "c4"})
			live := frame("MODIFIED", cm("t1", "c4", rev))
			if strings.Contains(c.query, "labelSelector=no") {
				live = ""
			}
			watcher.wants(c.query+", live", live)
		})
	}
}

func TestWatchSpellings(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps, thing{ns: "t1", name: "c1"}, thing{ns: "t1", name: "c2"})
	w.load(namespaces, thing{name: "t1"}, thing{name: "t2"})
	w.load(widgets, thing{ns: "t1", name: "c1"})
	s := w.server()
	added := func(name string) string { return frame("ADDED", cm("t1", name, 100)) }
	widget := frame("ADDED", thing{ns: "t1", name: "c1"}.json(widgets, 100))
	for path, body := range map[string]string{
		"/api/v1/namespaces/t1/configmaps?watch":                          added("c1") + added("c2"),
		"/api/v1/namespaces/t1/configmaps?watch=":                         added("c1") + added("c2"),
		"/api/v1/namespaces/t1/configmaps?watch=True":                     added("c1") + added("c2"),
		"/api/v1/namespaces/t1/configmaps?watch=abc":                      added("c1") + added("c2"),
		"/api/v1/watch/namespaces/t1/configmaps":                          added("c1") + added("c2"),
		"/api/v1/watch/configmaps":                                        added("c1") + added("c2"),
		"/api/v1/watch/namespaces/t1/configmaps/c1":                       added("c1"),
		"/api/v1/watch/namespaces/t1":                                     frame("ADDED", thing{name: "t1"}.json(namespaces, 100)),
		"/apis/ex.io/v1/watch/namespaces/t1/widgets/c1":                   widget,
		"/apis/ex.io/v1/watch/widgets":                                    widget,
		"/apis/ex.io/v1/widgets?watch=1&fieldSelector=metadata.name%3Dno": "",
	} {
		synctest.Test(t, func(t *testing.T) {
			watcher := open(t, s, path, false)
			defer watcher.leave()
			watcher.wants(path, body)
		})
	}
	want(t, get(t, s, "/api/v1/watch/namespaces/t1/configmaps/c1?fieldSelector=metadata.name%3Dc2"), 400,
		failure(400, "BadRequest", "fieldSelector metadata.name doesn't match requested name", ""))
}

func TestWatchOfWhatCanNotBe(t *testing.T) {
	future := errorFrame(failure(504, "Timeout", "Timeout: Too large resource version: 110, current: 105", futureStatus))
	synctest.Test(t, func(t *testing.T) {
		w, l := changed(t, configmaps)
		s := w.server()
		const list = "/api/v1/configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=110"
		watcher := open(t, s, list, false)
		if watcher.status() != 0 {
			t.Error("the header did not wait for the revision")
		}
		time.Sleep(3 * time.Second)
		watcher.wants("a watch list of the future", future)
		if watcher.status() != 200 || !watcher.ended() {
			t.Errorf("%d", watcher.status())
		}
		// The same arrives in time.
		watcher = open(t, s, list+"&allowWatchBookmarks=1&fieldSelector=metadata.name%3Dc4", false)
		defer watcher.leave()
		time.Sleep(time.Second)
		w.commit(l, watchlog.Batch{Rev: 111})
		watcher.wants("a watch list that is reached", frame("ADDED", cm("t1", "c4", 104)), bookmark(111, true))
	})
	synctest.Test(t, func(t *testing.T) {
		w, l := changed(t, configmaps)
		watcher := open(t, w.server(), "/api/v1/configmaps?watch=1&resourceVersion=107", false)
		defer watcher.leave()
		if watcher.status() != 200 {
			t.Error("the header of a plain watch waits")
		}
		w.write(l, thing{ns: "t1", name: "c6"})
		w.write(l, thing{ns: "t1", name: "c7"})
		w.write(l, thing{ns: "t1", name: "c8"})
		watcher.wants("a plain watch of the future is silent until then", frame("ADDED", cm("t1", "c8", 108)))
	})
	synctest.Test(t, func(t *testing.T) {
		w := compacted(t, configmaps)
		w.load(coreEvents)
		s := w.server()
		watcher := open(t, s, "/api/v1/configmaps?watch=1&resourceVersion=100", false)
		watcher.wants("a watch of the past", errorFrame(failure(410, "Expired", "too old resource version: 100 (101)", "")))
		if watcher.status() != 200 || !watcher.ended() {
			t.Errorf("%d", watcher.status())
		}
		watcher = open(t, s, "/api/v1/events?watch=1&resourceVersion=100", false)
		watcher.wants("a watch of the past of events", errorFrame(failure(410, "Expired", expiredWatch, "")))
		watcher = open(t, s, "/api/v1/configmaps?watch=1&resourceVersion=101", false)
		defer watcher.leave()
		watcher.wants("the oldest watch there is", frame("ADDED", cm("t1", "c4", 102)))
	})
}

func TestSelectorTransitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(pods)
		s := w.server()
		byLabel := open(t, s, "/api/v1/pods?watch=1&resourceVersion=100&labelSelector=app%3Da", false)
		byNode := open(t, s, "/api/v1/pods?watch=1&resourceVersion=100&fieldSelector=spec.nodeName%3Dn1", false)
		byBoth := open(t, s, "/api/v1/namespaces/t1/pods?watch=1&resourceVersion=100&fieldSelector=spec.nodeName%3Dn1&labelSelector=app%21%3Db", false)
		all := open(t, s, "/api/v1/pods?watch=1&resourceVersion=100", false)
		for _, x := range []*watcher{byLabel, byNode, byBoth, all} {
			defer x.leave()
		}
		pod := func(app, node string) thing {
			return thing{"t1", "p", `"app":"` + app + `"`, `,"spec":{"nodeName":"` + node + `"}`}
		}
		now := func(x thing, rev uint64) string { return x.json(pods, rev) }

		rev := w.write(l, pod("b", "")) // no → no for the selectors
		all.wants("created", frame("ADDED", now(pod("b", ""), rev)))
		rev = w.write(l, pod("a", "")) // no → yes by label
		byLabel.wants("begins to match", frame("ADDED", now(pod("a", ""), rev)))
		all.wants("updated", frame("MODIFIED", now(pod("a", ""), rev)))
		rev = w.write(l, pod("a", "n1")) // yes → yes by label, no → yes by node
		byLabel.wants("matches on", frame("MODIFIED", now(pod("a", "n1"), rev)))
		byNode.wants("bound", frame("ADDED", now(pod("a", "n1"), rev)))
		byBoth.wants("bound", frame("ADDED", now(pod("a", "n1"), rev)))
		all.wants("bound", frame("MODIFIED", now(pod("a", "n1"), rev)))
		rev = w.write(l, pod("b", "n1")) // yes → no by label: the previous object at the new revision
		byLabel.wants("matches no more", frame("DELETED", now(pod("a", "n1"), rev)))
		byNode.wants("matches on", frame("MODIFIED", now(pod("b", "n1"), rev)))
		byBoth.wants("matches no more", frame("DELETED", now(pod("a", "n1"), rev)))
		all.next()
		rev = w.remove(l, "t1/p") // deleted while the label does not match
		byLabel.wants("deleted unseen")
		byNode.wants("deleted", frame("DELETED", now(pod("b", "n1"), rev)))
		byBoth.wants("deleted unseen")
		all.wants("deleted", frame("DELETED", now(pod("b", "n1"), rev)))
	})
}

func TestInitialEventsAreInKeyOrderWithTheirOwnRevisions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps, thing{ns: "dt", name: "x"}, thing{ns: "dt-a", name: "x"})
		w.write(l, thing{ns: "dt", name: "a"})
		watcher := open(t, w.server(), "/api/v1/configmaps?watch=1&allowWatchBookmarks=1", false)
		defer watcher.leave()
		watcher.wants("initial events", frame("ADDED", cm("dt-a", "x", 100)), frame("ADDED", cm("dt", "a", 101)),
			frame("ADDED", cm("dt", "x", 100)), bookmark(101, true))
	})
}

func TestBookmarks(t *testing.T) {
	const watch = "/api/v1/configmaps?watch=1&resourceVersion=100&allowWatchBookmarks=true"
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		watcher := open(t, w.server(), watch+"&timeoutSeconds=300", false)
		defer watcher.leave()
		rev := w.bookmark(l) // progress alone wakes nobody
		watcher.wants("progress")
		time.Sleep(bookmarkEvery - bookmarkEarly - time.Second)
		watcher.wants("too early for a bookmark")
		time.Sleep(bookmarkEarly + time.Second)
		watcher.wants("after a minute", bookmark(rev, false))
		rev = w.write(l, thing{ns: "t1", name: "c1"})
		watcher.wants("an event", frame("ADDED", cm("t1", "c1", rev)))
		time.Sleep(bookmarkEvery)
		watcher.wants("after another minute", bookmark(rev, false))
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		watcher := open(t, w.server(), watch+"&timeoutSeconds=12", false)
		w.bookmark(l)
		time.Sleep(10*time.Second - time.Millisecond)
		watcher.wants("not yet")
		time.Sleep(time.Millisecond)
		watcher.wants("two seconds before the end", bookmark(101, false))
		time.Sleep(2*time.Second - time.Millisecond)
		if watcher.ended() {
			t.Error("ended early")
		}
		time.Sleep(time.Millisecond)
		watcher.wants("the end")
		if !watcher.ended() {
			t.Error("not ended")
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		watcher := open(t, w.server(), "/api/v1/configmaps?watch=1&resourceVersion=100", false)
		defer watcher.leave()
		w.bookmark(l)
		time.Sleep(10 * time.Minute)
		watcher.wants("a client that takes no bookmarks")
	})
}

// TestBookmarksFollowWhatCanNotBeResumed is about events whose revision does not say where the client is.
func TestBookmarksFollowWhatCanNotBeResumed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps, thing{ns: "t1", name: "gone"})
		s := w.server()
		watcher := open(t, s, "/api/v1/configmaps?watch=1&resourceVersion=100&allowWatchBookmarks=true", false)
		defer watcher.leave()
		plain := open(t, s, "/api/v1/configmaps?watch=1&resourceVersion=100", false)
		defer plain.leave()
		// A catch-up: what happened between 100 and 120 is not known event by event.
		o := w.decode(l, cm("t1", "c1", 110))
		w.commit(l, l.Snapshot().PlanCatchup([]watchlog.Op{{Key: "t1/c1", Rev: 110, Object: o}, {Key: "t1/gone"}}, 120))
		events := []string{frame("ADDED", cm("t1", "c1", 110)), frame("DELETED", cm("t1", "gone", 120))}
		watcher.wants("a catch-up", append(events, bookmark(120, false))...)
		plain.wants("a catch-up", events...)
		// An object that enters the view keeps its own, older revision.
		o = w.decode(l, cm("t1", "old", 50))
		w.commit(l, watchlog.Batch{Rev: 130, Events: []*watchlog.Event{{Rev: 130, Shown: 50, Type: watchlog.Added, Object: o}}})
		watcher.wants("an object that entered the view", frame("ADDED", cm("t1", "old", 50)), bookmark(130, false))
		// An ordinary event says where the client is.
		o = w.decode(l, cm("t1", "new", 131))
		w.commit(l, l.Snapshot().Plan([]watchlog.Op{{Key: "t1/new", Rev: 131, Object: o}}, 131))
		watcher.wants("an ordinary event", frame("ADDED", cm("t1", "new", 131)))
	})
}

// TestNoBookmarkFromInsideAGap reads a gap that is longer than a page.
func TestNoBookmarkFromInsideAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		watcher := open(t, w.server(), "/api/v1/configmaps?watch=1&resourceVersion=100&allowWatchBookmarks=true", false)
		defer watcher.leave()
		var ops []watchlog.Op
		var frames []string
		for i := range uint64(3 * eventsAtOnce) {
			o := w.decode(l, cm("t1", fmt.Sprintf("c%d", i), 101+i))
			ops = append(ops, watchlog.Op{Key: o.Key(), Rev: 101 + i, Object: o})
			frames = append(frames, frame("ADDED", string(o.JSON())))
		}
		w.commit(l, l.Snapshot().PlanCatchup(ops, 1000))
		watcher.wants("a long catch-up", append(frames, bookmark(1000, false))...)
	})
}

func TestTheEndOfAWatch(t *testing.T) {
	const watch = "/api/v1/configmaps?watch=1&resourceVersion=100"
	for query, length := range map[string][2]time.Duration{
		"":                                 {minWatch, 2 * minWatch},
		"&timeoutSeconds=0":                {minWatch, 2 * minWatch},
		"&timeoutSeconds=4":                {4 * time.Second, 4 * time.Second},
		"&timeoutSeconds=-5":               {0, 0},
		"&timeoutSeconds=9000000000000000": {longestWatch, longestWatch},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 100)
			w.load(configmaps)
			start := time.Now()
			watcher := open(t, w.server(), watch+query, false)
			<-watcher.done
			if took := time.Since(start); took < length[0] || took > length[1] {
				t.Errorf("%q: ended after %v", query, took)
			}
			watcher.wants("a clean end")
			if watcher.status() != http.StatusOK {
				t.Errorf("%q: %d", query, watcher.status())
			}
		})
	}
}

func TestTheEndOfTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		watcher := open(t, w.server(), "/api/v1/configmaps?watch=1&resourceVersion=100", false)
		w.write(l, thing{ns: "t1", name: "c1"})
		l.Close(nil)
		watcher.wants("what was before the end", frame("ADDED", cm("t1", "c1", 101)))
		if !watcher.ended() {
			t.Error("the watch of a resource that is gone goes on")
		}
	})
}

func TestTwoWatchesAreIndependent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		s := w.server()
		const watch = "/api/v1/configmaps?watch=1&resourceVersion=100"
		a, b := open(t, s, watch, false), open(t, s, watch, false)
		defer b.leave()
		w.write(l, thing{ns: "t1", name: "c1"})
		a.wants("both", frame("ADDED", cm("t1", "c1", 101)))
		b.wants("both", frame("ADDED", cm("t1", "c1", 101)))
		a.leave()
		w.write(l, thing{ns: "t1", name: "c2"})
		b.wants("the one that is left", frame("ADDED", cm("t1", "c2", 102)))
		a.wants("the one that has left")
	})
}

func TestAStuckClientCostsOnlyItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		s := w.server()
		const watch = "/api/v1/configmaps?watch=1&resourceVersion=100&timeoutSeconds=3000"
		stuck, well := open(t, s, watch, true), open(t, s, watch, false)
		defer well.leave()
		start := time.Now()
		for i := range 1000 {
			rev := w.write(l, thing{ns: "t1", name: fmt.Sprintf("c%d", i)})
			well.wants("the others", frame("ADDED", cm("t1", fmt.Sprintf("c%d", i), rev)))
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("the others were held up for %v", took)
		}
		<-stuck.done
		if took := time.Since(start); took != outletPatience {
			t.Errorf("the stuck one was given up after %v", took)
		}
		if stuck.writes != 1 {
			t.Errorf("%d writes to it", stuck.writes)
		}
	})
}

// TestTheWriteDeadlineIsOffWhileNothingIsWritten matters for HTTP/2, where a deadline ends an idle stream.
func TestTheWriteDeadlineIsOffWhileNothingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		watcher := open(t, w.server(), "/api/v1/configmaps?watch=1&resourceVersion=100&timeoutSeconds=100000", false)
		defer watcher.leave()
		if len(watcher.armed()) != 0 {
			t.Error("a deadline for nothing")
		}
		first := time.Now()
		for range 10 { // ten writes in quick succession set one deadline
			w.write(l, thing{ns: "t1", name: "c1"})
			synctest.Wait()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		d := watcher.armed()
		if len(d) != 2 || !d[0].Equal(first.Add(outletPatience)) || !d[1].IsZero() {
			t.Errorf("deadlines %v from %v", d, first)
		}
		w.write(l, thing{ns: "t1", name: "c1"})
		synctest.Wait()
		if d = watcher.armed(); len(d) != 3 || !d[2].Equal(time.Now().Add(outletPatience)) {
			t.Errorf("deadlines %v", d)
		}
	})
}

func TestAReaderThatFallsOffTheWindowIsToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.loadWindow(configmaps, watchlog.Config{MaxEvents: 10})
		watcher := open(t, w.server(), "/api/v1/configmaps?watch=1&resourceVersion=100", false)
		// All in one step, so that the watch can't follow.
		var ops []watchlog.Op
		for range 50 {
			rev := w.next()
			ops = append(ops, watchlog.Op{Key: "t1/c1", Rev: rev, Object: w.decode(l, cm("t1", "c1", rev))})
		}
		w.commit(l, l.Snapshot().Plan(ops, w.now()))
		watcher.wants("a reader that is left behind", errorFrame(failure(410, "Expired", "too old resource version: 100 (140)", "")))
		if !watcher.ended() {
			t.Error("the watch goes on")
		}
	})
}

func TestFramesAreFlushedWhenNoneFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		watcher := open(t, w.server(), "/api/v1/configmaps?watch=1&resourceVersion=100", false)
		defer watcher.leave()
		var ops []watchlog.Op
		for i := range 3 * eventsAtOnce {
			rev := w.next()
			x := thing{ns: "t1", name: fmt.Sprintf("c%d", i), rest: `,"data":{"x":"` + strings.Repeat("x", 1000) + `"}`}
			ops = append(ops, watchlog.Op{Key: "t1/" + x.name, Rev: rev, Object: w.decode(l, x.json(configmaps, rev))})
		}
		w.commit(l, l.Snapshot().Plan(ops, w.now()))
		if n := strings.Count(watcher.next(), "\n"); n != len(ops) {
			t.Errorf("%d frames of %d", n, len(ops))
		}
		if watcher.writes > 10 {
			t.Errorf("%d writes for 200 kB", watcher.writes)
		}
	})
}

func TestABookmarkNeedsAPlaceToResumeFrom(t *testing.T) {
	s := &stream{bookmarks: true, inside: true, pos: 110, res: configmaps, frames: framer{res: configmaps}}
	s.bookmark(time.Now())
	if s.out.buf != nil {
		t.Errorf("inside a gap: %s", *s.out.buf)
	}
	s.inside = false
	s.bookmark(time.Now())
	if got := string(*s.out.buf); got != bookmark(110, false) {
		t.Errorf("behind it: %s", got)
	}
	s.out.release()
}

func TestAnIdleStreamHoldsNoBuffer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps)
		s := w.server()
		q := &read{r: httptest.NewRequest(http.MethodGet, "/", nil), log: l, res: configmaps}
		client := &watcher{t: t, header: http.Header{}}
		q.w = client
		st := newStream(s, q, time.Now().Add(time.Hour), true)
		sel := selection{res: configmaps}
		st.sel = &sel
		st.open(representation{})
		var err error
		if st.reader, err = l.NewReader(100, st.wake); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			st.run(ctx)
			close(done)
		}()
		w.write(l, thing{ns: "t1", name: "c1"})
		client.wants("an event", frame("ADDED", cm("t1", "c1", 101)))
		if st.out.buf != nil || st.events[0] != nil { // the stream is at rest
			t.Error("an idle stream holds a buffer or an event")
		}
		cancel()
		<-done
		st.close()
	})
}
