package embedded_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const (
	configMaps = "/api/v1/namespaces/default/configmaps"
	configMapA = configMaps + "/a"
)

func TestANewCloudHasTheFirstNamespaces(t *testing.T) {
	r := newRig(t)
	list := r.must(http.MethodGet, "/api/v1/namespaces", "", "")
	var names []string
	for _, ns := range list.Items {
		names = append(names, ns.Metadata.Name)
		if ns.Metadata.Name == "kube-system" && string(ns.Metadata.UID) != r.cloud.Epoch() {
			t.Errorf("the epoch is %s, kube-system's uid %s", r.cloud.Epoch(), ns.Metadata.UID)
		}
	}
	if got := strings.Join(names, " "); got != "default kube-node-lease kube-public kube-system" {
		t.Errorf("namespaces: %s", got)
	}
	if r.cloud.Rev() != 5 {
		t.Errorf("revision %d, want 5: the empty cloud is at 1", r.cloud.Rev())
	}
}

func TestCreateReplacePatchDelete(t *testing.T) {
	r := newRig(t)
	got := r.do(http.MethodPost, configMaps, "", `{"metadata":{"name":"a","labels":{"x":"y"}},"data":{"a":"<b>&"}}`)
	var o object
	if err := json.Unmarshal([]byte(got.body), &o); err != nil || got.code != http.StatusCreated {
		t.Fatalf("%d %s", got.code, got.body)
	}
	want := `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"default","uid":"` + string(o.Metadata.UID) +
		`","resourceVersion":"6","creationTimestamp":"` + o.Metadata.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z") +
		`","labels":{"x":"y"}},"data":{"a":"\u003cb\u003e\u0026"}}`
	if got.body != want {
		t.Errorf("created\ngot  %s\nwant %s", got.body, want)
	}
	log := r.log("", "v1", "configmaps")
	if stored := log.Snapshot().Get("default/a"); stored == nil || string(stored.JSON()) != want {
		t.Error("the log has other bytes than the answer")
	}
	r.must(http.MethodPut, configMaps+"/a", "", `{"metadata":{"name":"a"},"data":{"a":"1"}}`)
	r.must(http.MethodPatch, configMaps+"/a", mergePatch, `{"data":{"b":"2"}}`)
	r.must(http.MethodPatch, configMaps+"/a", strategicPatch, `{"data":{"c":"3"}}`)
	o = r.must(http.MethodPatch, configMaps+"/a", jsonPatch, `[{"op":"remove","path":"/data/a"}]`)
	if o.Metadata.ResourceVersion != "10" || len(o.Data) != 2 || o.Data["b"] != "2" || o.Data["c"] != "3" {
		t.Errorf("after three patches: %+v", o)
	}
	o = r.must(http.MethodDelete, configMaps+"/a", "", "")
	if o.Kind != "Status" || o.Status != "Success" || o.Details.Name != "a" || o.Details.Kind != "configmaps" || o.Details.UID == "" {
		t.Errorf("deleted: %+v", o)
	}
	var types []watchlog.EventType
	for i, e := range r.events(log, 5) {
		types = append(types, e.Type)
		if e.Rev != uint64(6+i) {
			t.Errorf("event %d is at %d", i, e.Rev)
		}
	}
	if len(types) != 6 || types[0] != watchlog.Added || types[3] != watchlog.Modified || types[5] != watchlog.Deleted {
		t.Errorf("events: %v", types)
	}
}

