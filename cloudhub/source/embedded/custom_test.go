package embedded_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const (
	definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	widgets     = "/apis/ex.io/v1/namespaces/default/widgets"
)

// widgetDefinition declares widgets with these versions, in JSON.
func widgetDefinition(versions string) string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.ex.io"},"spec":{"group":"ex.io","names":{"plural":"widgets","kind":"Widget","shortNames":["wd"],"categories":["all"]},"scope":"Namespaced","versions":[` + versions + `]}}`
}

const (
	widgetV1 = `{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object","properties":{"color":{"type":"string","description":"its color"}}}}}},"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},"selectableFields":[{"jsonPath":".spec.color"}]}`
	widgetV2 = `{"name":"v2","served":true,"storage":false,"schema":{"openAPIV3Schema":{"type":"object"}}}`
)

func newWidgets(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.must(http.MethodPost, definitions, "", widgetDefinition(widgetV1+","+widgetV2))
	return r
}

func widget(name, rest string) string {
	return `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"` + name + `"}` + rest + `}`
}

func TestDefinitionIsEstablishedAtOnce(t *testing.T) {
	r := newRig(t)
	got := r.do(http.MethodPost, definitions, "", widgetDefinition(widgetV1))
	for _, want := range []string{
		`"generation":1`,
		`"names":{"plural":"widgets","singular":"widget","shortNames":["wd"],"kind":"Widget","listKind":"WidgetList","categories":["all"]}`,
		`"conversion":{"strategy":"None"}`,
		`"type":"Established","status":"True"`,
		`"type":"NamesAccepted","status":"True"`,
		`"storedVersions":["v1"]`,
	} {
		if got.code != 201 || !strings.Contains(got.body, want) {
			t.Errorf("%d, no %s in\n%s", got.code, want, got.body)
		}
	}
	doc, ok := r.cloud.Documents().Get("/apis/ex.io/v1", "")
	if !ok || !strings.Contains(doc.Body.String(), `"name":"widgets/scale"`) {
		t.Errorf("discovery: %s", doc.Body)
	}
	doc, ok = r.cloud.Documents().Get("/openapi/v3/apis/ex.io/v1", "")
	if !ok || !strings.Contains(doc.Body.String(), "its color") {
		t.Errorf("OpenAPI: %s", doc.Body)
	}
	if l := r.log("ex.io", "v1", "widgets"); l.Rev() != r.cloud.Rev() {
		t.Errorf("the new log is at %d, the cloud at %d", l.Rev(), r.cloud.Rev())
	}
}

func TestCustomResources(t *testing.T) {
	r := newWidgets(t)
	got := r.do(http.MethodPost, widgets, "", widget("w", `,"spec":{"replicas":2,"color":"red"},"status":{"replicas":3}`))
	if !strings.HasPrefix(got.body, `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"creationTimestamp":"`) ||
		!strings.HasSuffix(got.body, `"},"spec":{"color":"red","replicas":2}}`) {
		t.Errorf("created: %s", got.body)
	}
	o := r.must(http.MethodPatch, widgets+"/w", mergePatch, `{"spec":{"color":"blue"},"status":{"replicas":1}}`)
	if o.Metadata.Generation != 2 || o.Status != nil {
		t.Errorf("patched: %+v", o)
	}
	o = r.must(http.MethodPatch, widgets+"/w/status", mergePatch, `{"spec":{"color":"green"},"status":{"replicas":1},"metadata":{"labels":{"a":"b"}}}`)
	if o.Metadata.Generation != 2 || o.Spec["color"] != "blue" || o.Status.(map[string]any)["replicas"] != 1.0 || len(o.Metadata.Labels) != 0 {
		t.Errorf("status patched: %+v", o)
	}
	if o = r.must(http.MethodPatch, widgets+"/w/scale", mergePatch, `{"spec":{"replicas":4}}`); o.Kind != "Scale" || o.Spec["replicas"] != 4.0 {
		t.Errorf("scaled: %+v", o)
	}
	log := r.log("ex.io", "v1", "widgets")
	for range log.Snapshot().Select(watchlog.WithKey("default/w"), "") {
		if log.Snapshot().Get("default/w").Field(0) != "blue" {
			t.Error("the field spec.color is not that of the object")
		}
	}
	r.fails(http.MethodPut, widgets+"/w", "", widget("w", ""), 422,
		`widgets.ex.io "w" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`)
	r.fails(http.MethodPatch, widgets+"/w", strategicPatch, `{}`, 415,
		"the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json")
	r.fails(http.MethodPatch, "/apis/ex.io/v2/namespaces/default/widgets/w/status", mergePatch, `{}`, 404, `widgets.ex.io "w" not found`)
	list := r.must(http.MethodDelete, widgets+"?fieldSelector=spec.color%3Dblue", "", "")
	if list.Kind != "WidgetList" || len(list.Items) != 1 || list.Items[0].Kind != "Widget" {
		t.Errorf("deleted: %+v", list)
	}
}

