//go:build e2e

package embedded_test

import (
	"encoding/json"
	"io"
	"net/http"
	"reflect"
	"slices"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What the embedded cloud serves it describes as kube-apiserver does: the same names, kinds, scopes and verbs. It may
// leave things out.
func TestDiscoveryIsThatOfKubeAPIServer(t *testing.T) {
	tw := newTwins(t)
	ours, want := tw.ours.resources(t), tw.real.resources(t)
	for id, r := range ours {
		their, ok := want[id]
		if !ok {
			t.Errorf("kube-apiserver has no %s", id)
			continue
		}
		their.Subresources = slices.DeleteFunc(their.Subresources, func(s apidiscovery.APISubresourceDiscovery) bool {
			return !slices.ContainsFunc(r.Subresources, func(o apidiscovery.APISubresourceDiscovery) bool { return o.Subresource == s.Subresource })
		})
		if len(their.Subresources) == 0 {
			their.Subresources = nil
		}
		if !reflect.DeepEqual(r, their) {
			t.Errorf("%s\nours %+v\nreal %+v", id, r, their)
		}
	}
	for id, r := range want {
		if _, ok := ours[id]; !ok && slices.Contains(r.Verbs, "watch") {
			t.Logf("left out: %s", id)
		}
	}
	if len(ours) != 62 {
		t.Errorf("%d resources", len(ours))
	}
}

// The legacy form of what is served is the same too.
func TestLegacyDiscoveryIsThatOfKubeAPIServer(t *testing.T) {
	tw := newTwins(t)
	for _, path := range []string{"/api/v1", "/apis/apps/v1", "/apis/events.k8s.io/v1", "/apis/rbac.authorization.k8s.io/v1"} {
		var ours, want metav1.APIResourceList
		tw.ours.read(t, path, "application/json", &ours)
		tw.real.read(t, path, "application/json", &want)
		byName := map[string]metav1.APIResource{}
		for _, r := range want.APIResources {
			r.StorageVersionHash = ""
			byName[r.Name] = r
		}
		for _, r := range ours.APIResources {
			if !reflect.DeepEqual(r, byName[r.Name]) {
				t.Errorf("%s %s\nours %+v\nreal %+v", path, r.Name, r, byName[r.Name])
			}
		}
		if ours.TypeMeta != want.TypeMeta || ours.GroupVersion != want.GroupVersion {
			t.Errorf("%s: ours %+v %s, real %+v %s", path, ours.TypeMeta, ours.GroupVersion, want.TypeMeta, want.GroupVersion)
		}
	}
}

// resources returns the aggregated discovery by "group/version resource".
func (d *side) resources(t *testing.T) map[string]apidiscovery.APIResourceDiscovery {
	t.Helper()
	found := map[string]apidiscovery.APIResourceDiscovery{}
	for _, path := range []string{"/api", "/apis"} {
		var list apidiscovery.APIGroupDiscoveryList
		d.read(t, path, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", &list)
		for _, g := range list.Items {
			for _, v := range g.Versions {
				for _, r := range v.Resources {
					found[g.Name+"/"+v.Version+" "+r.Resource] = r
				}
			}
		}
	}
	return found
}

func (d *side) read(t *testing.T, path, accept string, into any) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.url+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := d.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		t.Fatalf("%s: %v: %.200s", path, err, raw)
	}
}
