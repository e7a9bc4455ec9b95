package session

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// TestWelcomeThatMakesNoSense: a hub that resumes what it can't resume is told off with one error, which names the fault.
func TestWelcomeThatMakesNoSense(t *testing.T) {
	const with = tombolov1.Capability_CAPABILITY_RESUMED
	for want, w := range map[string]*tombolov1.Welcome{
		"was not agreed on":                 {Epoch: "e", Resumed: []uint32{0}},
		"does not name the cluster":         {Capabilities: []tombolov1.Capability{with}},
		"position 4 is none of the 4":       {Capabilities: []tombolov1.Capability{with}, Resumed: []uint32{0, 4}},
		"position 4294967295 is none":       {Capabilities: []tombolov1.Capability{with}, Resumed: []uint32{1<<32 - 1}},
		"position 1 behind position 1":      {Capabilities: []tombolov1.Capability{with}, Resumed: []uint32{0, 1, 1}},
		"position 0 behind position 1":      {Capabilities: []tombolov1.Capability{with}, Resumed: []uint32{1, 0}},
		"2 is of services, which has no":    {Capabilities: []tombolov1.Capability{with}, Resumed: []uint32{2}},
		"is of secrets, which is of anothe": {Capabilities: []tombolov1.Capability{with}, Resumed: []uint32{3}},
		"is of pods, which is of another":   {Capabilities: []tombolov1.Capability{with}, Epoch: "f", Resumed: []uint32{0}},
		"position 1 is not resumed":         {Capabilities: []tombolov1.Capability{with}, Resumed: []uint32{0}, Agreed: []uint32{1}},
		"position 0 is not resumed":         {Capabilities: []tombolov1.Capability{with}, Epoch: "e", Agreed: []uint32{0}},
		"agreed: position 0 behind":         {Capabilities: []tombolov1.Capability{with}, Resumed: []uint32{0, 1}, Agreed: []uint32{0, 0}},
	} {
		s := greeted(t)
		w.Version = Version
		if err := s.welcome(w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if s.welcomed {
			t.Errorf("%s: the session goes on", want)
		}
	}
	s := greeted(t)
	_, agreed, err := s.readResumed(&tombolov1.Welcome{Resumed: []uint32{0, 1}, Agreed: []uint32{1}})
	if err != nil || len(agreed) != 1 || s.epoch != "e" {
		t.Errorf("a good one: %v, agreed with %d, cluster %q", err, agreed, s.epoch)
	}
}

// greeted is a session whose Hello had pods and nodes, services without a state, and secrets of another cluster.
func greeted(t *testing.T) *session {
	t.Helper()
	s := &session{offered: capabilities{resumed: true}, agreed: capabilities{resumed: true}}
	s.greeting.epoch = "e"
	for i, name := range []string{"pods", "nodes", "services", "secrets"} {
		r := &replica{
			gr:  schema.GroupResource{Resource: name},
			log: watchlog.New(&watchlog.Resource{Version: "v1", Name: name}, watchlog.Config{}), pending: target{epoch: "e"},
		}
		if name != "services" {
			if err := r.log.Load(watchlog.Content{Rev: 5, Floor: 5}); err != nil {
				t.Fatal(err)
			}
		}
		if i == 3 {
			r.pending.epoch = "another"
		}
		s.greeting.positions = append(s.greeting.positions, r)
	}
	return s
}
