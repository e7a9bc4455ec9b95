package kube

import (
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/tombolo-sync/tombolo/cloudhub/source/age"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// agesOf returns which cells of a resource's rows tell ages: all of kube-apiserver 1.37's that depend on the time of the
// answer (pkg/printers/internalversion/printers.go, kube-aggregator's APIService, apiextensions' tableconvertor). custom
// are the rules of a CRD's columns, which come behind the name; nil when there is no CRD or it could not be read.
func agesOf(r *watchlog.Resource, columns []column, custom []age.Rule) []ageCell {
	known := builtinAges[r.GroupResource().String()]
	var all []ageCell
	for i, c := range columns {
		var rule age.Rule
		switch {
		case len(custom) == len(columns)-1 && custom != nil:
			if i > 0 {
				rule = custom[i-1]
			}
		case known[c.Name] != nil:
			rule = known[c.Name]
		case c.Name == "Age" && isBuiltin(r):
			rule = age.Of("metadata", "creationTimestamp")
		case c.Name == "Age":
			rule = agreedAge
		}
		if rule != nil {
			all = append(all, ageCell{i, rule})
		}
	}
	if r.Group == "networking.k8s.io" && r.Name == "ipaddresses" && len(columns) == 2 {
		all = append(all, ageCell{2, age.Of("metadata", "creationTimestamp")}) // a cell more than columns
	}
	return all
}

// isBuiltin tells whether a resource is kube-apiserver's own.
func isBuiltin(r *watchlog.Resource) bool {
	return !r.Custom && (!strings.Contains(r.Group, ".") || strings.HasSuffix(r.Group, ".k8s.io"))
}

// builtinAges are the columns of built-in resources that tell ages, beside Age.
var builtinAges = map[string]map[string]age.Rule{
	"pods":                             {"Restarts": restarts},
	"events":                           {"Last Seen": lastSeen, "First Seen": firstSeen},
	"events.events.k8s.io":             {"Last Seen": lastSeen, "First Seen": firstSeen},
	"jobs.batch":                       {"Duration": runningFor},
	"cronjobs.batch":                   {"Last Schedule": age.Of("status", "lastScheduleTime")},
	"devicetaintrules.resource.k8s.io": {"TimeAdded": age.Of("spec", "taint", "timeAdded")},
	"resourcepoolstatusrequests.resource.k8s.io": {"Completed": completed},
	"evictions.lifecycle.k8s.io": {
		"Responder Status": responderStatus, "Responder Expected Finish": responderFinish, "Responder Heartbeat": heartbeat,
	},
}

// The times of an Event; those of the group events.k8s.io have other names.
var (
	eventFirst = [][]string{{"firstTimestamp"}, {"deprecatedFirstTimestamp"}, {"eventTime"}}
	eventLast  = append([][]string{{"lastTimestamp"}, {"deprecatedLastTimestamp"}}, eventFirst...)
)

func firstSeen(object []byte, _ string) (age.Age, bool) { return age.FirstOf(object, eventFirst...) }

// lastSeen is when a series was observed last if there is one.
func lastSeen(object []byte, _ string) (age.Age, bool) {
	if series := watchlog.Member(object, "series"); series != nil && series[0] == '{' {
		return age.FirstOf(series, []string{"lastObservedTime"})
	}
	return age.FirstOf(object, eventLast...)
}

// runningFor is how long a job has been running; that of one that has completed is no age.
func runningFor(object []byte, _ string) (age.Age, bool) {
	status := watchlog.Member(object, "status")
	if done := watchlog.Member(status, "completionTime"); done != nil && string(done) != "null" {
		return age.Age{}, false
	}
	return age.FirstOf(status, []string{"startTime"})
}

// completed is when the first condition that ends a request became true, if that says that it is complete.
func completed(object []byte, _ string) (a age.Age, ok bool) {
	conditions := watchlog.Member(watchlog.Member(object, "status"), "conditions")
	watchlog.Elements(conditions, func(_ int, c []byte) bool {
		kind, _ := age.Text(watchlog.Member(c, "type"))
		if status, _ := age.Text(watchlog.Member(c, "status")); status != "True" || kind != "Complete" && kind != "Failed" {
			return true
		}
		if kind == "Complete" {
			a, ok = age.FirstOf(c, []string{"lastTransitionTime"})
		}
		return false
	})
	return a, ok
}

// agreedAge is an age since the creation if that is what the text says, give or take what an answer may be old and
// clocks may differ. Of resources that nothing is known of it is a good guess.
func agreedAge(object []byte, text string) (age.Age, bool) {
	a, ok := age.FirstOf(object, []string{"metadata", "creationTimestamp"})
	if !ok {
		return a, false
	}
	created, err := time.Parse(time.RFC3339, a.Since)
	if err != nil {
		return a, false
	}
	const tolerance = time.Minute
	old := time.Since(created)
	// What the text has to lie between, in its own coarse terms.
	for d := -tolerance; d <= tolerance; d += time.Second {
		if duration.HumanDuration(old+d) == text {
			return a, true
		}
	}
	return a, false
}
