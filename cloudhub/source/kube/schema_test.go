package kube

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A CRD's new default is in every answer about objects that are stored already, with no event and no new revision. The
// server is a moment later with it than with the CRD, and ends its watches then.
func TestWhatAChangedSchemaMakesOfStoredObjectsIsReadAgain(t *testing.T) {
	for name, late := range map[string]bool{"before the hub asks": false, "after the hub has asked": true} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			api.addCustom()
			r := api.resource("widgets")
			r.put("ns", "a", "", `,"spec":{"n":1}`)
			bubble(t, api, func(h *harness) {
				log := h.follow(widgets)
				rev := log.Snapshot().Get("ns/a").Rev()
				takeEffect := func() {
					r.on(func() {
						o := r.objects["ns/a"]
						o.json = strings.Replace(o.json, `"n":1`, `"b":"B","n":1`, 1)
						r.objects["ns/a"] = o
					})
				}
				if !late {
					takeEffect()
				}
				api.resource("customresourcedefinitions").put("", "widgets.ex.io", `"uid":"x","generation":2`,
					`,"spec":{"versions":[{"name":"v1"}]}`)
				time.Sleep(time.Minute)
				synctest.Wait()
				if late {
					takeEffect()
					r.cutWatches()
					time.Sleep(time.Minute)
				}
				got := log.Snapshot().Get("ns/a")
				if want := r.get("ns/a"); string(got.JSON()) != want || got.Rev() != rev {
					t.Errorf(" got %s\nwant %s", got.JSON(), want)
				}
				reads := api.count("widgets", "sendInitialEvents")
				r.cutWatches()
				time.Sleep(time.Minute)
				r.cutWatches()
				time.Sleep(time.Minute)
				if n := api.count("widgets", "sendInitialEvents"); n > reads+1 {
					t.Errorf("read %d times more without a reason", n-reads)
				}
			})
		})
	}
}
