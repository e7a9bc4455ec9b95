package kube

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestObjectsKeepTheirBytes(t *testing.T) {
	api := newFakeAPI()
	api.addCustom()
	for _, r := range []string{"pods", "widgets"} {
		api.resource(r).put("ns", "first", "", `,"spec":{"z":"\u003c","a":1.50}`)
	}
	bubble(t, api, func(h *harness) {
		for _, gr := range []schema.GroupResource{pods, widgets} {
			log := h.follow(gr)
			r := api.resource(gr.Resource)
			h.until(log, r.put("ns", "second", "", `,"spec":{"b":[ ]}`))
			for _, key := range []string{"ns/first", "ns/second"} {
				if got, want := string(log.Snapshot().Get(key).JSON()), r.get(key); got != want {
					t.Errorf("%s %s:\n got %s\nwant %s", gr, key, got, want)
				}
			}
		}
	})
}

func TestLiveEventsAreExact(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	r.put("ns", "a", "", "")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		start := log.Rev()
		r.put("ns", "a", "", `,"n":1`)
		r.put("ns", "b", "", "")
		api.resource("namespaces").put("", "other", "", "")
		r.drop("ns", "a")
		h.until(log, r.put("ns", "a", `"uid":"another"`, ""))
		got, gap := h.events(log, start)
		want := []string{
			"MODIFIED ns/a 102", "ADDED ns/b 103", "DELETED ns/a 105", "ADDED ns/a 106",
		}
		for i := range want { // the fake's start depends on its setup only
			want[i] = want[i][:len(want[i])-3] + formatRev(start+[]uint64{1, 2, 4, 5}[i])
		}
		if !slices.Equal(got, want) || gap {
			t.Errorf("events %v, gap %t; want %v", got, gap, want)
		}
	})
}

func TestObjectsDeletedAtOneRevisionAllGo(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	for _, name := range []string{"a", "b", "c"} {
		r.put("ns", name, "", "")
	}
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		start := log.Rev()
		r.drop("ns", "a", "b", "c")
		synctest.Wait()
		if n := log.Snapshot().Len(); n != 0 {
			t.Errorf("%d objects are left", n)
		}
		if got, gap := h.events(log, start); len(got) != 3 || gap {
			t.Errorf("events %v, gap %t; want three deletions", got, gap)
		}
	})
}

func TestBookmarksMoveThePosition(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		h.until(log, api.resource("namespaces").put("", "other", "", ""))
		if n := log.Snapshot().Len(); n != 0 {
			t.Errorf("%d objects, want none", n)
		}
	})
}

func TestEmptyResourceIsReadyWithAPosition(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		if log.Rev() == 0 || log.Snapshot().Len() != 0 {
			t.Errorf("rev %d, %d objects", log.Rev(), log.Snapshot().Len())
		}
	})
}

// Cut the hub from the API server, delete, heal: DELETED arrives, at its own revision.
func TestBrokenWatchResumesWithoutAGap(t *testing.T) {
	for name, breakage := range map[string]func(*fakeAPI){
		"connection cut":     func(*fakeAPI) {},
		"server unavailable": func(api *fakeAPI) { api.set(func() { api.down = http.StatusServiceUnavailable }) },
		"unauthorized":       func(api *fakeAPI) { api.set(func() { api.down = http.StatusUnauthorized }) },
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			r := api.resource("pods")
			r.put("ns", "a", "", "")
			bubble(t, api, func(h *harness) {
				log := h.follow(pods)
				start, lists := log.Rev(), api.count("pods", "sendInitialEvents")
				breakage(api)
				r.cutWatches()
				deleted := r.drop("ns", "a")
				time.Sleep(10 * time.Minute)
				api.set(func() { api.down = 0 })
				h.until(log, deleted)
				got, gap := h.events(log, start)
				if want := []string{"DELETED ns/a " + formatRev(deleted)}; !slices.Equal(got, want) || gap {
					t.Errorf("events %v, gap %t; want %v", got, gap, want)
				}
				if n := api.count("pods", "sendInitialEvents") - lists; n != 0 {
					t.Errorf("%d lists where a watch would do", n)
				}
				if n := api.count("pods"); n > 200 {
					t.Errorf("%d requests in ten minutes", n)
				}
			})
		})
	}
}

func TestCompactedWatchIsReadAgainWithAGap(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	r.put("ns", "gone", "", "")
	r.put("ns", "kept", "", "")
	r.put("ns", "anew", `"uid":"first"`, "")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		start := log.Rev()
		api.set(func() { r.status = http.StatusServiceUnavailable })
		r.cutWatches()
		r.drop("ns", "gone")
		r.drop("ns", "anew")
		r.put("ns", "anew", `"uid":"second"`, "")
		r.put("ns", "new", "", "")
		r.compact()
		api.set(func() { r.status = 0 })
		last := r.put("ns", "new", "", `,"n":1`)
		h.until(log, last)
		got, gap := h.events(log, start)
		slices.Sort(got)
		want := []string{
			"ADDED ns/anew " + formatRev(start+3), "ADDED ns/new " + formatRev(last),
			"DELETED ns/anew " + formatRev(start+3), "DELETED ns/gone " + formatRev(log.Rev()),
		}
		if !slices.Equal(got, want) || !gap {
			t.Errorf("events %v, gap %t; want %v and a gap", got, gap, want)
		}
		if _, err := log.SnapshotAt(start + 1); !errors.Is(err, watchlog.ErrCompacted) {
			t.Errorf("snapshot inside the gap: %v, want ErrCompacted", err)
		}
	})
}

