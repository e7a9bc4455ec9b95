package kube

import (
	"encoding/json"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func TestItemsOfListsBecomeWhole(t *testing.T) {
	typed := podResource()
	custom := &watchlog.Resource{Group: "ex.io", Version: "v1", Name: "widgets", Kind: "Widget", Custom: true}
	for name, c := range map[string]struct {
		resource   *watchlog.Resource
		item, want string
	}{
		"typed": {typed, `{"metadata":{"name":"a","resourceVersion":"1"},"x":"\u003c"}`,
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"},"x":"\u003c"}`},
		"typed that carries its kind": {typed, `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"}}`,
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"1"}}`},
		"custom": {custom, `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"a","resourceVersion":"1"}}`,
			`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":"a","resourceVersion":"1"}}`},
	} {
		body := `{"metadata":{"resourceVersion":"9","continue":"more"},"items":[` + c.item + `]}`
		list, err := parseList([]byte(body), watchlog.NewDecoder(c.resource), c.resource)
		if err != nil || list.ResourceVersion != "9" || list.Continue != "more" || len(list.Items) != 1 {
			t.Errorf("%s: %+v, %v", name, list, err)
			continue
		}
		if got := string(list.Items[0].(item).object.JSON()); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
}

func FuzzParseList(f *testing.F) {
	f.Add([]byte(`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[{"metadata":{"name":"a","resourceVersion":"1"}}]}`))
	f.Add([]byte(`{"items":[{}]}`))
	f.Add([]byte(`{"items":null}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		r := podResource()
		list, err := parseList(body, watchlog.NewDecoder(r), r)
		if err != nil {
			return
		}
		for _, i := range list.Items {
			if o := i.(item).object; o.Key() == "" || o.Rev() == 0 || !json.Valid(o.JSON()) {
				t.Errorf("%q gave %q", body, o.JSON())
			}
		}
	})
}

func TestSelectableFieldsOfTheServedVersion(t *testing.T) {
	crd := `{"spec":{"versions":[{"name":"v1","selectableFields":[{"jsonPath":".spec.color"},{"jsonPath":".spec.a.b"}]},
		{"name":"v2"}]}}`
	got, err := selectableFields([]byte(crd), "v1")
	if err != nil || len(got) != 2 || got[0] != (watchlog.Field{Label: "spec.color", Path: "spec.color", Indexed: true}) ||
		got[1].Label != "spec.a.b" {
		t.Errorf("v1: %+v, %v", got, err)
	}
	if got, err := selectableFields([]byte(crd), "v2"); err != nil || got != nil {
		t.Errorf("v2: %+v, %v", got, err)
	}
	if _, err := selectableFields([]byte(`[]`), "v1"); err == nil {
		t.Error("an array was taken for a CRD")
	}
}
