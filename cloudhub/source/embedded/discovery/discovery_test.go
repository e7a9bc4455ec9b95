package discovery_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/discovery"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func kinds() []*catalog.Kind {
	face := func(v string) *catalog.Face {
		return &catalog.Face{Served: true, Schema: map[string]any{"type": "object", "description": "a widget"}, Resource: watchlog.Resource{
			Group: "ex.io", Version: v, Name: "widgets", Kind: "Widget", ListKind: "WidgetList", Namespaced: true, Custom: true,
		}}
	}
	faces := []*catalog.Face{face("v1beta1"), face("v1"), face("v2alpha1"), face("v3")}
	faces[3].Served = false
	return append(catalog.Builtins(), &catalog.Kind{Faces: faces, Singular: "widget", Definition: "u", DefinitionName: "widgets.ex.io"})
}

func documents() *apidoc.Set {
	s := apidoc.NewSet()
	s.Replace(discovery.Documents(kinds()))
	return s
}

func text(t *testing.T, d apidoc.Document) []byte {
	t.Helper()
	b, err := d.Body.Text()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func read(t *testing.T, s *apidoc.Set, path, accept string, into any) apidoc.Document {
	t.Helper()
	d, ok := s.Get(path, accept)
	if !ok {
		t.Fatalf("no document %s for %q", path, accept)
	}
	if err := json.Unmarshal(text(t, d), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return d
}

func TestAggregated(t *testing.T) {
	s := documents()
	var core, named apidiscovery.APIGroupDiscoveryList
	read(t, s, "/api", discovery.Aggregated, &core)
	d := read(t, s, "/apis", discovery.Aggregated, &named)
	if d.MediaType != discovery.Aggregated || len(d.ETag) != 130 || text(t, d)[d.Body.Len()-1] != '\n' {
		t.Errorf("document: %s %s", d.MediaType, d.ETag)
	}
	if len(core.Items) != 1 || len(core.Items[0].Versions[0].Resources) != 15 {
		t.Errorf("core: %+v", core)
	}
	var groups []string
	for _, g := range named.Items {
		groups = append(groups, g.Name)
	}
	if want := append(catalog.GroupOrder()[1:], "ex.io"); strings.Join(groups, " ") != strings.Join(want, " ") {
		t.Errorf("groups: %v", groups)
	}
	var versions []string
	for _, v := range named.Items[len(named.Items)-1].Versions {
		versions = append(versions, v.Version)
	}
	if got := strings.Join(versions, " "); got != "v1 v1beta1 v2alpha1" {
		t.Errorf("versions of ex.io: %s", got)
	}
	if strings.Contains(string(text(t, d)), `"v3"`) {
		t.Error("a version that is not served is shown")
	}
}

// The legacy documents say the same as the aggregated ones.
func TestLegacy(t *testing.T) {
	s := documents()
	var versions metav1.APIVersions
	read(t, s, "/api", "", &versions)
	var groups metav1.APIGroupList
	read(t, s, "/apis", "", &groups)
	lists := []string{"/api/" + versions.Versions[0]}
	for _, g := range groups.Groups {
		var one metav1.APIGroup
		read(t, s, "/apis/"+g.Name, "", &one)
		if one.PreferredVersion != g.PreferredVersion || one.Kind != "APIGroup" || g.Kind != "" {
			t.Errorf("group: %+v, %+v", one, g)
		}
		for _, v := range g.Versions {
			lists = append(lists, "/apis/"+v.GroupVersion)
		}
	}
	legacy := 0
	for _, path := range lists {
		var l metav1.APIResourceList
		read(t, s, path, "", &l)
		legacy += len(l.APIResources)
	}
	aggregated := 0
	for _, path := range []string{"/api", "/apis"} {
		var l apidiscovery.APIGroupDiscoveryList
		read(t, s, path, discovery.Aggregated, &l)
		for _, g := range l.Items {
			for _, v := range g.Versions {
				for _, r := range v.Resources {
					aggregated += 1 + len(r.Subresources)
				}
			}
		}
	}
	if legacy != aggregated || len(lists) != 22 {
		t.Errorf("%d resources in %d lists, aggregated %d", legacy, len(lists), aggregated)
	}
}

func TestOpenAPI(t *testing.T) {
	s := documents()
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	read(t, s, "/openapi/v3", "", &index)
	for root, entry := range index.Paths {
		path, hash, _ := strings.Cut(entry.ServerRelativeURL, "?hash=")
		var doc struct {
			OpenAPI string
			Paths   map[string]struct {
				Patch *struct {
					Parameters []struct{ Name, In string }
					GVK        map[string]string `json:"x-kubernetes-group-version-kind"`
				}
			}
			Components struct{ Schemas map[string]map[string]any }
		}
		d := read(t, s, path, "", &doc)
		if path != "/openapi/v3/"+root || d.ETag != `"`+hash+`"` || doc.OpenAPI != "3.0.0" {
			t.Errorf("%s: %+v", root, entry)
		}
		patches := 0
		for _, p := range doc.Paths {
			if p.Patch != nil && p.Patch.Parameters[2].Name == "fieldValidation" && p.Patch.GVK["kind"] != "" {
				patches++
			}
		}
		if patches == 0 || patches != len(doc.Components.Schemas) {
			t.Errorf("%s: %d kinds can be patched with validation, %d have schemas", root, patches, len(doc.Components.Schemas))
		}
		if w, ok := doc.Components.Schemas["io.ex.v1.Widget"]; root == "apis/ex.io/v1" && (!ok || w["description"] != "a widget") {
			t.Errorf("schema of widgets: %v", w)
		}
	}
	var core struct {
		Components struct{ Schemas map[string]map[string]any }
	}
	read(t, s, "/openapi/v3/api/v1", "", &core)
	for kind, parts := range map[string]int{"v1.Pod": 5, "v1.ConfigMap": 3, "v1.Namespace": 5} {
		stub := core.Components.Schemas[kind]
		properties, _ := stub["properties"].(map[string]any)
		if !strings.Contains(fmt.Sprint(stub["description"]), "has no schemas") || len(properties) != parts || stub["x-kubernetes-preserve-unknown-fields"] != true {
			t.Errorf("stub of %s: %v", kind, stub)
		}
	}
	if len(index.Paths) != 22 {
		t.Errorf("%d documents", len(index.Paths))
	}
}

func TestDocumentsAreStable(t *testing.T) {
	if a, b := documents().Hash(), documents().Hash(); a != b {
		t.Errorf("%s and %s", a, b)
	}
}

func TestVersionCanBeParsed(t *testing.T) {
	v, err := version.ParseSemantic(discovery.Version)
	if err != nil || v.Major() != 1 || v.Minor() != 37 {
		t.Errorf("%v, %v", v, err)
	}
}
