package printer

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/cloudhub/source/age"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// builtinColumn is a column between name and age.
type builtinColumn struct {
	name, kind string
	cell       cell
}

// builtins are the columns of the built-in resources that have some, by name and group. They are called as
// kube-apiserver calls them.
var builtins = map[string][]builtinColumn{
	"configmaps": {{"Data", "string", countOf("data", "binaryData")}},
	"secrets":    {{"Type", "string", at("type")}, {"Data", "string", countOf("data")}},
	"namespaces": {{"Status", "string", at("status", "phase")}},
	"pods":       {{"Ready", "string", ready}, {"Status", "string", podStatus}, {"Restarts", "string", restarts}},
	"nodes":      {{"Status", "string", nodeStatus}},
	"services":   {{"Type", "string", at("spec", "type")}, {"Cluster-IP", "string", at("spec", "clusterIP")}},
	"deployments.apps": {
		{"Ready", "string", readyReplicas}, {"Up-to-date", "string", number("status", "updatedReplicas")},
		{"Available", "string", number("status", "availableReplicas")},
	},
	"statefulsets.apps": {{"Ready", "string", readyReplicas}},
	"replicasets.apps": {
		{"Desired", "integer", number("spec", "replicas")}, {"Current", "integer", number("status", "replicas")},
		{"Ready", "integer", number("status", "readyReplicas")},
	},
	"leases.coordination.k8s.io": {{"Holder", "string", at("spec", "holderIdentity")}},
}

// For returns the printer of a built-in resource.
func For(r *watchlog.Resource) *Printer {
	if r.Name == "events" {
		return events()
	}
	p := named()
	for _, c := range builtins[r.GroupResource().String()] {
		p.add(metav1.TableColumnDefinition{Name: c.name, Type: c.kind}, c.cell)
	}
	p.add(metav1.TableColumnDefinition{
		Name: "Age", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
	}, since("metadata", "creationTimestamp"))
	return p
}

// events prints Events of either group, which name the same things differently.
func events() *Printer {
	p := &Printer{}
	p.add(metav1.TableColumnDefinition{Name: "Last Seen", Type: "string"}, aged(func(object []byte, _ string) (age.Age, bool) {
		return age.FirstOf(object, []string{"series", "lastObservedTime"}, []string{"lastTimestamp"},
			[]string{"deprecatedLastTimestamp"}, []string{"eventTime"}, []string{"metadata", "creationTimestamp"})
	}))
	p.add(metav1.TableColumnDefinition{Name: "Type", Type: "string"}, at("type"))
	p.add(metav1.TableColumnDefinition{Name: "Reason", Type: "string"}, at("reason"))
	p.add(metav1.TableColumnDefinition{Name: "Object", Type: "string"}, eventObject)
	p.add(metav1.TableColumnDefinition{Name: "Message", Type: "string"}, func(object []byte) []byte {
		if note := member(object, "note"); note != nil {
			return note
		}
		return at("message")(object)
	})
	p.add(metav1.TableColumnDefinition{Name: "Name", Type: "string", Format: "name", Priority: 1}, at("metadata", "name"))
	return p
}

func eventObject(object []byte) []byte {
	ref := member(object, "involvedObject")
	if ref == nil {
		ref = member(object, "regarding")
	}
	kind, _ := age.Text(member(ref, "kind"))
	name, _ := age.Text(member(ref, "name"))
	if name == "" {
		return text(strings.ToLower(kind))
	}
	return text(strings.ToLower(kind) + "/" + name)
}

// number is the number at a path, 0 when there is none.
func number(path ...string) cell {
	return func(object []byte) []byte {
		if v := member(object, path...); v != nil {
			return v
		}
		return []byte("0")
	}
}

// countOf is how many members some objects have together.
func countOf(keys ...string) cell {
	return func(object []byte) []byte {
		n := 0
		for _, key := range keys {
			n += watchlog.Members(member(object, key))
		}
		return strconv.AppendInt(nil, int64(n), 10)
	}
}

func readyReplicas(object []byte) []byte {
	return fmt.Appendf(nil, `"%s/%s"`, number("status", "readyReplicas")(object), number("spec", "replicas")(object))
}

// ready is how many of a pod's containers are ready.
func ready(object []byte) []byte {
	all, are := 0, 0
	watchlog.Elements(member(object, "spec", "containers"), func(int, []byte) bool { all++; return true })
	watchlog.Elements(member(object, "status", "containerStatuses"), func(_ int, c []byte) bool {
		if string(member(c, "ready")) == "true" {
			are++
		}
		return true
	})
	return fmt.Appendf(nil, `"%d/%d"`, are, all)
}

// podStatus is the phase of a pod, or what keeps it there.
func podStatus(object []byte) []byte {
	if member(object, "metadata", "deletionTimestamp") != nil {
		return []byte(`"Terminating"`)
	}
	shown := at("status", "phase")(object)
	if reason := member(object, "status", "reason"); reason != nil {
		shown = reason
	}
	watchlog.Elements(member(object, "status", "containerStatuses"), func(_ int, c []byte) bool {
		for _, state := range []string{"waiting", "terminated"} {
			if reason := member(c, "state", state, "reason"); reason != nil {
				shown = reason
			}
		}
		return true
	})
	return shown
}

func restarts(object []byte) []byte {
	n := 0
	watchlog.Elements(member(object, "status", "containerStatuses"), func(_ int, c []byte) bool {
		count, _ := strconv.Atoi(string(member(c, "restartCount"))) // absent is none
		n += count
		return true
	})
	return fmt.Appendf(nil, `"%d"`, n)
}

// nodeStatus is whether a node is ready and takes pods.
func nodeStatus(object []byte) []byte {
	status := "Unknown"
	watchlog.Elements(member(object, "status", "conditions"), func(_ int, c []byte) bool {
		if string(member(c, "type")) == `"Ready"` {
			status = map[bool]string{true: "Ready", false: "NotReady"}[string(member(c, "status")) == `"True"`]
		}
		return true
	})
	if string(member(object, "spec", "unschedulable")) == "true" {
		status += ",SchedulingDisabled"
	}
	return text(status)
}