func TestVersionsOfACustomResourceAreTheSameObject(t *testing.T) {
	r := newWidgets(t)
	const v2 = "/apis/ex.io/v2/namespaces/default/widgets"
	r.must(http.MethodPost, widgets, "", widget("a", ""))
	o := r.must(http.MethodPost, v2, "", strings.Replace(widget("b", ""), "ex.io/v1", "ex.io/v2", 1))
	if o.APIVersion != "ex.io/v2" {
		t.Errorf("created in v2: %+v", o)
	}
	if o = r.must(http.MethodPatch, v2+"/a", mergePatch, `{"spec":{"x":1}}`); o.APIVersion != "ex.io/v2" {
		t.Errorf("patched in v2: %+v", o)
	}
	for _, version := range []string{"v1", "v2"} {
		log := r.log("ex.io", version, "widgets")
		for _, e := range r.events(log, 6) {
			if !strings.HasPrefix(string(e.Object.JSON()), `{"apiVersion":"ex.io/`+version+`"`) {
				t.Errorf("event of %s: %s", version, e.Object.JSON())
			}
		}
		if n := len(r.events(log, 6)); n != 3 {
			t.Errorf("%s has %d events", version, n)
		}
	}
	log, release, err := r.cloud.Open(t.Context(), schema.GroupResource{Group: "ex.io", Resource: "widgets"})
	if err != nil || log.Resource().Version != "v2" {
		t.Fatalf("the preferred version is %v, %v", log, err)
	}
	release()
	r.reopen()
	if a := r.log("ex.io", "v2", "widgets").Snapshot().Get("default/a"); a == nil || !strings.HasPrefix(string(a.JSON()), `{"apiVersion":"ex.io/v2"`) {
		t.Error("v2 is not the same after a restart")
	}
}