func TestAWriteThatChangesNothingTakesNoRevision(t *testing.T) {
	r := newRig(t)
	r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"a"},"data":{"a":"1"}}`)
	for _, c := range [][2]string{{http.MethodPut, `{"metadata":{"name":"a"},"data":{"a":"1"}}`}, {http.MethodPatch, `{"data":{"a":"1"}}`}} {
		contentType := ""
		if c[0] == http.MethodPatch {
			contentType = mergePatch
		}
		if o := r.must(c[0], configMaps+"/a", contentType, c[1]); o.Metadata.ResourceVersion != "6" {
			t.Errorf("%s: resourceVersion %s", c[0], o.Metadata.ResourceVersion)
		}
	}
	if r.cloud.Rev() != 6 {
		t.Errorf("revision %d, want 6", r.cloud.Rev())
	}
}

// refusals are requests about a config map "a", at revision 6, whose uid is written UID-OF-A.
var refusals = map[string]struct {
	method, path, contentType, body string
	code                            int
	message                         string
}{
	"exists": {
		http.MethodPost, configMaps, "", `{"metadata":{"name":"a"}}`, 409, `configmaps "a" already exists`,
	},
	"no such namespace": {
		http.MethodPost, "/api/v1/namespaces/nope/configmaps", "", `{"metadata":{"name":"a"}}`, 404, `namespaces "nope" not found`,
	},
	"another namespace": {
		http.MethodPost, configMaps, "", `{"metadata":{"name":"b","namespace":"x"}}`, 400,
		"the namespace of the provided object does not match the namespace sent on the request",
	},
	"revision of a new object": {
		http.MethodPost, configMaps, "", `{"metadata":{"name":"b","resourceVersion":"3"}}`, 500,
		"resourceVersion should not be set on objects to be created",
	},
	"no name": {
		http.MethodPost, configMaps, "", `{}`, 422,
		`ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required`,
	},
	"replace, missing": {
		http.MethodPut, configMaps + "/b", "", `{"metadata":{"name":"b"}}`, 404, `configmaps "b" not found`,
	},
	"replace, another name": {
		http.MethodPut, configMapA, "", `{"metadata":{"name":"b"}}`, 400, "the name of the object (b) does not match the name on the URL (a)",
	},
	"replace, no name": {
		http.MethodPut, configMapA, "", `{}`, 400, "the name of the object (a based on URL) was undeterminable: name must be provided",
	},
	"replace, old version": {
		http.MethodPut, configMapA, "", `{"metadata":{"name":"a","resourceVersion":"3"}}`, 409,
		`Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`,
	},
	"replace, another uid": {
		http.MethodPut, configMapA, "", `{"metadata":{"name":"a","uid":"z"}}`, 409,
		`Operation cannot be fulfilled on configmaps "a": precondition failed: UID in precondition: z, UID in object meta: UID-OF-A`,
	},
	"patch, missing": {
		http.MethodPatch, configMaps + "/b", mergePatch, `{}`, 404, `configmaps "b" not found`,
	},
	"patch, uid": {
		http.MethodPatch, configMapA, mergePatch, `{"metadata":{"uid":"z"}}`, 422,
		`ConfigMap "a" is invalid: metadata.uid: Invalid value: "z": field is immutable`,
	},
	"patch, old version": {
		http.MethodPatch, configMapA, mergePatch, `{"metadata":{"resourceVersion":"3"}}`, 409,
		`Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again`,
	},
	"server-side apply": {
		http.MethodPatch, configMapA, "application/apply-patch+yaml", `{}`, 415,
		"the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json",
	},
	"unknown body": {
		http.MethodPost, configMaps, "text/foo", `{}`, 415,
		"the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
	},
	"too large": {
		http.MethodPost, configMaps, "", `{"metadata":{"name":"b"},"data":{"a":"` + strings.Repeat("x", 3<<20) + `"}}`, 413,
		"Request entity too large: limit is 3145728",
	},
	"dry run of another kind": {
		http.MethodPost, configMaps + "?dryRun=x", "", `{"metadata":{"name":"b"}}`, 422,
		`CreateOptions.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["x"]: supported values: "All"`,
	},
	"delete, missing": {
		http.MethodDelete, configMaps + "/b", "", "", 404, `configmaps "b" not found`,
	},
	"delete, another uid": {
		http.MethodDelete, configMapA, "", `{"preconditions":{"uid":"x"}}`, 409,
		`Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in record (UID-OF-A). The object might have been deleted and then recreated`,
	},
	"delete, old version": {
		http.MethodDelete, configMapA, "", `{"preconditions":{"resourceVersion":"1"}}`, 409,
		`Operation cannot be fulfilled on ConfigMap "a": the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (6). The object might have been modified`,
	},
	"delete, unknown policy": {
		http.MethodDelete, configMapA + "?propagationPolicy=Foo", "", "", 422,
		`DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Foo": supported values: "Foreground", "Background", "Orphan", "nil"`,
	},
	"POST to an object":     {http.MethodPost, configMapA, "", `{}`, 405, "the server does not allow this method on the requested resource"},
	"PUT of a collection":   {http.MethodPut, configMaps, "", `{}`, 405, "the server does not allow this method on the requested resource"},
	"POST to all":           {http.MethodPost, "/api/v1/configmaps", "", `{}`, 405, "the server does not allow this method on the requested resource"},
	"DELETE all namespaces": {http.MethodDelete, "/api/v1/namespaces", "", ``, 405, "the server does not allow this method on the requested resource"},
	"unknown resource":      {http.MethodPost, "/api/v1/namespaces/default/nopes", "", `{}`, 404, "the server could not find the requested resource"},
	"unknown subresource":   {http.MethodPut, configMapA + "/nope", "", `{}`, 404, "the server could not find the requested resource"},
	"what no list can be of, to delete by": {
		http.MethodDelete, configMaps + "?labelSelector=a%3D%3D%3Db", "", "", 400,
		"unable to parse requirement: found '=', expected: identifier",
	},
	"delete many, another uid": {
		http.MethodDelete, configMaps, "", `{"preconditions":{"uid":"x"}}`, 409,
		`Operation cannot be fulfilled on ConfigMap "a": the UID in the precondition (x) does not match the UID in record (UID-OF-A). The object might have been deleted and then recreated`,
	},
	"read of what can only be written": {
		http.MethodGet, "/api/v1/namespaces/default/finalize", "", "", 405, "the server does not allow this method on the requested resource",
	},
	"namespace in a namespace": {
		http.MethodDelete, "/api/v1/namespaces/default/namespaces/kube-node-lease", "", "", 404, "the server could not find the requested resource",
	},
	"node in a namespace": {
		http.MethodPost, "/api/v1/namespaces/default/nodes", "", `{"metadata":{"name":"n"}}`, 404, "the server could not find the requested resource",
	},
	"first namespace": {
		http.MethodDelete, "/api/v1/namespaces/kube-system", "", "", 403, `namespaces "kube-system" is forbidden: this namespace may not be deleted`,
	},
	"lease without revision": {
		http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/default/leases/l", "", `{"metadata":{"name":"l","uid":"u"}}`, 404, `leases.coordination.k8s.io "l" not found`,
	},
}

