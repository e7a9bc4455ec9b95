package litesrv

import (
	"bytes"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	strict "sigs.k8s.io/json"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// derived are annotations of a resource that aren't stored: kube-apiserver makes them when it converts an object to the
// version asked for, of fields that this doesn't have (kubernetes pkg/apis/apps/v1, autoscaling/v1, conversion.go). It
// makes a PartialObjectMetadata of the object as it is before that.
type derived struct {
	prefix      []byte // of all
	annotations []string
}

var (
	derivedOfDaemonSets  = &derived{[]byte(`"deprecated.`), []string{"deprecated.daemonset.template.generation"}}
	derivedOfDeployments = &derived{[]byte(`"deprecated.`), []string{"deprecated.deployment.rollback.to"}}
	derivedOfAutoscalers = &derived{[]byte(`"autoscaling.alpha.`), []string{
		"autoscaling.alpha.kubernetes.io/metrics", "autoscaling.alpha.kubernetes.io/current-metrics",
		"autoscaling.alpha.kubernetes.io/conditions", "autoscaling.alpha.kubernetes.io/behavior",
	}}
)

// derivedOf returns the derived annotations of a resource, nil if it has none.
func derivedOf(r *watchlog.Resource) *derived {
	switch {
	case r.Group == "apps" && r.Name == "daemonsets":
		return derivedOfDaemonSets
	case r.Group == "apps" && r.Name == "deployments":
		return derivedOfDeployments
	case r.Group == "autoscaling" && r.Version == "v1":
		return derivedOfAutoscalers
	default:
		return nil
	}
}

// without returns metadata without the derived annotations. What can't be read stays as it is.
func (d *derived) without(meta []byte) []byte {
	if d == nil || !bytes.Contains(meta, d.prefix) {
		return meta
	}
	var m metav1.ObjectMeta
	if surplus, err := strict.UnmarshalStrict(meta, &m); err != nil || len(surplus) > 0 {
		return meta
	}
	for _, a := range d.annotations {
		delete(m.Annotations, a)
	}
	out, err := json.Marshal(&m)
	if err != nil {
		return meta
	}
	return out
}
