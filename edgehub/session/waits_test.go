package session

import (
	"testing"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// TestAHubThatHasToWaitIsNoUse: although a catch-up was under way. An edge that knows another hub goes there.
func TestAHubThatHasToWaitIsNoUse(t *testing.T) {
	s := twoResources(t, store.Options{})
	say := func(plan tombolov1.Plan) {
		t.Helper()
		for i, name := range []string{"pods", "secrets"} {
			if err := s.subscription(&tombolov1.Subscription{
				Resource: &tombolov1.Resource{Resource: name}, Id: uint32(i + 1), View: "v", Plan: plan, //nolint:gosec // two
				Info: &tombolov1.ResourceInfo{Version: "v1", Kind: "Thing", Namespaced: true},
			}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 2 {
		say(tombolov1.Plan_PLAN_CHANGES)
		if s.useless() {
			t.Error("a hub that sends a catch-up is of no use")
		}
		say(tombolov1.Plan_PLAN_WAIT)
		if !s.useless() {
			t.Error("a hub that has to wait is of use")
		}
	}
}
