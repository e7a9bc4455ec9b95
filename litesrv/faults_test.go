package litesrv

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// listOptionsDetails returns the details of a 422; causes are reason, message, field …
func listOptionsDetails(causes ...string) string {
	var parts []string
	for i := 0; i < len(causes); i += 3 {
		parts = append(parts, `{"reason":"`+causes[i]+`","message":"`+causes[i+1]+`","field":"`+causes[i+2]+`"}`)
	}
	return `{"group":"meta.k8s.io","kind":"ListOptions","causes":[` + strings.Join(parts, ",") + `]}`
}

func TestFaultsOfListAndWatchOptions(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps, thing{ns: "t1", name: "c1"})
	s := w.server()
	const (
		forbidden    = "FieldValueForbidden"
		notSupported = "FieldValueNotSupported"
		match        = "resourceVersionMatch"
		invalid      = `ListOptions.meta.k8s.io "" is invalid: `
	)
	for _, c := range []struct {
		name, query, message, details string
	}{
		{"RVM without RV", "resourceVersionMatch=Exact",
			invalid + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
			listOptionsDetails(forbidden, "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided", match)},
		{"RVM with continue", "resourceVersionMatch=Exact&resourceVersion=5&continue=x",
			invalid + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden when continue is provided",
			listOptionsDetails(forbidden, "Forbidden: resourceVersionMatch is forbidden when continue is provided", match)},
		{"RVM unknown", "resourceVersionMatch=Foo&resourceVersion=5",
			invalid + `resourceVersionMatch: Unsupported value: "Foo": supported values: "Exact", "NotOlderThan", ""`,
			listOptionsDetails(notSupported, `Unsupported value: \"Foo\": supported values: \"Exact\", \"NotOlderThan\", \"\"`, match)},
		{"Exact at 0", "resourceVersionMatch=Exact&resourceVersion=0",
			invalid + `resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"`,
			listOptionsDetails(forbidden, `Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"`, match)},
		{"initial events of a list", "sendInitialEvents=true",
			invalid + "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
			listOptionsDetails(forbidden, "Forbidden: sendInitialEvents is forbidden for list", "sendInitialEvents")},
		{"several", "resourceVersionMatch=NotOlderThan&sendInitialEvents=1",
			invalid + "[resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, " +
				"sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list]",
			listOptionsDetails(forbidden, "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided", match,
				forbidden, "Forbidden: sendInitialEvents is forbidden for list", "sendInitialEvents")},
		{"watch: initial events without RVM", "watch=1&sendInitialEvents=true",
			invalid + "resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan",
			listOptionsDetails(forbidden, "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan", match)},
		{"watch: initial events with Exact", "watch=1&sendInitialEvents=true&resourceVersionMatch=Exact",
			invalid + "[resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan, " +
				`resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"]`,
			listOptionsDetails(forbidden, "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan", match,
				notSupported, `Unsupported value: \"Exact\": supported values: \"NotOlderThan\"`, match)},
		{"watch: RVM without initial events", "watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=5",
			invalid + "resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
			listOptionsDetails(forbidden, "Forbidden: resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided", match)},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := get(t, s, "/api/v1/namespaces/t1/configmaps?"+c.query)
			want(t, answer, 422, failure(422, "Invalid", c.message, c.details))
		})
	}
}

