package kube

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestServerWithoutWatchListIsListed(t *testing.T) {
	api := newFakeAPI()
	api.addCustom()
	for _, name := range []string{"pods", "widgets"} {
		r := api.resource(name)
		r.noWatchList = true
		r.put("ns", "a", "", `,"spec":{"n":1}`)
		r.put("ns", "b", "", "")
	}
	bubble(t, api, func(h *harness) {
		for _, gr := range []string{"pods", "widgets"} {
			r, id := api.resource(gr), pods
			if gr == "widgets" {
				id = widgets
			}
			log := h.follow(id)
			if log.Snapshot().Len() != 2 {
				t.Errorf("%s: %d objects", gr, log.Snapshot().Len())
			}
			for _, key := range []string{"ns/a", "ns/b"} {
				if got, want := string(log.Snapshot().Get(key).JSON()), r.get(key); got != want {
					t.Errorf("%s %s:\n got %s\nwant %s", gr, key, got, want)
				}
			}
			h.until(log, r.put("ns", "c", "", ""))
		}
	})
}

// A WatchList that ends before its bookmark makes client-go start over at once, for ever (kubernetes #140890).
func TestWatchListThatEndsEarlyDoesNotSpin(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	r.cutInitial = true
	r.put("ns", "a", "", "")
	r.put("ns", "b", "", "")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		if n := log.Snapshot().Len(); n != 2 {
			t.Errorf("%d objects", n)
		}
		time.Sleep(time.Hour)
		if n := api.count("pods", "sendInitialEvents"); n > 3 {
			t.Errorf("%d WatchLists", n)
		}
	})
}

