package fields_test

import (
	"testing"

	"github.com/tombolo-sync/tombolo/cloudhub/source/fields"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestForKnowsThePodsLabels(t *testing.T) {
	got := map[string]watchlog.Field{}
	for _, f := range fields.For("", "pods") {
		got[f.Label] = f
	}
	for _, label := range []string{
		"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
		"status.phase", "status.podIP", "status.podIPs", "status.nominatedNodeName",
	} {
		if _, ok := got[label]; !ok {
			t.Errorf("pods lack %s", label)
		}
	}
	if len(got) != 9 {
		t.Errorf("pods have %d labels, want 9", len(got))
	}
	if !got["spec.nodeName"].Indexed {
		t.Error("spec.nodeName is not indexed")
	}
	if got["spec.hostNetwork"].Default != "false" {
		t.Error("an absent spec.hostNetwork does not read as false")
	}
	if p := got["status.podIPs"].Path; p == "status.podIPs" {
		t.Error("status.podIPs is filled, kube-apiserver never fills it")
	}
}

func TestForTellsTheTwoEventsApart(t *testing.T) {
	has := func(group, label string) bool {
		for _, f := range fields.For(group, "events") {
			if f.Label == label {
				return true
			}
		}
		return false
	}
	for label, want := range map[string][2]bool{ // core, events.k8s.io
		"involvedObject.uid":  {true, false},
		"regarding.uid":       {false, true},
		"source":              {true, false},
		"reportingComponent":  {true, false},
		"reportingController": {false, true},
		"type":                {true, true},
	} {
		if got := [2]bool{has("", label), has("events.k8s.io", label)}; got != want {
			t.Errorf("%s: got %v, want %v", label, got, want)
		}
	}
}

func TestForIsNilWithoutLabels(t *testing.T) {
	for _, r := range [][2]string{{"", "configmaps"}, {"apps", "replicasets"}, {"example.com", "pods"}} {
		if f := fields.For(r[0], r[1]); f != nil {
			t.Errorf("%s/%s has %v", r[0], r[1], f)
		}
	}
}
