package catalog_test

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

func TestBuiltinsAreInTheScheme(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range catalog.Builtins() {
		for _, f := range k.Faces {
			id := f.Resource.GroupVersionResource().String()
			if seen[id] {
				t.Errorf("%s stands twice in the table", id)
			}
			seen[id] = true
			obj, err := catalog.Scheme.New(f.GVK())
			if err != nil {
				t.Errorf("%s: %v", id, err)
				continue
			}
			typ := reflect.TypeOf(obj).Elem()
			if _, ok := typ.FieldByName("Status"); f.Status && !ok {
				t.Errorf("%s has a status subresource, %s has no Status", id, typ)
			}
			if _, ok := obj.(metav1.Object); !ok {
				t.Errorf("%s: %s is no object with metadata", id, typ)
			}
		}
		if k.Name == nil {
			t.Errorf("%s has no rule for names", k.GroupResource())
		}
	}
	if len(seen) != 62 {
		t.Errorf("%d resources, want 62", len(seen))
	}
}

func TestEventsAreOneKind(t *testing.T) {
	for _, k := range catalog.Builtins() {
		if k.Stored().Resource.Name != "events" {
			continue
		}
		if len(k.Faces) != 2 || k.Faces[1].Resource.Group != "events.k8s.io" {
			t.Fatalf("faces of events: %+v", k.Faces)
		}
	}
}

func TestEventSurvivesBothConversions(t *testing.T) {
	in := &corev1.Event{
		ObjectMeta:          metav1.ObjectMeta{Name: "e", Namespace: "n", Labels: map[string]string{"a": "b"}},
		InvolvedObject:      corev1.ObjectReference{Kind: "Pod", Name: "p", UID: "u"},
		Reason:              "Started",
		Message:             "it started",
		Source:              corev1.EventSource{Component: "kubelet", Host: "h"},
		FirstTimestamp:      metav1.Unix(1, 0),
		LastTimestamp:       metav1.Unix(2, 0),
		Count:               3,
		Type:                "Normal",
		EventTime:           metav1.NewMicroTime(metav1.Unix(4, 5000).Time),
		Series:              &corev1.EventSeries{Count: 6},
		Action:              "start",
		Related:             &corev1.ObjectReference{Name: "r"},
		ReportingController: "c",
		ReportingInstance:   "i",
	}
	in.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Event"))
	mid := catalog.EventFromCore(in)
	if mid.GroupVersionKind() != eventsv1.SchemeGroupVersion.WithKind("Event") || mid.Note != in.Message {
		t.Errorf("events.k8s.io: %+v", mid)
	}
	if out := catalog.EventToCore(mid); !reflect.DeepEqual(in, out) {
		t.Errorf("got  %+v\nwant %+v", out, in)
	}
}

func definition() *catalog.Definition {
	d := &catalog.Definition{ObjectMeta: metav1.ObjectMeta{Name: "widgets.ex.io", UID: "u1"}}
	selector := ".status.selector"
	d.Spec = catalog.DefinitionSpec{
		Group: "ex.io", Scope: catalog.ScopeNamespaced,
		Names: catalog.DefinitionNames{Plural: "widgets", Kind: "Widget", ShortNames: []string{"wd"}},
		Versions: []catalog.DefinitionVersion{
			{Name: "v1beta1", Served: true, Schema: &catalog.Validation{OpenAPIV3Schema: map[string]any{"type": "object"}}},
			{
				Name: "v1", Served: true, Storage: true,
				Schema:           &catalog.Validation{OpenAPIV3Schema: map[string]any{"type": "object"}},
				SelectableFields: []catalog.SelectableField{{JSONPath: ".spec.color"}},
				Subresources: &catalog.Subresources{
					Status: &struct{}{},
					Scale: &catalog.SubresourceScale{
						SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: &selector,
					},
				},
			},
		},
	}
	d.SetDefaults()
	return d
}

