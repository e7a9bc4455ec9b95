package embedded

import (
	"encoding/json"
	"net/http"
	"strings"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// scaleFace is the face of all scale subresources.
var scaleFace = &catalog.Face{Resource: watchlog.Resource{Group: "autoscaling", Version: "v1", Name: "scales", Kind: "Scale"}}

// putScale replaces the scale of an object.
func (c *Cloud) putScale(r *request) (answer, error) {
	m, err := r.updateMode()
	if err != nil {
		return answer{}, err
	}
	obj, warnings, err := codec.Decode(scaleFace, r.body, r.mediaType(), m.validation)
	if err != nil {
		return answer{}, err
	}
	ans, err := c.setScale(r, m, func([]byte) (runtime.Object, error) { return obj, nil })
	ans.warnings = warnings
	return ans, err
}

// patchScale changes the scale of an object.
func (c *Cloud) patchScale(r *request) (answer, error) {
	if err := codec.CheckPatch(r.face.def(), r.mediaType()); err != nil {
		return answer{}, err
	}
	m, err := r.patchMode()
	if err != nil {
		return answer{}, err
	}
	var warnings []string
	ans, err := c.setScale(r, m, func(scale []byte) (obj runtime.Object, err error) {
		obj, warnings, err = codec.Patch(scaleFace, scale, r.mediaType(), r.body, m.validation)
		return obj, err
	})
	ans.warnings = warnings
	return ans, err
}

// setScale updates an object by a change of its scale, and answers with the scale after it.
func (c *Cloud) setScale(r *request, m mode, change edit) (answer, error) {
	ans := answer{code: http.StatusOK, gvk: scaleFace.GVK()}
	err := c.write(func(t *tx) error {
		t.dry = m.dry
		p, err := r.at(t)
		if err != nil {
			return err
		}
		p.sub = ""
		raw, err := t.update(p, func(raw []byte) (runtime.Object, error) { return rescale(p, raw, change) })
		if err != nil {
			return err
		}
		ans.raw, err = scaleOf(p.face.def(), raw)
		return err
	})
	return ans, err
}

// rescale returns the object whose JSON is raw after a change of its scale.
func rescale(p place, raw []byte, change edit) (runtime.Object, error) {
	f := p.face.def()
	current, err := scaleOf(f, raw)
	if err != nil {
		return nil, err
	}
	obj, err := change(current)
	if err != nil {
		return nil, err
	}
	s := obj.(*autoscalingv1.Scale)
	if err := p.matches(s); err != nil {
		return nil, err
	}
	if s.Spec.Replicas < 0 {
		return nil, apierrors.NewInvalid(scaleFace.GVK().GroupKind(), s.Name, field.ErrorList{
			field.Invalid(field.NewPath("spec", "replicas"), s.Spec.Replicas, "must be greater than or equal to 0"),
		})
	}
	return withReplicas(f, raw, s)
}

// withReplicas returns the object whose JSON is raw with the replicas of a scale, and with its uid and resourceVersion
// if it has any, to be checked against the object's.
func withReplicas(f *catalog.Face, raw []byte, s *autoscalingv1.Scale) (runtime.Object, error) {
	var m map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &m); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if err := unstructured.SetNestedField(m, int64(s.Spec.Replicas), split(f.Scale.Replicas)...); err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	changed, err := json.Marshal(m)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	obj, err := codec.DecodeStored(f, changed)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	if s.UID != "" {
		accessor(obj).SetUID(s.UID)
	}
	if s.ResourceVersion != "" {
		accessor(obj).SetResourceVersion(s.ResourceVersion)
	}
	return obj, nil
}

// scaleOf returns the JSON of the scale of the object whose JSON is raw.
func scaleOf(f *catalog.Face, raw []byte) ([]byte, error) {
	var m map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &m); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	u := &unstructured.Unstructured{Object: m}
	s := &autoscalingv1.Scale{ObjectMeta: metav1.ObjectMeta{
		Name: u.GetName(), Namespace: u.GetNamespace(), UID: u.GetUID(),
		ResourceVersion: u.GetResourceVersion(), CreationTimestamp: u.GetCreationTimestamp(),
	}}
	s.Spec.Replicas = number(m, f.Scale.Replicas)
	s.Status.Replicas = number(m, f.Scale.StatusReplicas)
	s.Status.Selector = selectorText(m, f.Scale.Selector)
	return codec.Encode(scaleFace, s)
}

func split(path string) []string { return strings.Split(path, ".") }

// number returns the integer at path, 0 when there is none.
func number(m map[string]any, path string) int32 {
	v, _, _ := unstructured.NestedFieldNoCopy(m, split(path)...)
	n, _ := v.(int64)
	return int32(n)
}

// selectorText returns the selector at path in the form of a query: it may be that already, a map of labels, or a
// LabelSelector.
func selectorText(m map[string]any, path string) string {
	if path == "" {
		return ""
	}
	v, _, _ := unstructured.NestedFieldNoCopy(m, split(path)...)
	if text, ok := v.(string); ok {
		return text
	}
	fields, ok := v.(map[string]any)
	if !ok {
		return ""
	}
	var selector metav1.LabelSelector
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector)
	if err == nil && (len(selector.MatchLabels) > 0 || len(selector.MatchExpressions) > 0) {
		if s, err := metav1.LabelSelectorAsSelector(&selector); err == nil {
			return s.String()
		}
	}
	set, _, _ := unstructured.NestedStringMap(m, split(path)...)
	return labels.SelectorFromSet(set).String()
}