func TestForbiddenResourceIsRefusedAndAskedAgainLater(t *testing.T) {
	api := newFakeAPI()
	api.resource("pods").status = http.StatusForbidden
	bubble(t, api, func(h *harness) {
		for range 10 {
			if _, _, err := h.Open(h.t.Context(), pods); !apierrors.IsForbidden(err) {
				t.Fatalf("Open: %v, want forbidden", err)
			}
		}
		if n := api.count("pods"); n != 1 {
			t.Errorf("%d requests for ten refusals", n)
		}
		if s, ok := h.status(pods); !ok || s.phase != refused || !apierrors.IsForbidden(s.err) {
			t.Errorf("status %+v", s)
		}
		api.set(func() { api.resources[0].status = 0 })
		time.Sleep(retryRefused)
		h.follow(pods)
	})
}

func TestResourceForbiddenLaterStaysOpenAndDoesNotSpin(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		api.set(func() { r.status = http.StatusForbidden })
		r.cutWatches()
		before := api.count("pods")
		time.Sleep(time.Hour)
		if n := api.count("pods") - before; n < 10 || n > 800 { // at least 5 s apart
			t.Errorf("%d requests in an hour", n)
		}
		if s, _ := h.status(pods); s.phase != failing || !apierrors.IsForbidden(s.err) || s.rev != log.Rev() {
			t.Errorf("status %+v", s)
		}
		api.set(func() { r.status = 0 })
		h.until(log, r.put("ns", "a", "", ""))
		synctest.Wait() // the status follows the log
		if s, _ := h.status(pods); s.phase != live || s.err != nil || s.objects != 1 || s.users != 1 {
			t.Errorf("status %+v", s)
		}
	})
}

func TestResourceWithoutNumericRevisionsIsRefused(t *testing.T) {
	for _, rv := range []string{"", "abc", "12a", "0", "-4", "007"} {
		api := newFakeAPI()
		api.resource("pods").spell = func(uint64) string { return rv }
		bubble(t, api, func(h *harness) {
			_, _, err := h.Open(h.t.Context(), pods)
			if !errors.Is(err, source.ErrUnordered) {
				t.Errorf("resourceVersion %q: %v, want ErrUnordered", rv, err)
			}
			if s, _ := h.status(pods); s.phase != refused || !errors.Is(s.err, source.ErrUnordered) {
				t.Errorf("status %+v", s)
			}
		})
	}
}

func TestUnknownAndUnwatchableResourcesAreRefused(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		<-h.Started()
		documents := api.count("/apis?")
		for range 20 {
			_, _, err := h.Open(h.t.Context(), schema.GroupResource{Group: "no.such", Resource: "things"})
			if !errors.Is(err, source.ErrUnknownResource) {
				t.Errorf("unknown: %v", err)
			}
		}
		if n := api.count("/apis?") - documents; n > 2 {
			t.Errorf("discovery was asked %d times for what does not exist", n)
		}
		if _, ok := h.status(schema.GroupResource{Group: "no.such", Resource: "things"}); ok {
			t.Error("unknown names are remembered")
		}
		if _, _, err := h.Open(h.t.Context(), schema.GroupResource{Resource: "bindings"}); !errors.Is(err, source.ErrNotWatchable) {
			t.Errorf("bindings: %v", err)
		}
	})
}

func TestResourceIsSharedAndStoppedWhenIdle(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		first, releaseFirst := h.open(pods)
		second, releaseSecond := h.open(pods)
		if first != second {
			t.Fatal("two logs of one resource")
		}
		<-first.Ready()
		releaseFirst()
		releaseFirst() // only the first call counts
		time.Sleep(time.Hour)
		if s, _ := h.status(pods); s.users != 1 || api.count("pods", "sendInitialEvents") != 1 {
			t.Errorf("status %+v after %d lists", s, api.count("pods", "sendInitialEvents"))
		}
		releaseSecond()
		time.Sleep(9 * time.Minute)
		third, releaseThird := h.open(pods)
		if third != first {
			t.Error("the log did not wait for its next user")
		}
		time.Sleep(time.Hour)
		releaseThird()
		time.Sleep(11 * time.Minute)
		<-first.Done()
		if err := first.Commit(watchlog.Batch{Rev: first.Rev()}); !errors.Is(err, source.ErrIdle) {
			t.Errorf("idle log: %v, want ErrIdle", err)
		}
		if _, ok := h.status(pods); ok {
			t.Error("an idle resource still has a status")
		}
		fourth := h.follow(pods)
		if fourth == first || fourth.Rev() == 0 {
			t.Error("the resource did not start again")
		}
	})
}

func TestOpenWaitsForTheServer(t *testing.T) {
	api := newFakeAPI()
	api.down = http.StatusServiceUnavailable
	bubble(t, api, func(h *harness) {
		ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
		defer cancel()
		_, _, err := h.Open(ctx, pods)
		if !errors.Is(err, context.DeadlineExceeded) || !apierrors.IsServiceUnavailable(err) {
			t.Errorf("Open: %v, want the deadline and the server's error", err)
		}
		if h.Epoch() != "" {
			t.Errorf("epoch %q before the server was reached", h.Epoch())
		}
		api.set(func() { api.down = 0 })
		h.follow(pods)
		if h.Epoch() != "cluster-uid" {
			t.Errorf("epoch %q", h.Epoch())
		}
	})
}

func TestStoppedSourceClosesItsLogs(t *testing.T) {
	api := newFakeAPI()
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		h.stop()
		if err := log.Commit(watchlog.Batch{Rev: log.Rev()}); !errors.Is(err, source.ErrStopped) {
			t.Errorf("log: %v, want ErrStopped", err)
		}
		if _, _, err := h.Open(h.t.Context(), pods); !errors.Is(err, source.ErrStopped) {
			t.Errorf("Open: %v, want ErrStopped", err)
		}
		if err := h.Run(h.t.Context()); err == nil {
			t.Error("a second Run worked")
		}
	})
}
