package kinds

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhatCantBeEncoded is about JSON that has more in it than the types, or other things.
func TestWhatCantBeEncoded(t *testing.T) {
	for _, c := range []struct {
		apiVersion, kind, raw string
		want                  error // nil for any
	}{
		{"v1", "Future", `{}`, ErrUnknownKind},
		{"apps/v2", "Deployment", `{}`, ErrUnknownKind},
		{"v1", "Pod", `{"spec":{"future":1}}`, ErrUnknownFields},
		{"v1", "Pod", `{"spec":{"NodeName":"n"}}`, ErrUnknownFields},
		{"v1", "Pod", `{"metadata":{"future":null}}`, ErrUnknownFields},
		{"v1", "Pod", `{"spec":{"hostNetwork":"yes"}}`, nil},
		{"v1", "Pod", `{"spec":{"priority":4294967296}}`, nil},
		{"v1", "Pod", `{`, nil},
		{"v1", "Pod", `[]`, nil},
	} {
		if _, err := Encode(c.apiVersion, c.kind, []byte(c.raw)); err == nil || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s %s: %v, want %v", c.kind, c.raw, err, c.want)
		}
	}
	if _, err := EncodePartial([]byte(`{"metadata":{"future":1}}`)); !errors.Is(err, ErrUnknownFields) {
		t.Error(err)
	}
}

func TestEncoded(t *testing.T) {
	message, err := Encode("v1", "Pod", []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"},"spec":{"nodeName":"n"}}`))
	if err != nil || cap(message) != len(message) {
		t.Fatal(len(message), cap(message), err)
	}
	var p corev1.Pod
	if err := p.Unmarshal(message); err != nil || p.Name != "a" || p.Spec.NodeName != "n" {
		t.Errorf("%v %v", p, err)
	}
	if message, err = EncodePartial([]byte(`{"metadata":{"name":"a"}}`)); err != nil {
		t.Fatal(err)
	}
	var m metav1.PartialObjectMetadata
	if err := m.Unmarshal(message); err != nil || m.Name != "a" {
		t.Errorf("%v %v", m, err)
	}
}
