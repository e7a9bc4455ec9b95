//go:build e2e

package protobuf_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// cloud is a kube-apiserver that is asked as the admin.
type cloud struct {
	*testing.T
	url    string
	client *http.Client
}

func newCloud(t *testing.T, c *cluster.Cluster) *cloud {
	t.Helper()
	client, err := c.AdminClient()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &cloud{T: t, url: c.URL, client: client}
}

// do sends a request and returns the answer to it.
func (c *cloud) do(method, path, accept, contentType string, body []byte) answer {
	c.Helper()
	req, err := http.NewRequestWithContext(c.Context(), method, c.url+path, bytes.NewReader(body))
	if err != nil {
		c.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	req.Header.Set("Content-Type", contentType)
	resp, err := c.client.Do(req)
	if err != nil {
		c.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		c.Fatal(err)
	}
	return answer{Path: path, Accept: accept, Code: resp.StatusCode, Type: resp.Header.Get("Content-Type"), Body: raw}
}

func (c *cloud) ask(path, accept string) answer {
	c.Helper()
	a := c.do(http.MethodGet, path, accept, "", nil)
	a.Body = bytes.TrimSuffix(a.Body, []byte("\n"))
	return a
}

// send writes, which has to succeed.
func (c *cloud) send(method, path string, body []byte) {
	c.Helper()
	contentType := "application/json"
	if method == http.MethodPatch {
		contentType = "application/merge-patch+json"
	}
	a := c.do(method, path, "application/json", contentType, body)
	if a.Code >= 300 {
		c.Errorf("%s %s: %d %s\n%s", method, path, a.Code, a.Body, body)
	}
}

func (c *cloud) decode(a answer, into any) {
	c.Helper()
	if err := json.Unmarshal(a.Body, into); err != nil || a.Code != 200 {
		c.Fatalf("%s: %d %s: %v", a.Path, a.Code, a.Body, err)
	}
}

// resources returns what can be listed and watched.
func (c *cloud) resources() []watchlog.Resource {
	var all []watchlog.Resource
	for _, path := range []string{"/api", "/apis"} {
		var list apidiscovery.APIGroupDiscoveryList
		c.decode(c.ask(path, "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"), &list)
		for _, g := range list.Items {
			for _, v := range g.Versions {
				for _, r := range v.Resources {
					if slices.Contains(r.Verbs, "watch") {
						all = append(all, watchlog.Resource{
							Group: g.Name, Version: v.Version, Name: r.Resource, Kind: r.ResponseKind.Kind, ListKind: r.ResponseKind.Kind + "List",
							Namespaced: r.Scope == apidiscovery.ScopeNamespace, Custom: g.Name == "ex.io",
						})
					}
				}
			}
		}
	}
	return all
}

// define makes the kind Widget exist.
func (c *cloud) define() {
	c.Helper()
	c.send(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", []byte(`{"kind":"CustomResourceDefinition",
		"apiVersion":"apiextensions.k8s.io/v1","metadata":{"name":"widgets.ex.io"},"spec":{"group":"ex.io","scope":"Namespaced",
		"names":{"plural":"widgets","singular":"widget","kind":"Widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,
		"storage":true,"schema":{"openAPIV3Schema":{"type":"object","properties":{"spec":{"type":"object",
		"x-kubernetes-preserve-unknown-fields":true}}}}}]}}`))
	for range 100 {
		if slices.ContainsFunc(c.resources(), func(r watchlog.Resource) bool { return r.Name == "widgets" }) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.Fatal("widgets are not served")
}

// pathOf returns the path of a collection in all namespaces.
func pathOf(r *watchlog.Resource) string {
	if r.Group == "" {
		return "/api/" + r.Version + "/" + r.Name
	}
	return "/apis/" + r.Group + "/" + r.Version + "/" + r.Name
}

func collectionPath(r *watchlog.Resource, namespace string) string {
	path := pathOf(r)
	if namespace == "" {
		return path
	}
	return strings.TrimSuffix(path, r.Name) + "namespaces/" + namespace + "/" + r.Name
}

func objectPath(r *watchlog.Resource, o *metav1.PartialObjectMetadata) string {
	return collectionPath(r, o.Namespace) + "/" + o.Name
}