func TestFaultsOfParameters(t *testing.T) {
	w := newWorld(t, 100)
	w.load(configmaps, thing{ns: "t1", name: "c1"})
	s := w.server()
	for _, c := range []struct {
		name, query     string
		code            int
		reason, message string
	}{
		{"limit", "limit=abc", 400, "BadRequest", `strconv.ParseInt: parsing "abc": invalid syntax`},
		{"timeoutSeconds", "timeoutSeconds=abc", 400, "BadRequest", `strconv.ParseInt: parsing "abc": invalid syntax`},
		{"timeout", "timeout=abc", 400, "BadRequest",
			`invalid timeout specified in the request URL - time: invalid duration "abc"`},
		{"timeout comes before the options", "timeout=abc&limit=abc", 400, "BadRequest",
			`invalid timeout specified in the request URL - time: invalid duration "abc"`},
		{"RV of a list", "resourceVersion=abc", 400, "BadRequest",
			`invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`},
		{"negative RV of a list", "resourceVersion=-1", 400, "BadRequest",
			`invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax`},
		{"RV of a watch", "watch=1&resourceVersion=abc", 500, "",
			`resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`},
		{"token and RV", "continue=" + token(100, "/c1\x00") + "&resourceVersion=5", 400, "BadRequest",
			"specifying resource version is not allowed when using continue"},
		{"token that is no base64", "continue=%25", 400, "BadRequest",
			"invalid continue token: continue key is not valid: illegal base64 data at input byte 0"},
		{"token that is no JSON", "continue=abc", 400, "BadRequest",
			"invalid continue token: continue key is not valid: invalid character 'i' looking for beginning of value"},
		{"token with RV 0", "continue=" + token(0, "/c1\x00"), 400, "BadRequest",
			"invalid continue token: continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)"},
		{"token without a start", "continue=" + token(100, ""), 400, "BadRequest",
			"invalid continue token: continue key is not valid: encoded start key empty (version meta.k8s.io/v1)"},
		{"token that climbs", "continue=" + token(100, "../secrets/x"), 400, "BadRequest",
			"invalid continue token: continue key is not valid: ../secrets/x"},
		{"token of another version", "continue=eyJ2IjoidjIiLCJydiI6MSwic3RhcnQiOiJ4In0", 400, "BadRequest",
			"invalid continue token: continue key is not valid: server does not recognize this encoded version v2"},
		{"label selector", "labelSelector=a+b+c", 400, "BadRequest",
			"unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"},
		{"label selector, value", "labelSelector=a%3D%3D%3D", 400, "BadRequest",
			"unable to parse requirement: found '=', expected: identifier"},
		{"field selector", "fieldSelector=foo", 400, "BadRequest", "invalid selector: 'foo'; can't understand 'foo'"},
		{"field selector, escape", `fieldSelector=a%3Db%5Cq`, 400, "BadRequest",
			`invalid field selector: invalid escape sequence: \q`},
		{"field label", "fieldSelector=foo%3Dx", 400, "BadRequest",
			`"foo" is not a known field selector: only "metadata.name", "metadata.namespace"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			answer := get(t, s, "/api/v1/namespaces/t1/configmaps?"+c.query)
			want(t, answer, c.code, failure(c.code, c.reason, c.message, ""))
		})
	}
}

func TestFieldLabelsByType(t *testing.T) {
	w := newWorld(t, 100)
	jobs := &watchlog.Resource{Group: "batch", Version: "v1", Name: "jobs", Kind: "Job", ListKind: "JobList", Namespaced: true,
		Fields: []watchlog.Field{{Label: "status.successful", Path: "status.succeeded", Default: "0"}}}
	slices := &watchlog.Resource{Group: "resource.k8s.io", Version: "v1", Name: "resourceslices", Kind: "ResourceSlice",
		ListKind: "ResourceSliceList", Fields: []watchlog.Field{{Label: "spec.driver", Path: "spec.driver"}}}
	requests := &watchlog.Resource{Group: "certificates.k8s.io", Version: "v1", Name: "podcertificaterequests",
		Kind: "PodCertificateRequest", ListKind: "PodCertificateRequestList", Namespaced: true,
		Fields: []watchlog.Field{{Label: "spec.podName", Path: "spec.podName"}}}
	for _, r := range []*watchlog.Resource{pods, nodes, namespaces, volumes, widgets, gizmos, jobs, slices, requests, deployments} {
		w.load(r)
	}
	s := w.server()
	for _, c := range []struct{ path, label, message string }{
		{"/api/v1/pods", "foo", "field label not supported: foo"},
		{"/api/v1/pods", "status.phase", ""},
		{"/api/v1/pods", "spec.host", ""},
		{"/api/v1/pods", "metadata.namespace", ""},
		{"/api/v1/nodes", "metadata.namespace", "field label not supported: metadata.namespace"},
		{"/api/v1/nodes", "spec.unschedulable", ""},
		{"/api/v1/namespaces", "metadata.namespace", "field label not supported: metadata.namespace"},
		{"/api/v1/persistentvolumes", "metadata.namespace", ""},
		{"/api/v1/persistentvolumes", "foo", `"foo" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"/apis/apps/v1/deployments", "status.replicas", `"status.replicas" is not a known field selector: only "metadata.name", "metadata.namespace"`},
		{"/apis/ex.io/v1/widgets", "spec.color", ""},
		{"/apis/ex.io/v1/widgets", ".spec.color", "field label not supported: .spec.color"},
		{"/apis/ex.io/v1/widgets", "metadata.namespace", ""},
		{"/apis/ex.io/v1/gizmos", "metadata.namespace", "field label not supported: metadata.namespace"},
		{"/apis/batch/v1/jobs", "x", `field label "x" not supported for Job`},
		{"/apis/resource.k8s.io/v1/resourceslices", "x", "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: x"},
		{"/apis/resource.k8s.io/v1/resourceslices", "metadata.namespace",
			"field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: metadata.namespace"},
		{"/apis/certificates.k8s.io/v1/podcertificaterequests", "metadata.namespace", "field label not supported: metadata.namespace"},
	} {
		answer := get(t, s, c.path+"?fieldSelector="+c.label+"%3Dx")
		if c.message != "" {
			want(t, answer, 400, failure(400, "BadRequest", c.message, ""))
		} else if answer.Code != 200 {
			t.Errorf("%s by %s: %d %s", c.path, c.label, answer.Code, answer.Body)
		}
	}
}

