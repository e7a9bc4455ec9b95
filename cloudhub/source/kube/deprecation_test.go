package kube

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestDeprecatedBuiltInsAreKnown from the warnings of the server.
func TestDeprecatedBuiltInsAreKnown(t *testing.T) {
	api := newFakeAPI()
	api.resource("pods").warning = "v1 Pod is deprecated"
	bubble(t, api, func(h *harness) {
		if got := h.follow(pods).Resource().Deprecated; got != "v1 Pod is deprecated" {
			t.Errorf("deprecated: %q", got)
		}
	})
}

// TestChangedDeprecationRedefinesTheResource deprecates a version of a CRD, says so in other words, and takes it back.
func TestChangedDeprecationRedefinesTheResource(t *testing.T) {
	api := newFakeAPI()
	api.addCustom()
	declare := func(says string) {
		api.resource("customresourcedefinitions").put("", "widgets.ex.io", `"generation":1`,
			`,"spec":{"group":"ex.io","names":{"kind":"Widget"},"versions":[{"name":"v1"`+says+`},{"name":"v2","deprecated":true}]}`)
	}
	declare("")
	bubble(t, api, func(h *harness) {
		log := h.follow(widgets)
		for _, c := range []struct{ says, want string }{
			{`,"deprecated":true`, "ex.io/v1 Widget is deprecated"},
			{`,"deprecated":true,"deprecationWarning":"go away"`, "go away"},
			{`,"deprecationWarning":"not yet"`, ""},
		} {
			declare(c.says)
			time.Sleep(time.Minute)
			synctest.Wait()
			fresh := h.follow(widgets)
			if got := fresh.Resource().Deprecated; fresh == log || got != c.want {
				t.Errorf("%s: the same log: %t, deprecated: %q", c.says, fresh == log, got)
			}
			log = fresh
		}
	})
}
