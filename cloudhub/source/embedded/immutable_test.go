package embedded_test

import (
	"net/http"
	"testing"
)

// TestADeletionIsNotPatchedIn holds that an object's deletion begins with a DELETE.
func TestADeletionIsNotPatchedIn(t *testing.T) {
	r := newRig(t)
	r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"a","finalizers":["x.io/y"]}}`)
	a := configMaps + "/a"
	r.fails(http.MethodPatch, a, mergePatch, `{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}`, 422,
		`ConfigMap "a" is invalid: metadata.deletionTimestamp: Invalid value: "2020-01-01T00:00:00Z": field is immutable`)
	r.fails(http.MethodPut, a, "", `{"metadata":{"name":"a","deletionGracePeriodSeconds":5}}`, 422,
		`ConfigMap "a" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable`)
	deleted := r.must(http.MethodDelete, a, "", "").Metadata
	r.fails(http.MethodPatch, a, mergePatch, `{"metadata":{"deletionGracePeriodSeconds":5}}`, 422,
		`ConfigMap "a" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable`)
	for _, patch := range []string{
		`{"metadata":{"deletionTimestamp":null}}`, `{"metadata":{"deletionTimestamp":"2020-01-01T00:00:00Z"}}`,
		`{"metadata":{"deletionGracePeriodSeconds":null}}`,
	} {
		got := r.must(http.MethodPatch, a, mergePatch, patch).Metadata
		if !got.DeletionTimestamp.Equal(deleted.DeletionTimestamp) || got.DeletionGracePeriodSeconds == nil || *got.DeletionGracePeriodSeconds != 0 {
			t.Errorf("%s: %+v", patch, got)
		}
	}
}

// TestImmutableObjectsStay is about the promise of immutable ConfigMaps and Secrets, which kubelets rely on.
func TestImmutableObjectsStay(t *testing.T) {
	r := newRig(t)
	const secrets = "/api/v1/namespaces/default/secrets"
	const stays = ": Forbidden: field is immutable when `immutable` is set"
	r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"a"},"immutable":true,"data":{"x":"1"},"binaryData":{"b":"AAAA"}}`)
	r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"free"},"immutable":false,"data":{"x":"1"}}`)
	r.must(http.MethodPost, secrets, "", `{"metadata":{"name":"a"},"immutable":true,"data":{"x":"AAAA"}}`)
	for _, c := range []struct{ path, patch, message string }{
		{configMaps, `{"data":{"x":"2"}}`, `ConfigMap "a" is invalid: data` + stays},
		{configMaps, `{"data":{"y":"2"}}`, `ConfigMap "a" is invalid: data` + stays},
		{configMaps, `{"binaryData":null}`, `ConfigMap "a" is invalid: binaryData` + stays},
		{configMaps, `{"immutable":false}`, `ConfigMap "a" is invalid: immutable` + stays},
		{
			configMaps, `{"immutable":null,"data":{"x":"2"},"binaryData":null}`,
			`ConfigMap "a" is invalid: [immutable` + stays + ", data" + stays + ", binaryData" + stays + "]",
		},
		{secrets, `{"data":{"x":"AAAB"}}`, `Secret "a" is invalid: data` + stays},
		{secrets, `{"stringData":{"x":"2"}}`, `Secret "a" is invalid: data` + stays},
		{secrets, `{"immutable":false}`, `Secret "a" is invalid: immutable` + stays},
		{secrets, `{"type":"foo"}`, `Secret "a" is invalid: type: Invalid value: "foo": field is immutable`},
	} {
		r.fails(http.MethodPatch, c.path+"/a", mergePatch, c.patch, 422, c.message)
	}
	for _, path := range []string{configMaps + "/a", secrets + "/a"} {
		r.must(http.MethodPatch, path, mergePatch, `{"metadata":{"labels":{"a":"b"}}}`)
		r.must(http.MethodDelete, path, "", "")
	}
	if o := r.must(http.MethodPatch, configMaps+"/free", mergePatch, `{"immutable":true,"data":{"x":"2"}}`); o.Data["x"] != "2" {
		t.Errorf("not immutable yet: %+v", o)
	}
}
