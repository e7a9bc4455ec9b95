//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

const eventBody = `{"kind":"Event","apiVersion":"v1","metadata":{"name":%q},"involvedObject":{"kind":"Pod","namespace":"atonce","name":"p"},"reason":"R"}`

// TestReadsFromEtcdAreNotWaitedFor: a revision that was given out elsewhere a moment ago is there, and one that nobody has
// given out is refused, both as kube-apiserver does where it reads from etcd.
func TestReadsFromEtcdAreNotWaitedFor(t *testing.T) {
	cloud := kubeAPI(t, sharedCluster(t))
	scopes := proofScopes(t, cloud, "atonce") + "  - {resource: events, namespaces: [atonce]}\n"
	cloud.create(t, configMaps, "atonce", configMap("atonce", "m", "a", "x"))
	// Of a revision of another resource there are no Events at the edge: they come without bookmarks.
	const rbac = "/apis/rbac.authorization.k8s.io/v1"
	cloud.create(t, resource{"roles", rbac, "roles"}, "atonce",
		`{"metadata":{"name":"edges"},"rules":[{"apiGroups":[""],"resources":["configmaps","events","endpoints"],"verbs":["get","list"]}]}`)
	cloud.create(t, resource{"rolebindings", rbac, "rolebindings"}, "atonce",
		`{"metadata":{"name":"edges"},"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"edges"},`+
			`"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"Group","name":"tombolo:edges"}]}`)
	s, _ := newKubeSite(t, scopes)
	eventually(t, func() error { // RBAC has a cache; these are not held
		got, err := s.local.do(t.Context(), http.MethodGet, "/api/v1/namespaces/atonce/endpoints", nil)
		if err == nil && got.status != http.StatusOK {
			err = fmt.Errorf("the edge may not read: %d %s", got.status, got.body)
		}
		return err
	})
	events := resource{"events", "/api/v1", "events"}
	paths := []string{
		configMaps.path("atonce") + "?fieldSelector=metadata.name%%3Dm&resourceVersionMatch=Exact&resourceVersion=%d",
		configMaps.path("atonce") + "?fieldSelector=metadata.name%%3Dm&limit=1&resourceVersion=%d",
		events.path("atonce") + "?resourceVersion=%d",
		events.path("atonce") + "?limit=1&resourceVersion=%d",
		events.path("atonce") + "/e-0?resourceVersion=%d",
	}
	for i := range 8 {
		rev := cloud.create(t, events, "atonce", fmt.Sprintf(eventBody, fmt.Sprint("e-", i))).RV
		if i%2 > 0 { // on another resource
			rev = cloud.create(t, secrets, "default", secret("default", fmt.Sprint("atonce-", i), "x")).RV
			cloud.remove(t, secrets, fmt.Sprint("default/atonce-", i))
		}
		for _, path := range paths {
			got := s.local.get(t, fmt.Sprintf(path, rev))
			if strings.Contains(path, "/e-0") {
				continue // an object says nothing of the position that it was read at
			}
			if at, _ := strconv.ParseUint(parseList(t, got.body).Metadata.ResourceVersion, 10, 64); at < rev {
				t.Errorf("%s: at %d, want %d", path, at, rev)
			}
		}
	}
	current := regexp.MustCompile(`current: \d+`)
	ask := func(a *api, path string) (int, string, string) {
		got, err := a.do(t.Context(), http.MethodGet, path, nil)
		if err != nil {
			t.Fatal(err)
		}
		return got.status, got.header.Get("Retry-After"), current.ReplaceAllString(string(got.body), "current: N")
	}
	compare := func() {
		for _, path := range paths {
			path = fmt.Sprintf(path, uint64(1)<<40)
			code, retry, body := ask(s.local, path)
			wantCode, wantRetry, wantBody := ask(cloud, path)
			if code != wantCode || retry != wantRetry || body != wantBody {
				t.Errorf("%s: %d %q %s, the cloud %d %q %s", path, code, retry, body, wantCode, wantRetry, wantBody)
			}
		}
	}
	compare()
	s.cut()
	compare()
}