func TestDeletingADefinitionDeletesItsObjects(t *testing.T) {
	r := newWidgets(t)
	r.must(http.MethodPost, widgets, "", widget("a", ""))
	r.must(http.MethodPost, widgets, "", widget("b", ""))
	log, crds := r.log("ex.io", "v1", "widgets"), r.log("apiextensions.k8s.io", "v1", "customresourcedefinitions")
	before := r.cloud.Rev()
	wake := make(watchlog.Signal, 1)
	reader, err := log.NewReader(before, wake)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	o := r.must(http.MethodDelete, definitions+"/widgets.ex.io", "", "")
	if o.Metadata.DeletionTimestamp == nil || len(o.Metadata.Finalizers) != 1 {
		t.Errorf("answer: %+v", o.Metadata)
	}
	if r.cloud.Rev() != before+3 {
		t.Errorf("revision %d after %d", r.cloud.Rev(), before)
	}
	if events := r.events(crds, before); len(events) != 1 || events[0].Type != watchlog.Deleted || events[0].Rev != before+3 {
		t.Errorf("events of the definition: %v", events)
	}
	page, err := reader.Read(make([]*watchlog.Event, 0, 8))
	if err != nil || len(page.Events) != 2 || page.Events[1].Type != watchlog.Deleted {
		t.Errorf("a reader of the gone resource got %v, %v", page.Events, err)
	}
	if _, err := reader.Read(make([]*watchlog.Event, 0, 8)); !errors.Is(err, source.ErrUnknownResource) {
		t.Errorf("then it got %v", err)
	}
	if got := r.do(http.MethodPost, widgets, "", widget("c", "")); got.code != http.StatusNotFound || got.body != "404 page not found" {
		t.Errorf("create: %d %s", got.code, got.body)
	}
	if _, ok := r.cloud.Documents().Get("/apis/ex.io/v1", ""); ok {
		t.Error("discovery still has the group")
	}
	r.must(http.MethodPost, definitions, "", widgetDefinition(widgetV1))
	if n := r.log("ex.io", "v1", "widgets").Snapshot().Len(); n != 0 {
		t.Errorf("%d objects came back with the definition", n)
	}
}

func TestFinalizersOfCustomResourcesHoldTheDefinition(t *testing.T) {
	r := newWidgets(t)
	r.must(http.MethodPost, widgets, "", strings.Replace(widget("a", ""), `"a"`, `"a","finalizers":["x.io/y"]`, 1))
	r.must(http.MethodPost, widgets, "", widget("b", ""))
	r.must(http.MethodDelete, definitions+"/widgets.ex.io", "", "")
	log := r.log("ex.io", "v1", "widgets")
	if log.Snapshot().Len() != 1 {
		t.Errorf("%d objects are left", log.Snapshot().Len())
	}
	r.fails(http.MethodPost, widgets, "", widget("c", ""), 405, "create not allowed while custom resource definition is terminating")
	r.must(http.MethodPatch, widgets+"/a", mergePatch, `{"metadata":{"finalizers":null}}`)
	if got := r.do(http.MethodGet, definitions+"/widgets.ex.io", "", ""); got.code != 404 {
		t.Errorf("the definition: %d %s", got.code, got.body)
	}
	if got := r.do(http.MethodPost, widgets, "", widget("c", "")); got.code != 404 {
		t.Errorf("create: %d %s", got.code, got.body)
	}
}

