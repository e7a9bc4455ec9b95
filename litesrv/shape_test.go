package litesrv

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const (
	asPartial     = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
	asPartialList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
)

// TestGoTypes has names that kube-apiserver 1.37.2 says.
func TestGoTypes(t *testing.T) {
	for want, r := range map[string]*watchlog.Resource{
		"core.ConfigMapList":            configmaps,
		"apps.DeploymentList":           deployments,
		"rbac.RoleList":                 {Group: "rbac.authorization.k8s.io", Version: "v1", ListKind: "RoleList"},
		"core.EventList":                {Group: "events.k8s.io", Version: "v1", ListKind: "EventList"},
		"flowcontrol.FlowSchemaList":    {Group: "flowcontrol.apiserver.k8s.io", Version: "v1", ListKind: "FlowSchemaList"},
		"unstructured.UnstructuredList": widgets,
	} {
		if got := goType(r, r.ListKind); got != want {
			t.Errorf("%s is %s, want %s", r.GroupResource(), got, want)
		}
	}
}

// TestFaultsBeforeShapes checks that an error about the shape comes last.
func TestFaultsBeforeShapes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		w.load(configmaps, thing{ns: "t1", name: "c1"})
		s := w.server()
		for path, accept := range map[string]string{
			"/api/v1/configmaps?resourceVersion=abc":                  asPartial,
			"/api/v1/configmaps?resourceVersion=999":                  asPartial,
			"/api/v1/configmaps?continue=x":                           asPartial,
			"/api/v1/namespaces/t1/configmaps/none":                   asPartialList,
			"/api/v1/namespaces/t1/configmaps/c1?resourceVersion=abc": asPartialList,
			"/api/v1/configmaps?watch=1&resourceVersion=abc":          asPartialList,
			"/api/v1/configmaps?watch=1&fieldSelector=foo":            asPartialList,
		} {
			if got := get(t, s, path, "Accept", accept); got.Code == 406 || got.Code == 200 {
				t.Errorf("%s: %d %s", path, got.Code, got.Body)
			}
		}
	})
}

// TestWatchOfLists is about a shape that can't be had: the stream ends when there is something to send.
func TestWatchOfLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps, thing{ns: "t1", name: "c1"})
		s := w.server()
		ended := make(chan *httptest.ResponseRecorder, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := httptest.NewRequest("GET", "/api/v1/configmaps?watch=1&resourceVersion=100&allowWatchBookmarks=1&labelSelector=a", nil)
		r.Header.Set("Accept", asPartialList)
		go func() {
			got := httptest.NewRecorder()
			s.ServeHTTP(got, r.WithContext(ctx))
			ended <- got
		}()
		synctest.Wait()
		w.write(l, thing{ns: "t1", name: "c1"})
		synctest.Wait()
		if len(ended) > 0 {
			t.Error("it ended because of an event that it doesn't select")
		}
		w.write(l, thing{ns: "t1", name: "c2", labels: `"a":"1"`})
		synctest.Wait()
		if len(ended) == 0 {
			t.Fatal("it goes on")
		}
		want(t, <-ended, 200, "")
	})
}

// TestPartialBookmarksAndErrors has frames that the goldens don't.
func TestPartialBookmarksAndErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, r := range []*watchlog.Resource{configmaps, widgets, deployments} {
			w := newWorld(t, 100)
			w.load(r)
			path := "/apis/" + r.Group + "/v1/" + r.Name
			if r.Group == "" {
				path = "/api/v1/" + r.Name
			}
			got := get(t, w.server(), path+"?watch=1&timeoutSeconds=5&resourceVersion=100&allowWatchBookmarks=1", "Accept", asPartial)
			want(t, got, 200, frame("BOOKMARK", `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"100"}}`))
			got = get(t, w.server(), path+"?watch=1&timeoutSeconds=5&resourceVersion=5", "Accept", asPartial)
			want(t, got, 200, errorFrame(failure(410, "Expired", "too old resource version: 5 (100)", "")))
		}
	})
}
