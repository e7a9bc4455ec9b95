package kube

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// outage takes the server away for a moment, in which what is given happens.
func (h *harness) outage(r *boundResource, meanwhile func()) {
	h.api.set(func() { h.api.down = http.StatusServiceUnavailable })
	r.cutWatches()
	time.Sleep(10 * time.Second)
	meanwhile()
	h.api.set(func() { h.api.down = 0 })
	synctest.Wait()
}

// TestAnsweredWatchIsNotFollowedYet: a watch from a position that is gone is answered with 200, and says so in the stream.
// Until everything was read again, the log may be behind.
func TestAnsweredWatchIsNotFollowedYet(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	r.put("ns", "a", "", "")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		synctest.Wait()
		var missed uint64
		h.outage(r, func() {
			missed = r.put("ns", "b", "", "")
			r.compact()
			r.on(func() { r.stall = 20 * time.Second })
		})
		for range 600 {
			rev := log.Rev()
			if _, lost := log.Lost(); !lost && rev < missed {
				t.Fatalf("at %d the log says that it follows a cloud that is at %d", rev, missed)
			}
			if rev >= missed {
				synctest.Wait()
				if _, lost := log.Lost(); lost {
					t.Error("the log has everything, and says that it may be behind")
				}
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error("everything was not read again")
	})
}

// TestQuietWatchIsFollowedOnceProved: nothing happens on the resource for long, which takes a proof.
func TestQuietWatchIsFollowedOnceProved(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	r.put("ns", "a", "", "")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		synctest.Wait()
		h.outage(r, func() {})
		for range 150 { // bookmarks come every minute
			if _, lost := log.Lost(); !lost {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
		t.Error("a watch on which nothing happens is not taken for followed")
	})
}

// TestFirstEventShowsThatAWatchGoesOn: no proof is needed then.
func TestFirstEventShowsThatAWatchGoesOn(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		synctest.Wait()
		h.outage(r, func() {})
		lists := api.count("pods", "metadata.name=")
		h.until(log, r.put("ns", "b", "", ""))
		synctest.Wait()
		if _, lost := log.Lost(); lost {
			t.Error("the log says that it may be behind")
		}
		time.Sleep(5 * time.Second)
		if n := api.count("pods", "metadata.name=") - lists; n > 1 { // one is the probe before the watch
			t.Errorf("%d questions for the cloud's revision", n)
		}
	})
}
