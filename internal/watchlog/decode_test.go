package watchlog

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	raw := `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","uid":"u-1","resourceVersion":"42",` +
		`"labels":{"b":"2","a":"1"},"annotations":{"x":"\"}{][\\"}},"spec":{"nodeName":"n\u003c1","hostNetwork":true,` +
		`"containers":[{"name":"c","env":[]}]},"status":{"phase":null}}`
	o, err := NewDecoder(pods).Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if o.Key() != "ns/a" || o.Namespace() != "ns" || o.Name() != "a" || o.UID() != "u-1" || o.Rev() != 42 {
		t.Errorf("identity: %q %q %q %q %d", o.Key(), o.Namespace(), o.Name(), o.UID(), o.Rev())
	}
	if got := []string{o.Field(0), o.Field(1), o.Field(2)}; !reflect.DeepEqual(got, []string{"n<1", "", "true"}) {
		t.Errorf("fields: %q", got)
	}
	if o.Labels().Get("a") != "1" || o.Labels().Get("b") != "2" || o.Labels().Has("c") {
		t.Errorf("labels: %v", *o.Labels())
	}
	if string(o.JSON()) != raw {
		t.Errorf("bytes changed: %s", o.JSON())
	}
	want := strings.Replace(raw, `"resourceVersion":"42"`, `"resourceVersion":"12345"`, 1)
	if got := string(o.AppendJSON(nil, 12345)); got != want {
		t.Errorf("AppendJSON: %s", got)
	}
	want = strings.Replace(raw, `"kind":"Pod","apiVersion":"v1",`, "", 1)
	if got := string(o.AppendItem(nil)); got != want {
		t.Errorf("AppendItem: %s", got)
	}
}

func TestDecodeCustomKeepsItemWhole(t *testing.T) {
	r := &Resource{Group: "ex.io", Version: "v1", Name: "widgets", Kind: "Widget", Custom: true}
	raw := `{"aFirst":{"deep":[1]},"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"w","resourceVersion":"7"}}`
	o, err := NewDecoder(r).Decode([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(o.AppendItem(nil)); got != raw {
		t.Errorf("AppendItem: %s", got)
	}
	if o.Key() != "w" || o.Namespace() != "" || o.Name() != "w" {
		t.Errorf("cluster-scoped key: %q %q %q", o.Key(), o.Namespace(), o.Name())
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, raw := range map[string]string{
		"empty":                "",
		"array":                `[]`,
		"cut":                  `{"metadata":{"name":"a","resourceVersion":"1"}`,
		"trailing":             `{"metadata":{"name":"a","resourceVersion":"1"}} x`,
		"wrong bracket":        `{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"a":[1}}}`,
		"no name":              `{"metadata":{"resourceVersion":"1"}}`,
		"no rev":               `{"metadata":{"name":"a"}}`,
		"rev zero":             `{"metadata":{"name":"a","resourceVersion":"0"}}`,
		"rev not numeric":      `{"metadata":{"name":"a","resourceVersion":"1.5a"}}`,
		"rev a number":         `{"metadata":{"name":"a","resourceVersion":1}}`,
		"rev too large":        `{"metadata":{"name":"a","resourceVersion":"99999999999999999999999"}}`,
		"labels a list":        `{"metadata":{"name":"a","resourceVersion":"1","labels":["x"]}}`,
		"bad escape in field":  `{"metadata":{"name":"a","resourceVersion":"1"},"spec":{"nodeName":"\x"}}`,
		"control in a string":  "{\"metadata\":{\"name\":\"a\nb\",\"resourceVersion\":\"1\"}}",
		"nested without bound": `{"metadata":{"name":"a","resourceVersion":"1"},"spec":` + strings.Repeat("[", 100000),
	} {
		if _, err := NewDecoder(pods).Decode([]byte(raw)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzDecode holds the decoder against encoding/json: what that reads, the decoder must read the same.
func FuzzDecode(f *testing.F) {
	f.Add(pod{"ns", "a", "u", "n", "x", 5}.json())
	f.Add([]byte(`{"metadata":{"name":"a","resourceVersion":"1","labels":null},"spec":{"nodeName":"é😀\/"}}`))
	f.Add([]byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"18446744073709551615"}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := NewDecoder(pods).Decode(raw)
		if err != nil {
			return
		}
		if got := o.AppendJSON(nil, o.Rev()); string(got) != string(raw) {
			t.Fatalf("bytes changed: %q", got)
		}
		if !json.Valid(raw) {
			return // the scanner follows structure, it doesn't validate
		}
		compareWithJSON(t, raw, o)
	})
}

func compareWithJSON(t *testing.T, raw []byte, o *Object) {
	var full struct {
		Metadata struct {
			Name, Namespace, UID, ResourceVersion string
		}
		Spec struct{ NodeName *string }
	}
	if err := json.Unmarshal(raw, &full); err != nil || !plain(raw) {
		return // not the types of a Pod
	}
	if m := full.Metadata; m.Name != o.Name() || m.Namespace != o.Namespace() || m.UID != o.UID() {
		t.Fatalf("identity %q/%q/%q, want %+v", o.Namespace(), o.Name(), o.UID(), m)
	}
	if full.Spec.NodeName != nil && o.Field(0) != *full.Spec.NodeName {
		t.Fatalf("nodeName %q, want %q", o.Field(0), *full.Spec.NodeName)
	}
	var moved struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(o.AppendJSON(nil, 77), &moved); err != nil || moved.Metadata.ResourceVersion != "77" {
		t.Fatalf("resourceVersion not replaced in %q: %v", raw, err)
	}
}

// plain tells whether encoding/json must agree on raw: ASCII without escapes, and none of the members that are compared
// there twice or in another case, which encoding/json treats in a way of its own.
func plain(raw []byte) bool {
	for _, c := range raw {
		if c >= 0x80 || c == '\\' {
			return false
		}
	}
	folded := strings.ToLower(string(raw))
	for _, k := range []string{"name", "namespace", "uid", "resourceVersion", "metadata", "spec", "nodeName"} {
		if strings.Count(folded, `"`+strings.ToLower(k)+`"`) != strings.Count(string(raw), `"`+k+`"`) ||
			strings.Count(string(raw), `"`+k+`"`) > 1 {
			return false
		}
	}
	return true
}