func TestGetByTheTable(t *testing.T) {
	w, _ := changed(t, configmaps)
	w.load(nodes, thing{name: "n1"})
	s := w.server()
	const c1 = "/api/v1/namespaces/t1/configmaps/c1"
	object := thing{ns: "t1", name: "c1"}.json(configmaps, 102) + "\n"
	notFound := failure(404, "NotFound", `configmaps "nope" not found`, `{"name":"nope","kind":"configmaps"}`)
	for _, c := range []struct {
		name, path string
		code       int
		body       string
	}{
		{"unset", c1, 200, object},
		{"0", c1 + "?resourceVersion=0", 200, object},
		{"N", c1 + "?resourceVersion=101", 200, object},
		{"RVM is ignored", c1 + "?resourceVersion=0&resourceVersionMatch=Exact", 200, object},
		{"watch is ignored", c1 + "?watch=1", 200, object},
		{"other parameters are ignored", c1 + "?limit=abc&fieldSelector=foo&timeoutSeconds=x", 200, object},
		{"trailing slash", c1 + "/", 200, object},
		{"cluster-scoped", "/api/v1/nodes/n1", 200, thing{name: "n1"}.json(nodes, 105) + "\n"},
		{"bad RV", c1 + "?resourceVersion=abc", 500, failure(500, "",
			`resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax`, "")},
		{"negative RV", c1 + "?resourceVersion=-1", 500, failure(500, "",
			`resourceVersion: Invalid value: "-1": strconv.ParseUint: parsing "-1": invalid syntax`, "")},
		{"export", c1 + "?export=true", 400, failure(400, "BadRequest",
			"the export parameter, deprecated since v1.14, is no longer supported", "")},
		{"export=0", c1 + "?export=0", 200, object},
		{"missing", "/api/v1/namespaces/t1/configmaps/nope", 404, notFound},
		{"missing, with an old RV", "/api/v1/namespaces/t1/configmaps/nope?resourceVersion=0", 404, notFound},
		{"missing namespace", "/api/v1/namespaces/zz/configmaps/nope", 404, notFound},
		{"no path segment", "/api/v1/namespaces/t1/configmaps/%2e%2e", 400,
			failure(400, "BadRequest", `Name parameter invalid: "..": may not be '..'`, "")},
		{"percent", "/api/v1/namespaces/t1/configmaps/%25", 400,
			failure(400, "BadRequest", `Name parameter invalid: "%": may not contain '%'`, "")},
	} {
		t.Run(c.name, func(t *testing.T) { want(t, get(t, s, c.path), c.code, c.body) })
	}
}