func TestFromDefinition(t *testing.T) {
	k := catalog.FromDefinition(definition())
	s := k.Stored()
	if s.Resource.Version != "v1" || s.Resource.Kind != "Widget" || s.Resource.ListKind != "WidgetList" || !s.Resource.Custom {
		t.Errorf("stored face: %+v", s.Resource)
	}
	if len(k.Faces) != 2 || k.Singular != "widget" || k.Definition != "u1" {
		t.Errorf("kind: %+v", k)
	}
	if len(s.Resource.Fields) != 1 || s.Resource.Fields[0].Label != "spec.color" {
		t.Errorf("fields: %+v", s.Resource.Fields)
	}
	if !reflect.DeepEqual(s.Scale, &catalog.Scale{Replicas: "spec.replicas", StatusReplicas: "status.replicas", Selector: "status.selector"}) {
		t.Errorf("scale: %+v", s.Scale)
	}
	if got := s.Subresources(); !reflect.DeepEqual(got, []string{"scale", "status"}) {
		t.Errorf("subresources: %v", got)
	}
}

func TestValidateDefinition(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*catalog.Definition)
		field string // of the first error; "" when there is none
	}{
		"valid":                {func(*catalog.Definition) {}, ""},
		"no group":             {func(d *catalog.Definition) { d.Spec.Group = "" }, "spec.group"},
		"group without a dot":  {func(d *catalog.Definition) { d.Spec.Group = "ex" }, "spec.group"},
		"built-in group":       {func(d *catalog.Definition) { d.Spec.Group = "storage.k8s.io" }, "spec.group"},
		"no plural":            {func(d *catalog.Definition) { d.Spec.Names.Plural = "" }, "spec.names.plural"},
		"upper case plural":    {func(d *catalog.Definition) { d.Spec.Names.Plural = "Widgets" }, "spec.names.plural"},
		"list kind is kind":    {func(d *catalog.Definition) { d.Spec.Names.ListKind = "Widget" }, "spec.names.listKind"},
		"another name":         {func(d *catalog.Definition) { d.Name = "foo.ex.io" }, "metadata.name"},
		"unknown scope":        {func(d *catalog.Definition) { d.Spec.Scope = "Moon" }, "spec.scope"},
		"no version":           {func(d *catalog.Definition) { d.Spec.Versions = nil }, "spec.versions"},
		"two stored versions":  {func(d *catalog.Definition) { d.Spec.Versions[0].Storage = true }, "spec.versions"},
		"same version twice":   {func(d *catalog.Definition) { d.Spec.Versions[0].Name = "v1" }, "spec.versions"},
		"no schema":            {func(d *catalog.Definition) { d.Spec.Versions[0].Schema = nil }, "spec.versions[0].schema.openAPIV3Schema"},
		"path without a dot":   {func(d *catalog.Definition) { d.Spec.Versions[1].SelectableFields[0].JSONPath = "spec" }, "spec.versions[1].selectableFields[0].jsonPath"},
		"replicas outside":     {func(d *catalog.Definition) { d.Spec.Versions[1].Subresources.Scale.SpecReplicasPath = ".status.x" }, "spec.versions[1].subresources.scale.specReplicasPath"},
		"conversion by webook": {func(d *catalog.Definition) { d.Spec.Conversion.Strategy = "Webhook" }, "spec.conversion.strategy"},
	} {
		t.Run(name, func(t *testing.T) {
			d := definition()
			c.spoil(d)
			got := ""
			if errs := d.Validate(); len(errs) > 0 {
				got = errs[0].Field
			}
			if got != c.field {
				t.Errorf("first error is about %q, want %q: %v", got, c.field, d.Validate())
			}
		})
	}
}

func TestValidateUpdateOfDefinition(t *testing.T) {
	old, d := definition(), definition()
	old.Status.StoredVersions = []string{"v1"}
	if errs := d.ValidateUpdate(old); len(errs) != 0 {
		t.Errorf("no change: %v", errs)
	}
	d.Spec.Scope, d.Spec.Names.Kind = catalog.ScopeCluster, "Gadget"
	d.Spec.Versions[1].Name = "v2"
	if errs := d.ValidateUpdate(old); len(errs) != 3 {
		t.Errorf("scope, kind and stored version changed: %v", errs)
	}
}
