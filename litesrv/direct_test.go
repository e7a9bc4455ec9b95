package litesrv

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// groupEvents are the same events in their other group.
var groupEvents = &watchlog.Resource{
	Group: "events.k8s.io", Version: "v1", Name: "events", Kind: "Event", ListKind: "EventList", Namespaced: true,
}

// directResources are the resources that kube-apiserver reads from etcd, with where they are listed.
var directResources = map[string]*watchlog.Resource{
	"/api/v1/namespaces/t1/events":                coreEvents,
	"/apis/events.k8s.io/v1/namespaces/t1/events": groupEvents,
}

const tooLargeCauses = `{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}`

func TestAFutureRevisionOfEventsIsRefusedAtOnce(t *testing.T) {
	for path, r := range directResources {
		synctest.Test(t, func(t *testing.T) {
			w, _ := changed(t, r)
			s := w.server()
			start := time.Now()
			for _, query := range []string{
				"?resourceVersion=110", "?resourceVersion=110&resourceVersionMatch=Exact", "?resourceVersion=110&resourceVersionMatch=NotOlderThan",
				"?resourceVersion=110&limit=2", "?continue=" + token(110, "c1\x00"), "/c1?resourceVersion=110",
			} {
				answer := get(t, s, path+query)
				want(t, answer, 504, failure(504, "Timeout", "Timeout: Too large resource version: 110, current: 105", tooLargeCauses))
				if h := answer.Header().Get("Retry-After"); h != "" {
					t.Errorf("%s: Retry-After %s", query, h)
				}
			}
			watcher := open(t, s, path+"?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=110", false)
			watcher.wants("a watch list", errorFrame(failure(504, "Timeout", "Timeout: Too large resource version: 110, current: 105", futureStatus)))
			if took := time.Since(start); took != 0 || !watcher.ended() {
				t.Errorf("took %v", took)
			}
			plain := open(t, s, path+"?watch=1&resourceVersion=110", false)
			defer plain.leave()
			if plain.wants("a plain watch"); plain.status() != http.StatusOK {
				t.Errorf("a plain watch: %d", plain.status())
			}
		})
	}
}

func TestWatchesOfEventsGetOnlyTheMarkingBookmark(t *testing.T) {
	for path, r := range directResources {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 100)
			l := w.load(r)
			watcher := open(t, w.server(), path+"?watch=1&allowWatchBookmarks=1&timeoutSeconds=600", false)
			if got := watcher.next(); !strings.Contains(got, "initial-events-end") {
				t.Errorf("got %q", got)
			}
			time.Sleep(9 * time.Minute)
			rev := w.write(l, thing{ns: "t1", name: "e"})
			watcher.wants("an event", frame("ADDED", thing{ns: "t1", name: "e"}.json(r, rev)))
			time.Sleep(time.Minute)
			watcher.wants("the end")
			if !watcher.ended() {
				t.Error("the watch goes on")
			}
		})
	}
}

// TestRevisionsThatEtcdTakesForNegativeOnes is about events, which kube-apiserver asks etcd for.
func TestRevisionsThatEtcdTakesForNegativeOnes(t *testing.T) {
	const (
		last   = "9223372036854775807"
		first  = "9223372036854775808"
		most   = "18446744073709551615"
		beyond = "18446744073709551616"
	)
	outOfRange := `resourceVersion: Invalid value: "` + beyond + `": strconv.ParseUint: parsing "` + beyond + `": value out of range`
	future := func(rev string) string {
		return failure(504, "Timeout", "Timeout: Too large resource version: "+rev+", current: 105", tooLargeCauses)
	}
	etcd := func(rev string) string {
		return failure(500, "", "etcd returned revision 105 for a list read at revision "+rev, "")
	}
	for path, r := range directResources {
		w, _ := changed(t, r)
		s := w.server()
		for _, c := range []struct {
			query string
			code  int
			body  string
		}{
			{"?resourceVersion=" + last, 504, future(last)},
			{"?resourceVersion=" + last + "&resourceVersionMatch=Exact", 504, future(last)},
			{"?resourceVersion=" + first, 504, future(first)},
			{"?resourceVersion=" + first + "&resourceVersionMatch=Exact", 500, etcd("-9223372036854775808")},
			{"?resourceVersion=" + most + "&resourceVersionMatch=Exact", 500, etcd("-1")},
			{"?resourceVersion=" + most + "&limit=2", 500, etcd("-1")},
			{"?resourceVersion=" + most + "&resourceVersionMatch=NotOlderThan", 504, future(most)},
			{"/c1?resourceVersion=" + most, 504, future(most)},
			{"?resourceVersion=" + beyond, 400, failure(400, "BadRequest", "invalid resource version: "+outOfRange, "")},
			{"/c1?resourceVersion=" + beyond, 400, failure(400, "BadRequest", "invalid resource version: "+outOfRange, "")},
			{"?watch=1&resourceVersion=" + beyond, 500, failure(500, "", outOfRange, "")},
			{"?watch=1&resourceVersion=" + last, 200, errorFrame(failure(410, "Expired", expiredWatch, ""))},
			{"?watch=1&resourceVersion=" + most, 200, errorFrame(failure(410, "Expired", expiredWatch, ""))},
		} {
			want(t, get(t, s, path+c.query), c.code, c.body)
		}
		synctest.Test(t, func(t *testing.T) {
			watcher := open(t, s, path+"?watch=1&sendInitialEvents=true&allowWatchBookmarks=1&resourceVersionMatch=NotOlderThan&resourceVersion="+most, false)
			defer watcher.leave()
			if got := watcher.next(); strings.Count(got, "ADDED") != 3 || !strings.Contains(got, "initial-events-end") {
				t.Errorf("got %q", got)
			}
		})
	}
}

func TestTheLimitOfEventsCountsAtAnyRevision(t *testing.T) {
	for path, r := range directResources {
		w, _ := changed(t, r)
		answer := get(t, w.server(), path+"?limit=1&resourceVersion=0").Body.String()
		if !strings.Contains(answer, `"continue":"`+token(105, "c1\x00")+`","remainingItemCount":2`) {
			t.Errorf("got %s", answer)
		}
	}
}