func TestChangingADefinition(t *testing.T) {
	r := newWidgets(t)
	r.must(http.MethodPost, widgets, "", widget("a", `,"spec":{"color":"red"}`))
	v1, v2 := r.log("ex.io", "v1", "widgets"), r.log("ex.io", "v2", "widgets")

	t.Log("a label: nothing about the resource changes")
	r.must(http.MethodPatch, definitions+"/widgets.ex.io", mergePatch, `{"metadata":{"labels":{"a":"b"}}}`)
	if r.log("ex.io", "v1", "widgets") != v1 {
		t.Error("v1 has a new log")
	}

	t.Log("v2 is stored and v3 added: v1 and v2 stay, v3 has the objects")
	o := r.must(http.MethodGet, definitions+"/widgets.ex.io", "", "")
	versions := strings.Replace(widgetV1, `"storage":true`, `"storage":false`, 1) + "," + strings.Replace(widgetV2, `"storage":false`, `"storage":true`, 1) +
		"," + strings.Replace(widgetV2, `"v2"`, `"v3"`, 1)
	body := strings.Replace(widgetDefinition(versions), `"name":"widgets.ex.io"`, `"name":"widgets.ex.io","resourceVersion":"`+o.Metadata.ResourceVersion+`"`, 1)
	got := r.do(http.MethodPut, definitions+"/widgets.ex.io", "", body)
	if got.code != 200 || !strings.Contains(got.body, `"storedVersions":["v1","v2"]`) || !strings.Contains(got.body, `"generation":2`) {
		t.Fatalf("%d %s", got.code, got.body)
	}
	if r.log("ex.io", "v1", "widgets") != v1 || r.log("ex.io", "v2", "widgets") != v2 {
		t.Error("v1 or v2 has a new log")
	}
	v3 := r.log("ex.io", "v3", "widgets")
	if a := v3.Snapshot().Get("default/a"); a == nil || !strings.HasPrefix(string(a.JSON()), `{"apiVersion":"ex.io/v3"`) {
		t.Error("v3 lacks the object")
	}
	r.must(http.MethodPatch, widgets+"/a", mergePatch, `{"spec":{"color":"blue"}}`)
	for _, l := range []*watchlog.Log{v1, v2, v3} {
		if !strings.Contains(string(l.Snapshot().Get("default/a").JSON()), "blue") {
			t.Errorf("%s did not follow", l.Resource().Version)
		}
	}

	t.Log("v1 loses its selectable field: watches of it end")
	r.must(http.MethodPatch, definitions+"/widgets.ex.io", jsonPatch, `[{"op":"remove","path":"/spec/versions/0/selectableFields"}]`)
	if err := v1.WaitRev(t.Context(), 1<<60); !errors.Is(err, source.ErrRedefined) {
		t.Errorf("the old log of v1 ended with %v", err)
	}
	if r.log("ex.io", "v1", "widgets").Snapshot().Get("default/a") == nil {
		t.Error("the new log of v1 lacks the object")
	}
	r.reopen()
	if a := r.log("ex.io", "v1", "widgets").Snapshot().Get("default/a"); a == nil || !strings.Contains(string(a.JSON()), "blue") {
		t.Error("the object is not the same after a restart")
	}
}

func TestRefusedDefinitions(t *testing.T) {
	r := newWidgets(t)
	r.fails(http.MethodPatch, definitions+"/widgets.ex.io", mergePatch, `{"spec":{"scope":"Cluster"}}`, 422,
		`CustomResourceDefinition.apiextensions.k8s.io "widgets.ex.io" is invalid: spec.scope: Invalid value: "Cluster": field is immutable`)
	other := strings.NewReplacer("widgets", "gadgets").Replace(widgetDefinition(widgetV1))
	got := r.do(http.MethodPost, definitions, "", other)
	if got.code != 422 || !strings.Contains(got.body, "is already in use by widgets.ex.io") {
		t.Errorf("a kind that is taken: %d %s", got.code, got.body)
	}
	got = r.do(http.MethodPost, definitions, "", strings.Replace(widgetDefinition(widgetV1), `"name":"widgets.ex.io"`, `"name":"foo.ex.io"`, 1))
	if got.code != 422 || !strings.Contains(got.body, `must be spec.names.plural+\".\"+spec.group`) {
		t.Errorf("a wrong name: %d %s", got.code, got.body)
	}
}