func TestRefusals(t *testing.T) {
	r := newRig(t)
	r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"a"}}`)
	uid := r.must(http.MethodGet, configMaps+"/a", "", "").Metadata.UID
	for name, c := range refusals {
		t.Run(name, func(t *testing.T) {
			(&rig{T: t, server: r.server}).fails(c.method, c.path, c.contentType, c.body, c.code, strings.ReplaceAll(c.message, "UID-OF-A", string(uid)))
		})
	}
	if r.cloud.Rev() != 6 {
		t.Errorf("refused writes took revisions up to %d", r.cloud.Rev())
	}
}

func TestUnknownGroupIsNoStatus(t *testing.T) {
	r := newRig(t)
	got := r.do(http.MethodPost, "/apis/nope.io/v1/nopes", "", `{}`)
	if got.code != http.StatusNotFound || got.body != "404 page not found" || got.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("got %d %s %v", got.code, got.body, got.header)
	}
}

func TestInvalidLabelsAreNamed(t *testing.T) {
	r := newRig(t)
	got := r.do(http.MethodPost, configMaps, "", `{"metadata":{"name":"a","labels":{"a b":"c d"},"annotations":{"x y":""}}}`)
	var s metav1.Status
	if err := json.Unmarshal([]byte(got.body), &s); err != nil {
		t.Fatal(err)
	}
	if got.code != 422 || s.Reason != metav1.StatusReasonInvalid || len(s.Details.Causes) != 3 || s.Details.Causes[0].Field != "metadata.labels" {
		t.Errorf("got %d %s", got.code, got.body)
	}
}

func TestWarnings(t *testing.T) {
	r := newRig(t)
	got := r.do(http.MethodPost, configMaps, "", `{"metadata":{"name":"w","bar":2},"foo":1,"data":{"x":"1","x":"2"}}`)
	want := []string{`299 - "unknown field \"metadata.bar\""`, `299 - "unknown field \"foo\""`, `299 - "duplicate field \"data.x\""`}
	if warnings := got.header.Values("Warning"); got.code != 201 || strings.Join(warnings, "|") != strings.Join(want, "|") {
		t.Errorf("%d %v", got.code, warnings)
	}
	got = r.do(http.MethodPost, configMaps+"?fieldValidation=Ignore", "", `{"metadata":{"name":"v"},"foo":1}`)
	if got.code != 201 || len(got.header.Values("Warning")) != 0 {
		t.Errorf("Ignore: %d %v", got.code, got.header)
	}
	r.fails(http.MethodPost, configMaps+"?fieldValidation=Strict", "", `{"metadata":{"name":"u"},"foo":1}`, 400,
		`ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "foo"`)
}

func TestDryRunStoresNothing(t *testing.T) {
	r := newRig(t)
	r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"a"},"data":{"a":"1"}}`)
	o := r.must(http.MethodPost, configMaps+"?dryRun=All", "", `{"metadata":{"name":"dry"}}`)
	if o.Metadata.UID == "" || o.Metadata.ResourceVersion != "" {
		t.Errorf("created: %+v", o.Metadata)
	}
	o = r.must(http.MethodPut, configMaps+"/a?dryRun=All", "", `{"metadata":{"name":"a"},"data":{"a":"2"}}`)
	if o.Data["a"] != "2" || o.Metadata.ResourceVersion != "6" {
		t.Errorf("replaced: %+v", o)
	}
	r.must(http.MethodPatch, configMaps+"/a?dryRun=All", mergePatch, `{"data":{"a":"2"}}`)
	r.must(http.MethodDelete, configMaps+"/a?dryRun=All", "", "")
	r.must(http.MethodDelete, configMaps+"?dryRun=All", "", "")
	r.must(http.MethodPost, "/api/v1/namespaces?dryRun=All", "", `{"metadata":{"name":"n"}}`)
	r.must(http.MethodDelete, "/api/v1/namespaces/kube-node-lease?dryRun=All", "", "")
	if r.cloud.Rev() != 6 || r.log("", "v1", "configmaps").Snapshot().Len() != 1 {
		t.Errorf("revision %d", r.cloud.Rev())
	}
}

