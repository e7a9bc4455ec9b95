package kube

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestLostServerIsSaid: the log says at once that it may be behind, and the source after a while that it is of no use.
func TestLostServerIsSaid(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		if _, lost := log.Lost(); lost || h.Ready() != nil {
			t.Errorf("lost %v, ready %v, while the server is there", lost, h.Ready())
		}
		api.set(func() { api.down = http.StatusServiceUnavailable })
		cut := time.Now()
		r.cutWatches()
		time.Sleep(5 * time.Second)
		if since, lost := log.Lost(); !lost || since.Before(cut) || h.Ready() != nil {
			t.Errorf("lost %v since %v, ready %v, five seconds after %v", lost, since, h.Ready(), cut)
		}
		time.Sleep(time.Minute)
		if err := h.Ready(); err == nil || !strings.Contains(err.Error(), "is lost since") {
			t.Errorf("ready after a minute: %v", err)
		}
		api.set(func() { api.down = 0 })
		h.until(log, r.put("ns", "a", "", ""))
		synctest.Wait() // the log has what was read, and then follows
		if _, lost := log.Lost(); lost || h.Ready() != nil {
			t.Errorf("lost %v, ready %v, with the server back", lost, h.Ready())
		}
	})
}

func TestReadyTellsWhyTheServerCannotBeUsed(t *testing.T) {
	api := newFakeAPI()
	api.down = http.StatusServiceUnavailable
	bubble(t, api, func(h *harness) {
		time.Sleep(time.Minute)
		if err := h.Ready(); err == nil || !strings.Contains(err.Error(), "can't be used yet") {
			t.Errorf("ready: %v", err)
		}
	})
}
