package kube

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/source/age"
)

// eviction is what of an Eviction (lifecycle.k8s.io) decides about its ages.
type eviction struct {
	Status struct {
		TargetResponders []targetResponder `json:"targetResponders"`
		Responders       []responder       `json:"responders"`
	} `json:"status"`
}

// targetResponder is where a responder stands.
type targetResponder struct {
	Name  string `json:"name"`
	State string `json:"state"`
}

// responder is what a responder reports.
type responder struct {
	Name                   string     `json:"name"`
	StartTime              *time.Time `json:"startTime"`
	HeartbeatTime          *time.Time `json:"heartbeatTime"`
	ExpectedCompletionTime *time.Time `json:"expectedCompletionTime"`
	CompletionTime         *time.Time `json:"completionTime"`
}

// activeResponder returns the responder that kube-apiserver prints (printEviction): the last active one, else the last
// that is through.
func activeResponder(object []byte) *responder {
	var e eviction
	if json.Unmarshal(object, &e) != nil {
		return nil
	}
	name, through := "", ""
	for _, t := range e.Status.TargetResponders {
		switch t.State {
		case "Active":
			name = t.Name
		case "Canceled", "Interrupted", "Completed":
			through = t.Name
		}
	}
	if name == "" {
		name = through
	}
	for i := range e.Status.Responders {
		if name != "" && e.Status.Responders[i].Name == name {
			return &e.Status.Responders[i]
		}
	}
	return nil
}

func since(t *time.Time, format, ahead string) (age.Age, bool) {
	if t == nil || t.IsZero() {
		return age.Age{}, false
	}
	return age.Age{Since: t.UTC().Format(time.RFC3339Nano), Format: format, Ahead: ahead}, true
}

// responderStatus is the age in "Started (3m ago)" and "Completed (3m ago)".
func responderStatus(object []byte, text string) (age.Age, bool) {
	state, _, found := strings.Cut(text, " (")
	r := activeResponder(object)
	if !found || r == nil || !strings.HasSuffix(text, " ago)") {
		return age.Age{}, false
	}
	t := r.CompletionTime
	if state == "Started" {
		t = r.StartTime
	}
	return since(t, state+" (%s ago)", "")
}

// responderFinish is the age in "in 3m", which becomes "3m ago".
func responderFinish(object []byte, text string) (age.Age, bool) {
	r := activeResponder(object)
	if r == nil || !strings.HasPrefix(text, "in ") && !strings.HasSuffix(text, " ago") {
		return age.Age{}, false
	}
	return since(r.ExpectedCompletionTime, "%s ago", "in %s")
}

// heartbeat is the age in "3m ago".
func heartbeat(object []byte, text string) (age.Age, bool) {
	r := activeResponder(object)
	if r == nil || !strings.HasSuffix(text, " ago") {
		return age.Age{}, false
	}
	return since(r.HeartbeatTime, "%s ago", "")
}