func TestDeletingANamespaceDeletesItsContent(t *testing.T) {
	r := newWidgets(t)
	const ns = "/api/v1/namespaces"
	r.must(http.MethodPost, ns, "", `{"metadata":{"name":"t1"}}`)
	r.must(http.MethodPost, ns+"/t1/configmaps", "", `{"metadata":{"name":"a"}}`)
	r.must(http.MethodPost, ns+"/t1/secrets", "", `{"metadata":{"name":"a"},"stringData":{"a":"b"}}`)
	r.must(http.MethodPost, "/apis/ex.io/v1/namespaces/t1/widgets", "", widget("a", ""))
	r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"stays"}}`)
	before := r.cloud.Rev()
	o := r.must(http.MethodDelete, ns+"/t1", "", "")
	if o.Metadata.DeletionTimestamp == nil || o.Status.(map[string]any)["phase"] != "Terminating" {
		t.Errorf("answer: %+v", o)
	}
	if r.cloud.Rev() != before+4 {
		t.Errorf("revision %d after %d", r.cloud.Rev(), before)
	}
	seen := map[uint64]bool{}
	for _, l := range []*watchlog.Log{
		r.log("", "v1", "configmaps"), r.log("", "v1", "secrets"), r.log("ex.io", "v1", "widgets"), r.log("", "v1", "namespaces"),
	} {
		events := r.events(l, before)
		if len(events) != 1 || events[0].Type != watchlog.Deleted || seen[events[0].Rev] {
			t.Errorf("events of %s: %v", l.Resource().Name, events)
			continue
		}
		seen[events[0].Rev] = true
	}
	r.fails(http.MethodDelete, ns+"/t1", "", "", 404, `namespaces "t1" not found`)
}

func TestFinalizersHoldANamespace(t *testing.T) {
	r := newRig(t)
	const ns = "/api/v1/namespaces"
	r.must(http.MethodPost, ns, "", `{"metadata":{"name":"t1"}}`)
	r.must(http.MethodPost, ns+"/t1/configmaps", "", `{"metadata":{"name":"a","finalizers":["x.io/y"]}}`)
	r.must(http.MethodPost, ns+"/t1/configmaps", "", `{"metadata":{"name":"b"}}`)
	r.must(http.MethodDelete, ns+"/t1", "", "")
	if o := r.must(http.MethodGet, ns+"/t1", "", ""); o.Status.(map[string]any)["phase"] != "Terminating" {
		t.Errorf("the namespace: %+v", o)
	}
	r.fails(http.MethodPost, ns+"/t1/configmaps", "", `{"metadata":{"name":"z"}}`, 403,
		`configmaps "z" is forbidden: unable to create new content in namespace t1 because it is being terminated`)
	r.must(http.MethodPut, ns+"/t1/finalize", "", `{"metadata":{"name":"t1"},"spec":{"finalizers":[]}}`)
	if log := r.log("", "v1", "configmaps"); log.Snapshot().Len() != 1 {
		t.Errorf("%d objects are left", log.Snapshot().Len())
	}
	r.reopen()
	r.must(http.MethodPatch, ns+"/t1/configmaps/a", mergePatch, `{"metadata":{"finalizers":null}}`)
	if got := r.do(http.MethodGet, ns+"/t1", "", ""); got.code != 404 {
		t.Errorf("the namespace: %d %s", got.code, got.body)
	}
}

func TestEventsHaveTwoEncodings(t *testing.T) {
	r := newRig(t)
	r.must(http.MethodPost, "/api/v1/namespaces/default/events", "",
		`{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default","uid":"u"},"message":"hello","reason":"Started","type":"Normal"}`)
	got := r.do(http.MethodPatch, "/apis/events.k8s.io/v1/namespaces/default/events/e", mergePatch, `{"note":"bye"}`)
	if got.code != 200 || !strings.Contains(got.body, `"apiVersion":"events.k8s.io/v1"`) || !strings.Contains(got.body, `"regarding":{"kind":"Pod"`) {
		t.Fatalf("%d %s", got.code, got.body)
	}
	core, named := r.log("", "v1", "events"), r.log("events.k8s.io", "v1", "events")
	check := func(when string) {
		t.Helper()
		a, b := core.Snapshot().Get("default/e"), named.Snapshot().Get("default/e")
		if !strings.Contains(string(a.JSON()), `"message":"bye"`) || !strings.Contains(string(b.JSON()), `"note":"bye"`) || a.Rev() != b.Rev() {
			t.Errorf("%s:\n%s\n%s", when, a.JSON(), b.JSON())
		}
		if i := named.Resource().FieldIndex("regarding.uid"); b.Field(i) != "u" {
			t.Errorf("%s: regarding.uid is %q", when, b.Field(i))
		}
	}
	check("live")
	if r.cloud.Rev() != 7 {
		t.Errorf("revision %d, want 7", r.cloud.Rev())
	}
	r.reopen()
	core, named = r.log("", "v1", "events"), r.log("events.k8s.io", "v1", "events")
	check("after a restart")
}
