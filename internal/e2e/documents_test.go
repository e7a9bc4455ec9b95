//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

const (
	aggregatedJSON  = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	openAPIV2Proto  = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
	openAPIV3Proto  = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"
	ownDefinition   = "gadgets.documents.io"
	ownGroupVersion = "documents.io/v1"
)

// documentRequest is one document in one form.
type documentRequest struct{ path, accept string }

// fetchDocument returns what a server answers: type, ETag and text.
func fetchDocument(t *testing.T, a *api, d documentRequest) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.base+d.path, http.NoBody)
	if err != nil {
		return "", err
	}
	req.Header.Set("Accept", d.accept)
	resp, err := a.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d %s %s %s", resp.StatusCode, resp.Header.Get("Content-Type"), resp.Header.Get("ETag"), text), nil
}

// documentRequests are all documents that the cloud has, OpenAPI v3 by the addresses that carry hashes.
func documentRequests(t *testing.T, cloud *api) []documentRequest {
	t.Helper()
	all := []documentRequest{
		{"/api", aggregatedJSON}, {"/apis", aggregatedJSON}, {"/api", "application/json"}, {"/apis", "application/json"},
		{"/api/v1", "application/json"}, {"/version", "application/json"}, {"/openapi/v3", "application/json"},
		{"/openapi/v2", "application/json"}, {"/openapi/v2", openAPIV2Proto},
	}
	var groups struct {
		Groups []struct {
			Name     string
			Versions []struct{ GroupVersion string }
		}
	}
	decodeJSON(t, cloud.get(t, "/apis").body, &groups)
	for _, g := range groups.Groups {
		all = append(all, documentRequest{"/apis/" + g.Name, "application/json"})
		for _, v := range g.Versions {
			all = append(all, documentRequest{"/apis/" + v.GroupVersion, "application/json"})
		}
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	decodeJSON(t, cloud.get(t, "/openapi/v3").body, &index)
	for _, p := range index.Paths {
		all = append(all, documentRequest{p.ServerRelativeURL, "application/json"}, documentRequest{p.ServerRelativeURL, openAPIV3Proto})
	}
	return all
}

func decodeJSON(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

// sameDocuments compares all documents of cloud and edge.
func (s *site) sameDocuments(t *testing.T) error {
	t.Helper()
	for _, d := range documentRequests(t, s.cloud) {
		want, err := fetchDocument(t, s.cloud, d)
		if err != nil {
			return err
		}
		if got, err := fetchDocument(t, s.local, d); err != nil || got != want {
			return fmt.Errorf("%s as %s (%w): %s", d.path, d.accept, err, firstDifference(got, want))
		}
	}
	return nil
}

// documentCommands are what kubectl answers from documents alone.
var documentCommands = [][]string{
	{"explain", "pods.spec.containers"}, {"explain", "pods", "--recursive"},
	{"explain", "deployments", "--output", "plaintext-openapiv2"}, {"explain", "gadgets.spec.size"},
	{"api-resources"}, {"api-versions"}, {"get", "--raw", "/openapi/v2"}, {"describe", "configmap", "-n", "documents", "c", "--show-events=false"},
}

// askKubectl runs the commands with an empty cache.
func askKubectl(t *testing.T, c *cluster.Cluster, flags ...string) []string {
	t.Helper()
	var out []string
	for _, args := range documentCommands {
		out = append(out, runKubectl(t, c, "", append(append(args, "--cache-dir", t.TempDir()), flags...)...))
	}
	return out
}

func gadgetsOfDocuments() string {
	return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"` + ownDefinition + `"},
"spec":{"group":"documents.io","scope":"Namespaced","names":{"plural":"gadgets","singular":"gadget","kind":"Gadget","listKind":"GadgetList"},
"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","description":"a gadget",
"properties":{"spec":{"type":"object","properties":{"size":{"type":"object","properties":{"width":{"type":"integer","description":"its width"}}}}}}}}}]}}`
}

// soon waits for ok at the edge, says how long it took since then, and fails when that is beyond all reason.
func soon(t *testing.T, since time.Time, what string, ok func() error) {
	t.Helper()
	eventually(t, ok)
	took := time.Since(since)
	t.Logf("%s after %s", what, took.Round(time.Millisecond))
	if took > 20*time.Second {
		t.Errorf("%s after %s", what, took)
	}
}

// TestDocumentsAreTheClouds follows discovery and OpenAPI through a definition that comes and goes, a cut and a restart.
func TestDocumentsAreTheClouds(t *testing.T) {
	s, c := kubeConfigMaps(t, "documents")
	s.cloud.create(t, configMaps, "documents", configMap("documents", "c", "a", "text"))
	eventually(t, func() error { return s.sameDocuments(t) })
	sent := s.documentBytes(t)
	t.Logf("first sync: %d bytes of documents; the edge has %s resident, %s on disk", sent, resident(t, s.edge), diskUse(t, s.edge))

	began := time.Now()
	s.cloud.create(t, definitions, "", gadgetsOfDocuments())
	t.Cleanup(func() { _, _ = s.cloud.do(t.Context(), http.MethodDelete, definitions.path("")+"/"+ownDefinition, nil) })
	soon(t, began, "a definition is in the edge's discovery", func() error { return s.discovers(t, true) })
	soon(t, began, "a definition can be explained at the edge", func() error {
		out, err := tryKubectl(t, c, "", "explain", "gadgets.spec.size", "--cache-dir", t.TempDir(), "--server", s.local.base)
		if err != nil || !strings.Contains(out, "its width") {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	soon(t, began, "all documents are the cloud's", func() error { return s.sameDocuments(t) })
	t.Logf("one definition: %d bytes of documents", s.documentBytes(t)-sent)

	online := askKubectl(t, c)
	s.compareAnswers(t, "online", online, askKubectl(t, c, "--server", s.local.base))
	requests := documentRequests(t, s.cloud)
	s.cut()
	s.compareAnswers(t, "offline", online, askKubectl(t, c, "--server", s.local.base))
	s.restartEdge()
	s.compareAnswers(t, "restarted offline", online, askKubectl(t, c, "--server", s.local.base))
	for _, d := range requests {
		want, wantErr := fetchDocument(t, s.cloud, d)
		if got, err := fetchDocument(t, s.local, d); err != nil || wantErr != nil || got != want {
			t.Errorf("offline: %s as %s (%v, %v): %s", d.path, d.accept, err, wantErr, firstDifference(got, want))
		}
	}
	t.Logf("restarted: the edge has %s resident, %s on disk", resident(t, s.edge), diskUse(t, s.edge))
	s.heal()
	began = time.Now()
	s.cloud.remove(t, definitions, ownDefinition)
	soon(t, began, "a deleted definition is gone from the edge's discovery", func() error { return s.discovers(t, false) })
	soon(t, began, "all documents are the cloud's", func() error { return s.sameDocuments(t) })
}

// discovers tells whether the edge's discovery has the definition, or has not.
func (s *site) discovers(t *testing.T, want bool) error {
	t.Helper()
	got, err := fetchDocument(t, s.local, documentRequest{"/apis", aggregatedJSON})
	if err != nil {
		return err
	}
	if has := strings.Contains(got, `"documents.io"`) && strings.Contains(got, `"gadgets"`); has != want {
		return fmt.Errorf("%s in discovery: %v", ownGroupVersion, has)
	}
	return nil
}

func (s *site) compareAnswers(t *testing.T, when string, want, got []string) {
	t.Helper()
	for i, args := range documentCommands {
		if got[i] != want[i] {
			t.Errorf("%s: kubectl %s: %s", when, strings.Join(args, " "), firstDifference(got[i], want[i]))
		}
	}
}

// documentBytes returns how many bytes of documents the hub has sent.
func (s *site) documentBytes(t *testing.T) int {
	t.Helper()
	n, err := metric(t.Context(), s.hub.http, "tombolo_hub_document_bytes_total")
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}

// resident returns the memory that a process has in use.
func resident(t *testing.T, e *edge) string {
	t.Helper()
	bytes, err := metric(t.Context(), e.http, "process_resident_memory_bytes")
	if err != nil {
		t.Fatal(err)
	}
	return strconv.Itoa(int(bytes)>>10) + " kB"
}

func diskUse(t *testing.T, e *edge) string {
	t.Helper()
	info, err := os.Stat(filepath.Join(e.dir, store.FileName))
	if err != nil {
		t.Fatal(err)
	}
	return strconv.FormatInt(info.Size()>>10, 10) + " kB"
}