func TestMalformedEventIsHealedByReadingAgain(t *testing.T) {
	for name, garbage := range map[string]string{
		"not an object":       `[]`,
		"no name":             `{"metadata":{"resourceVersion":"200"}}`,
		"no revision":         `{"metadata":{"name":"a"}}`,
		"an earlier revision": `{"metadata":{"name":"a","namespace":"ns","resourceVersion":"5"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			r := api.resource("pods")
			r.put("ns", "a", "", "")
			bubble(t, api, func(h *harness) {
				log := h.follow(pods)
				api.set(func() { r.garbage = garbage })
				synctest.Wait()
				h.until(log, r.put("ns", "a", "", `,"n":2`))
				if got, want := string(log.Snapshot().Get("ns/a").JSON()), r.get("ns/a"); got != want {
					t.Errorf(" got %s\nwant %s", got, want)
				}
				if n := api.count("pods", "sendInitialEvents"); n != 2 {
					t.Errorf("%d reads of the whole resource, want a second one", n)
				}
			})
		})
	}
}

// A watch from a revision that the cloud does not know is silent, so only asking finds out that etcd was restored.
func TestRestoredCloudClosesTheLog(t *testing.T) {
	for name, resume := range map[string]func(*fakeAPI, *boundResource, func()){
		"while the watch was broken": func(api *fakeAPI, r *boundResource, restore func()) {
			api.set(func() { api.down = http.StatusServiceUnavailable })
			r.cutWatches()
			restore()
			api.set(func() { api.down = 0 })
		},
		"under an open watch": func(_ *fakeAPI, _ *boundResource, restore func()) { restore() },
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			r := api.resource("pods")
			r.put("ns", "a", "", "")
			bubble(t, api, func(h *harness) {
				log := h.follow(pods)
				h.until(log, r.put("ns", "b", "", ""))
				resume(api, r, func() {
					r.on(func() {
						api.rev = 50
						delete(r.objects, "ns/b")
						r.objects["ns/a"] = fakeObject{40, r.encode("ns", "a", "", "", "40")}
						r.events, r.floor = nil, 50
					})
				})
				<-log.Done()
				if err := log.Commit(watchlog.Batch{Rev: log.Rev()}); !errors.Is(err, source.ErrRewound) {
					t.Errorf("log: %v, want ErrRewound", err)
				}
				again := h.follow(pods)
				if again.Rev() != 50 || again.Snapshot().Len() != 1 {
					t.Errorf("new log at %d with %d objects", again.Rev(), again.Snapshot().Len())
				}
			})
		})
	}
}

func TestDeletedCRDClosesTheLogUntilItComesBack(t *testing.T) {
	api := newFakeAPI()
	r := api.addCustom(".spec.color")
	api.resource("widgets").put("ns", "a", "", `,"spec":{"color":"red"}`)
	bubble(t, api, func(h *harness) {
		log := h.follow(widgets)
		if f := log.Resource().Fields; len(f) != 1 || f[0].Label != "spec.color" || log.Snapshot().Get("ns/a").Field(0) != "red" {
			t.Errorf("fields %+v", f)
		}
		api.remove(r)
		<-log.Done()
		if err := log.Commit(watchlog.Batch{Rev: log.Rev()}); !errors.Is(err, source.ErrUnknownResource) {
			t.Errorf("log: %v, want ErrUnknownResource", err)
		}
		if _, _, err := h.Open(h.t.Context(), widgets); !errors.Is(err, source.ErrUnknownResource) {
			t.Errorf("Open: %v, want ErrUnknownResource", err)
		}
		api.addCustom()
		time.Sleep(time.Minute)
		again := h.follow(widgets)
		h.until(again, api.resource("widgets").put("ns", "b", "", ""))
	})
}

func TestRedefinedResourceClosesTheLog(t *testing.T) {
	for name, redefine := range map[string]func(*fakeAPI, *fakeResource){
		"selectable fields": func(api *fakeAPI, r *fakeResource) { api.declare(r, ".spec.size") },
		"scope": func(api *fakeAPI, r *fakeResource) {
			api.set(func() { r.namespaced = false })
			api.declare(r)
		},
		"version": func(api *fakeAPI, r *fakeResource) {
			api.set(func() { r.versionName = "v2" })
			api.declare(r)
			api.cut(r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			r := api.addCustom()
			bubble(t, api, func(h *harness) {
				log := h.follow(widgets)
				redefine(api, r)
				<-log.Done()
				if err := log.Commit(watchlog.Batch{Rev: log.Rev()}); !errors.Is(err, source.ErrRedefined) {
					t.Errorf("log: %v, want ErrRedefined", err)
				}
				again := h.follow(widgets).Resource()
				if again.Version != r.versionName || again.Namespaced != r.namespaced {
					t.Errorf("opened as %+v", again)
				}
			})
		})
	}
}

func TestMissingDiscoveryAloneDoesNotCloseALog(t *testing.T) {
	api := newFakeAPI()
	r := api.addCustom()
	bubble(t, api, func(h *harness) {
		log := h.follow(widgets)
		api.set(func() { r.status = http.StatusServiceUnavailable }) // its discovery is empty, too
		time.Sleep(time.Hour)
		select {
		case <-log.Done():
			t.Fatal("the log was closed")
		default:
		}
		api.set(func() { r.status = 0 })
		h.until(log, api.resource("widgets").put("ns", "a", "", ""))
	})
}

// A cloud that was restored while the hub looked away may have passed the log's position when the hub looks again.
func TestRestoredCloudThatHasPassedTheLogClosesIt(t *testing.T) {
	for name, restore := range map[string]func(*boundResource){
		"a version is lost": func(r *boundResource) {
			r.objects["ns/a"] = fakeObject{90, r.encode("ns", "a", "", "", "90")}
			r.events = nil
		},
		"a version is lost, and compacted": func(r *boundResource) {
			r.objects["ns/a"] = fakeObject{90, r.encode("ns", "a", "", "", "90")}
			r.events, r.floor = nil, 150
		},
		"an object is another one": func(r *boundResource) {
			r.objects["ns/a"] = fakeObject{102, r.encode("ns", "a", `"uid":"another"`, "", "102")}
			r.events = nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			r := api.resource("pods")
			r.on(func() { r.floor = 50 })
			r.put("ns", "old", "", "")
			bubble(t, api, func(h *harness) {
				log := h.follow(pods)
				h.until(log, r.put("ns", "a", "", ""))
				api.set(func() { api.down = http.StatusServiceUnavailable })
				r.cutWatches()
				r.on(func() { api.rev = 150; restore(r) })
				api.set(func() { api.down = 0 })
				if _, found := <-log.Done(); found {
					t.Error("not closed")
				}
				if err := log.Commit(watchlog.Batch{Rev: log.Rev()}); !errors.Is(err, source.ErrRewound) {
					t.Errorf("log: %v, want ErrRewound", err)
				}
				again := h.follow(pods)
				if got, want := string(again.Snapshot().Get("ns/a").JSON()), r.get("ns/a"); got != want {
					t.Errorf(" got %s\nwant %s", got, want)
				}
			})
		})
	}
}

// What a restored cloud did between the log's newest version and its position shows, because the watch goes on from the
// former; deletions that come again do no harm.
func TestWatchAfterADoubtMissesNothing(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	r.put("ns", "a", "", "")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		h.until(log, r.put("ns", "b", "", ""))
		gone := r.drop("ns", "a")
		h.until(log, gone)
		reads := api.count("pods", "sendInitialEvents")
		time.Sleep(2 * time.Minute) // a bookmark has come
		r.cutWatches()
		time.Sleep(time.Minute)
		end := r.put("ns", "c", "", "")
		h.until(log, end)
		if n := api.count("pods", "sendInitialEvents"); n != reads {
			t.Errorf("read %d times more", n-reads)
		}
		if n := api.count("pods", "resourceVersionMatch=Exact"); n != 1 {
			t.Errorf("asked for the past %d times", n)
		}
		if log.Snapshot().Len() != 2 || log.Snapshot().Get("ns/a") != nil {
			t.Errorf("%d objects", log.Snapshot().Len())
		}
	})
}

// Another cluster behind the same address: no log takes anything of it, and the epoch says so.
func TestAnotherClusterClosesTheLogs(t *testing.T) {
	for name, cut := range map[string]bool{"found by asking": false, "found before watching again": true} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			r := api.resource("pods")
			r.put("ns", "a", "", "")
			bubble(t, api, func(h *harness) {
				log := h.follow(pods)
				epoch := h.Epoch()
				api.resource("namespaces").put("", "kube-system", `"uid":"another"`, "")
				r.on(func() { r.objects["ns/a"] = fakeObject{90, r.encode("ns", "a", `"uid":"u"`, "", "90")} })
				if cut {
					r.cutWatches()
				}
				<-log.Done()
				if err := log.Commit(watchlog.Batch{Rev: log.Rev()}); !errors.Is(err, source.ErrReplaced) {
					t.Errorf("log: %v, want ErrReplaced", err)
				}
				if o := log.Snapshot().Get("ns/a"); o.UID() == "u" {
					t.Error("the old log has what is of the new cluster")
				}
				if h.Epoch() == epoch {
					t.Error("the epoch is the same")
				}
				if o := h.follow(pods).Snapshot().Get("ns/a"); o.UID() != "u" {
					t.Errorf("the new log has %s", o.UID())
				}
			})
		})
	}
}