func TestGetOfACustomResource(t *testing.T) {
	w := newWorld(t, 100)
	w.load(widgets, thing{ns: "t1", name: "w1"})
	s := w.server()
	const path = "/apis/ex.io/v1/namespaces/t1/widgets"
	want(t, get(t, s, path+"/w1"), 200, thing{ns: "t1", name: "w1"}.json(widgets, 100)+"\n")
	want(t, get(t, s, path+"/x"), 404, failure(404, "NotFound", `widgets.ex.io "x" not found`, `{"name":"x","group":"ex.io","kind":"widgets"}`))
	for _, p := range []string{path, path + "/w1"} {
		if head := call(t, s, http.MethodHead, p); head.Code != 200 {
			t.Errorf("HEAD %s: %d", p, head.Code)
		}
	}
}

func TestGetWaitsForAFutureRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, l := changed(t, configmaps)
		s := w.server()
		go func() {
			time.Sleep(time.Second)
			w.write(l, thing{ns: "t1", name: "c1"})
		}()
		want(t, get(t, s, "/api/v1/namespaces/t1/configmaps/c1?resourceVersion=106"), 200,
			thing{ns: "t1", name: "c1"}.json(configmaps, 106)+"\n")
		start := time.Now()
		answer := get(t, s, "/api/v1/namespaces/t1/configmaps/c1?resourceVersion=107")
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("waited %v", took)
		}
		want(t, answer, 504, failure(504, "Timeout", "Timeout: Too large resource version: 107, current: 106", futureStatus))
	})
}

func TestBeforeTheFirstSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.open(configmaps, watchlog.Config{})
		s := w.server()
		busy := failure(429, "TooManyRequests", "storage is (re)initializing", `{"retryAfterSeconds":1}`)
		for _, path := range []string{
			"/api/v1/configmaps", "/api/v1/namespaces/t1/configmaps/c1", "/api/v1/configmaps?watch=1",
			"/api/v1/configmaps?watch=1&resourceVersion=5", "/api/v1/configmaps?limit=5&resourceVersion=0",
		} {
			start := time.Now()
			answer := get(t, s, path)
			want(t, answer, http.StatusTooManyRequests, busy)
			if took := time.Since(start); answer.Header().Get("Retry-After") != "1" || took != 3*time.Second {
				t.Errorf("%s: Retry-After %q after %v", path, answer.Header().Get("Retry-After"), took)
			}
		}
		go func() {
			time.Sleep(time.Second)
			w.commit(l, watchlog.Batch{Rev: 100})
		}()
		want(t, get(t, s, "/api/v1/configmaps"), 200, list(configmaps, 100, ""))
	})
}

// TestAShortWatchBeforeTheFirstSync must not look like a watch of nothing.
func TestAShortWatchBeforeTheFirstSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		w.open(configmaps, watchlog.Config{})
		s := w.server()
		for _, seconds := range []string{"1", "-1"} {
			answer := get(t, s, "/api/v1/configmaps?watch=1&allowWatchBookmarks=1&timeoutSeconds="+seconds)
			if answer.Code != http.StatusTooManyRequests {
				t.Errorf("%s s: %d %s", seconds, answer.Code, answer.Body)
			}
		}
	})
}

func TestALogThatWasClosed(t *testing.T) {
	w := newWorld(t, 100)
	w.open(configmaps, watchlog.Config{}).Close(nil)
	w.load(pods).Close(nil)
	s := w.server()
	for _, path := range []string{
		"/api/v1/configmaps", "/api/v1/pods", "/api/v1/pods?watch=1", "/api/v1/pods?watch=1&resourceVersion=100", "/api/v1/namespaces/a/pods/b",
	} {
		if answer := get(t, s, path); answer.Code != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", path, answer.Code, answer.Body)
		}
	}
}

func TestErrorsOfTheBackend(t *testing.T) {
	w := newWorld(t, 100)
	gvr := func(name string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: name}
	}
	w.errs[gvr("secrets")] = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("out of scope"))
	w.errs[gvr("broken")] = errors.New("disk full")
	s := w.server()
	want(t, get(t, s, "/api/v1/secrets"), 403, failure(403, "Forbidden", "secrets is forbidden: out of scope", `{"kind":"secrets"}`))
	want(t, get(t, s, "/api/v1/broken"), 503, failure(503, "ServiceUnavailable", "disk full", ""))
}