func TestGeneratedNames(t *testing.T) {
	r := newRig(t)
	seen := map[string]bool{}
	for range 20 {
		o := r.must(http.MethodPost, configMaps, "", `{"metadata":{"generateName":"gen-"}}`)
		if !strings.HasPrefix(o.Metadata.Name, "gen-") || len(o.Metadata.Name) != 9 || seen[o.Metadata.Name] {
			t.Errorf("name %q", o.Metadata.Name)
		}
		seen[o.Metadata.Name] = true
	}
	long := strings.Repeat("x", 70)
	o := r.must(http.MethodPost, configMaps, "", `{"metadata":{"generateName":"`+long+`"}}`)
	if len(o.Metadata.Name) != 63 {
		t.Errorf("name of %d characters", len(o.Metadata.Name))
	}
}

func TestFinalizersHoldAnObject(t *testing.T) {
	r := newRig(t)
	at := configMaps + "/a"
	r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"a","finalizers":["x.io/y"]}}`)
	o := r.must(http.MethodDelete, at, "", "")
	if o.Kind != "ConfigMap" || o.Metadata.DeletionTimestamp == nil || o.Metadata.ResourceVersion != "7" {
		t.Errorf("marked: %+v", o)
	}
	o = r.must(http.MethodDelete, at, "", "")
	if o.Metadata.ResourceVersion != "7" {
		t.Errorf("marked again: %+v", o)
	}
	r.fails(http.MethodPost, configMaps, "", `{"metadata":{"name":"a"}}`, 409, `object is being deleted: configmaps "a" already exists`)
	r.fails(http.MethodPatch, at, mergePatch, `{"metadata":{"finalizers":["x.io/y","z.io/a"]}}`, 422,
		`ConfigMap "a" is invalid: metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"z.io/a"}`)
	o = r.must(http.MethodPatch, at, mergePatch, `{"metadata":{"finalizers":null}}`)
	if o.Metadata.ResourceVersion != "7" || len(o.Metadata.Finalizers) != 0 {
		t.Errorf("released: %+v", o)
	}
	log := r.log("", "v1", "configmaps")
	if log.Snapshot().Len() != 0 {
		t.Error("the object is still there")
	}
	if events := r.events(log, 7); len(events) != 1 || events[0].Type != watchlog.Deleted || events[0].Rev != 8 {
		t.Errorf("events: %v", events)
	}
}

func TestStatusIsWrittenThroughItsSubresource(t *testing.T) {
	r := newRig(t)
	r.must(http.MethodPost, "/api/v1/nodes", "", `{"metadata":{"name":"n"},"spec":{"podCIDR":"10.1.0.0/24"},"status":{"phase":"x"}}`)
	o := r.must(http.MethodPatch, "/api/v1/nodes/n/status", mergePatch, `{"metadata":{"annotations":{"a":"b"}},"spec":{"unschedulable":true},"status":{"phase":"Running"}}`)
	if o.Status.(map[string]any)["phase"] != "Running" || o.Spec["unschedulable"] != nil || o.Metadata.Annotations["a"] != "b" {
		t.Errorf("through the subresource: %+v", o)
	}
	o = r.must(http.MethodPatch, "/api/v1/nodes/n", mergePatch, `{"spec":{"unschedulable":true},"status":{"phase":"Terminated"}}`)
	if o.Status.(map[string]any)["phase"] != "Running" || o.Spec["unschedulable"] != true {
		t.Errorf("through the object: %+v", o)
	}
	if o = r.must(http.MethodGet, "/api/v1/nodes/n/status", "", ""); o.Kind != "Node" || o.Spec["podCIDR"] != "10.1.0.0/24" {
		t.Errorf("read: %+v", o)
	}
}

const deployment = `{"metadata":{"name":"d"},"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"a","image":"b"}]}}},"status":{"replicas":4}}`

func TestGenerationCountsWhatIsAskedFor(t *testing.T) {
	r := newRig(t)
	const all = "/apis/apps/v1/namespaces/default/deployments"
	if o := r.must(http.MethodPost, all, "", deployment); o.Metadata.Generation != 1 || o.Spec["replicas"] != 1.0 || len(o.Status.(map[string]any)) != 0 {
		t.Errorf("created: %+v", o)
	}
	for _, c := range []struct {
		path, patch string
		want        int64
	}{
		{"/d", `{"metadata":{"labels":{"x":"y"}}}`, 1},
		{"/d", `{"spec":{"replicas":2}}`, 2},
		{"/d/status", `{"status":{"replicas":2}}`, 2},
		{"/d", `{"metadata":{"annotations":{"x":"y"}}}`, 3}, // copied to replica sets
		{"/d", `{"metadata":{"generation":9}}`, 3},
	} {
		if o := r.must(http.MethodPatch, all+c.path, mergePatch, c.patch); o.Metadata.Generation != c.want {
			t.Errorf("after %s: generation %d, want %d", c.patch, o.Metadata.Generation, c.want)
		}
	}
}

func TestScale(t *testing.T) {
	r := newRig(t)
	const all = "/apis/apps/v1/namespaces/default/deployments"
	r.must(http.MethodPost, all, "", deployment)
	o := r.must(http.MethodGet, all+"/d/scale", "", "")
	if o.Kind != "Scale" || o.Spec["replicas"] != 1.0 || o.Status.(map[string]any)["selector"] != "a=b" {
		t.Errorf("read: %+v", o)
	}
	o = r.must(http.MethodPatch, all+"/d/scale", mergePatch, `{"spec":{"replicas":3}}`)
	if o.Spec["replicas"] != 3.0 || o.Metadata.ResourceVersion != "7" {
		t.Errorf("patched: %+v", o)
	}
	r.must(http.MethodPut, all+"/d/scale", "", `{"metadata":{"name":"d","resourceVersion":"7"},"spec":{"replicas":4}}`)
	if o = r.must(http.MethodGet, all+"/d", "", ""); o.Spec["replicas"] != 4.0 || o.Metadata.Generation != 3 {
		t.Errorf("the object: %+v", o)
	}
	r.fails(http.MethodPut, all+"/d/scale", "", `{"metadata":{"name":"d","resourceVersion":"7"},"spec":{"replicas":5}}`, 409,
		`Operation cannot be fulfilled on deployments.apps "d": the object has been modified; please apply your changes to the latest version and try again`)
	r.fails(http.MethodPut, all+"/d/scale", "", `{"metadata":{"name":"d"},"spec":{"replicas":-4}}`, 422,
		`Scale.autoscaling "d" is invalid: spec.replicas: Invalid value: -4: must be greater than or equal to 0`)
	r.fails(http.MethodPut, all+"/d/scale", "", `{"metadata":{"name":"e"},"spec":{"replicas":4}}`, 400,
		"the name of the object (e) does not match the name on the URL (d)")
	r.fails(http.MethodGet, all+"/nope/scale", "", "", 404, `deployments.apps "nope" not found`)
	r.fails(http.MethodPost, all+"/d/scale", "", "{}", 405, "the server does not allow this method on the requested resource")
}

func TestPutCreatesALease(t *testing.T) {
	r := newRig(t)
	const at = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l"
	got := r.do(http.MethodPut, at, "", `{"metadata":{"name":"l"}}`)
	if got.code != http.StatusCreated {
		t.Errorf("%d %s", got.code, got.body)
	}
	r.fails(http.MethodPut, at, "", `{"metadata":{"name":"l"},"spec":{"holderIdentity":"a"}}`, 422,
		`leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update`)
}

func TestDeleteCollection(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"a", "b", "c"} {
		r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"`+name+`","labels":{"n":"`+name+`"}}}`)
	}
	if o := r.must(http.MethodDelete, configMaps+"?labelSelector=n%3Db", "", ""); o.Kind != "ConfigMapList" || len(o.Items) != 1 || o.Items[0].Metadata.Name != "b" {
		t.Errorf("by label: %+v", o)
	}
	if o := r.must(http.MethodDelete, configMaps+"?fieldSelector=metadata.name%3Da", "", ""); len(o.Items) != 1 || o.Items[0].Metadata.Name != "a" {
		t.Errorf("by name: %+v", o)
	}
	if o := r.must(http.MethodDelete, configMaps, "", `{"kind":"DeleteOptions","apiVersion":"v1"}`); len(o.Items) != 1 || o.Metadata.ResourceVersion != "10" {
		t.Errorf("the rest: %+v", o)
	}
	if got := r.do(http.MethodDelete, configMaps, "", ""); got.body != `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"11"},"items":[]}` {
		t.Errorf("nothing left: %s", got.body)
	}
}

func TestRepresentations(t *testing.T) {
	r := newRig(t)
	body := `{"metadata":{"name":"a"},"data":{"k":"v"}}`
	for name, c := range map[string]struct {
		accept, mediaType, contains string
	}{
		"JSON":              {"application/json", "application/json", `"data":{"k":"v"}}`},
		"anything":          {"*/*", "application/json", `"data":{"k":"v"}}`},
		"YAML":              {"application/yaml", "application/yaml", "data:\n  k: v\n"},
		"protobuf":          {"application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf", "k8s\x00"},
		"first of two":      {"application/vnd.kubernetes.protobuf;q=0.5,application/json", "application/json", `"data"`},
		"table, else JSON":  {"application/json;as=Table;v=v1;g=meta.k8s.io,application/json", "application/json", `"data"`},
		"metadata":          {"application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/json", `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"`},
		"metadata protobuf": {"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf", "PartialObjectMetadata"},
	} {
		got := r.do(http.MethodPost, configMaps+"?dryRun=All", "", body, "Accept", c.accept)
		if got.code != 201 || got.header.Get("Content-Type") != c.mediaType || !strings.Contains(got.body, c.contains) {
			t.Errorf("%s: %d %s %q", name, got.code, got.header.Get("Content-Type"), got.body)
		}
	}
	got := r.do(http.MethodPost, configMaps, "", body, "Accept", "image/png")
	if got.code != http.StatusNotAcceptable || r.log("", "v1", "configmaps").Snapshot().Len() != 0 {
		t.Errorf("image: %d %s", got.code, got.body)
	}
	got = r.do(http.MethodPost, configMaps+"?dryRun=All", "", body, "User-Agent", "curl/8")
	if !strings.HasPrefix(got.body, "{\n  \"kind\": \"ConfigMap\",\n") {
		t.Errorf("for curl: %s", got.body)
	}
}
