package embedded_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestObjectsHaveCells writes objects of built-in and custom kinds, and changes the columns of the latter.
func TestObjectsHaveCells(t *testing.T) {
	r := newRig(t)
	definition := func(columns string) string {
		return `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gears.ex.io"},"spec":{"group":"ex.io",` +
			`"scope":"Namespaced","names":{"plural":"gears","kind":"Gear"},"versions":[{"name":"v1","served":true,"storage":true,` +
			`"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}},"additionalPrinterColumns":[` + columns + `]}]}}`
	}
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	r.must(http.MethodPost, path, "application/json", definition(`{"name":"Teeth","type":"integer","jsonPath":".spec.teeth"}`))
	r.must(http.MethodPost, "/apis/ex.io/v1/namespaces/default/gears", "application/json",
		`{"apiVersion":"ex.io/v1","kind":"Gear","metadata":{"name":"a"},"spec":{"teeth":12,"metal":"brass"}}`)
	r.must(http.MethodPost, "/api/v1/namespaces/default/configmaps", "application/json", `{"metadata":{"name":"c"},"data":{"x":"y"}}`)
	cells := func(group, resource, key string) string {
		return string(r.log(group, "v1", resource).Snapshot().Get(key).Cells())
	}
	if got := cells("", "configmaps", "default/c"); !strings.HasPrefix(got, `["c",1,{"since":"`) {
		t.Errorf("ConfigMap: %s", got)
	}
	if got := cells("ex.io", "gears", "default/a"); got != `["a",12]` {
		t.Errorf("custom resource: %s", got)
	}
	before := r.log("ex.io", "v1", "gears").Resource()
	patch := definition(`{"name":"Teeth","type":"string","jsonPath":".spec.metal"}`)
	r.must(http.MethodPatch, path+"/gears.ex.io", "application/merge-patch+json", patch)
	if got := cells("ex.io", "gears", "default/a"); got != `["a","brass"]` {
		t.Errorf("with other columns: %s", got)
	}
	if after := r.log("ex.io", "v1", "gears").Resource(); after.Columns == before.Columns || after.Printer == before.Printer {
		t.Error("the view would be the same")
	}
	r.reopen()
	if got := cells("ex.io", "gears", "default/a"); got != `["a","brass"]` {
		t.Errorf("after a restart: %s", got)
	}
}
