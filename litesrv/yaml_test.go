package litesrv

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/yaml"
)

// TestLongYAML checks that a list that is encoded item by item is the same as one that is encoded as a whole.
func TestLongYAML(t *testing.T) {
	w := newWorld(t, 100)
	const text = "a fold comes at eighty columns: \\u003cwherever\\u003e \\\"that\\\" is, # in the indented 'text'"
	var things []thing
	for i := range 500 {
		things = append(things, thing{ns: "t1", name: fmt.Sprintf("o%d", i), labels: `"app":"a"`, rest: fmt.Sprintf(
			`,"spec":{"nodeName":"n","a":[[],[1],[{"b":"%s","c":[null,1.50]}]],"t":"%s\n\n  %s\n","u":"%s%s","%d":{}}`,
			text[i%20:], text[i%20:], text, text, text, i)})
	}
	w.load(pods, things...)
	w.load(widgets, things...)
	s := w.server()
	for _, path := range []string{"/api/v1/pods", "/apis/ex.io/v1/widgets", "/api/v1/pods?limit=3"} {
		for _, as := range []string{"", ";as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"} {
			whole, err := yaml.JSONToYAML(get(t, s, path, "Accept", "application/json"+as).Body.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			want(t, get(t, s, path, "Accept", "application/yaml"+as), 200, string(whole))
			zipped := get(t, s, path, "Accept", "application/yaml"+as, "Accept-Encoding", "gzip")
			if big := len(whole) > gzipThreshold; big != (zipped.Header().Get("Content-Encoding") == "gzip") {
				t.Fatalf("%s: %d bytes, %v", path, len(whole), zipped.Header())
			} else if !big {
				continue
			}
			z, err := gzip.NewReader(zipped.Body)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, whole) {
				t.Errorf("%s: %d bytes unzipped, want %d: %v", path, len(got), len(whole), err)
			}
		}
	}
}

// TestTextsThatYAMLRefuses has kube-apiserver's answers to what only JSON can hold.
func TestTextsThatYAMLRefuses(t *testing.T) {
	const refused = "apiVersion: v1\ncode: 500\nkind: Status\nmessage: 'yaml: control characters are not allowed'\n" +
		"metadata: {}\nstatus: Failure\n"
	w := newWorld(t, 100)
	w.load(configmaps, thing{ns: "t1", name: "c1", rest: ",\"data\":{\"z\":\"\x7f\"}"})
	s := w.server()
	for _, path := range []string{"/api/v1/namespaces/t1/configmaps/c1", "/api/v1/configmaps"} {
		got := get(t, s, path, "Accept", "application/yaml")
		want(t, got, 500, refused)
		if got.Header().Get("Content-Type") != "application/yaml" {
			t.Errorf("%s: %v", path, got.Header())
		}
	}
	want(t, get(t, s, "/api/v1/configmaps?fieldSelector=%7f", "Accept", "application/yaml"), 400, refused)

	big := bigPods(100)
	big[90].rest = ",\"spec\":{\"z\":\"\x7f\"}"
	w.load(pods, big...)
	ts := httptest.NewServer(s)
	defer ts.Close()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, ts.URL+"/api/v1/pods", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/yaml")
	resp, err := ts.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := io.ReadAll(resp.Body); err == nil || resp.StatusCode != 200 {
		t.Errorf("a list that broke off looks whole: %d %v", resp.StatusCode, err)
	}
}

func TestNoYAMLWatch(t *testing.T) {
	const refused = "apiVersion: v1\ncode: 406\nkind: Status\nmessage: 'only the following media types are accepted: " +
		"application/json;stream=watch,\n  application/vnd.kubernetes.protobuf;stream=watch'\nmetadata: {}\nreason: NotAcceptable\nstatus: Failure\n"
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		w.load(configmaps)
		s := w.server()
		want(t, get(t, s, "/api/v1/configmaps?watch=1", "Accept", "application/yaml"), 406, refused)
		want(t, get(t, s, "/api/v1/configmaps?watch=1", "Accept", "application/yaml,application/json"), 406, refused)
		got := get(t, s, "/api/v1/configmaps?watch=1&timeoutSeconds=1", "Accept", "application/yaml;q=0.1,application/json")
		want(t, got, 200, "")
	})
}
