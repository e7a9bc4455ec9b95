package watchlog

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

var widgets = &Resource{Group: "ex.io", Version: "v1", Name: "widgets", Kind: "Widget", Custom: true}

func TestAppendMetadataOfTyped(t *testing.T) {
	const meta = `{"name":"a","namespace":"ns","uid":"u","resourceVersion":"42","labels":{"a":"1"},"unknown":[{}]}`
	o, err := NewDecoder(pods).Decode([]byte(`{"kind":"Pod","metadata": ` + meta + ` ,"spec":{"metadata":{"x":1}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(o.AppendMetadata([]byte("x"), 42)); got != "x"+meta {
		t.Errorf("got %s", got)
	}
	want := `{"name":"a","namespace":"ns","uid":"u","resourceVersion":"12345","labels":{"a":"1"},"unknown":[{}]}`
	if got := string(o.AppendMetadata(nil, 12345)); got != want {
		t.Errorf("at another revision: %s", got)
	}
}

func TestAppendMetadataOfCustom(t *testing.T) {
	for raw, want := range map[string]string{
		`{"name":"w","resourceVersion":"7"}`:                                                                                         `{"name":"w","resourceVersion":"7"}`,
		`{"annotations":{"b":"\"}]","a":"1"},"name":"w","resourceVersion":"7"}`:                                                      `{"name":"w","resourceVersion":"7","annotations":{"b":"\"}]","a":"1"}}`,
		`{"deletionGracePeriodSeconds":0,"generation":0,"name":"w","resourceVersion":"7","uid":""}`:                                  `{"name":"w","resourceVersion":"7","deletionGracePeriodSeconds":0}`,
		`{"creationTimestamp":null,"finalizers":[],"labels":{},"managedFields":[],"name":"w","namespace":"n","resourceVersion":"7"}`: `{"name":"w","namespace":"n","resourceVersion":"7"}`,
		`{"name":"w","other":{"name":"x"},"ownerReferences":[{"apiVersion":"v1","blockOwnerDeletion":false,"controller":true,"kind":"K","name":"o","uid":"u"},{"apiVersion":"v1","kind":"L","name":"","uid":"v"}],"resourceVersion":"7"}`: `{"name":"w","resourceVersion":"7","ownerReferences":[{"apiVersion":"v1","kind":"K","name":"o","uid":"u","controller":true,"blockOwnerDeletion":false},{"apiVersion":"v1","kind":"L","name":"","uid":"v"}]}`,
		`{"managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{},"manager":"m","operation":"Update","subresource":"status","time":"T"}],"name":"w","resourceVersion":"7"}`:                                             `{"name":"w","resourceVersion":"7","managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"T","fieldsType":"FieldsV1","fieldsV1":{},"subresource":"status"}]}`,
		`{"managedFields":"x","name":"w","ownerReferences":[1],"resourceVersion":"7"}`: `{"name":"w","resourceVersion":"7","ownerReferences":[1],"managedFields":"x"}`,
	} {
		o, err := NewDecoder(widgets).Decode([]byte(`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":` + raw + `}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(o.AppendMetadata(nil, 7)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", raw, got, want)
		}
		var moved metav1.ObjectMeta
		if json.Unmarshal(o.AppendMetadata(nil, 123), &moved) == nil && moved.ResourceVersion != "123" {
			t.Errorf("%s: at %q instead of 123", raw, moved.ResourceVersion)
		}
	}
}

// TestMetaFields holds the table against the type.
func TestMetaFields(t *testing.T) {
	compareFields(t, metaFields, reflect.TypeFor[metav1.ObjectMeta]())
	compareFields(t, nestedFields(t, "ownerReferences"), reflect.TypeFor[metav1.OwnerReference]())
	compareFields(t, nestedFields(t, "managedFields"), reflect.TypeFor[metav1.ManagedFieldsEntry]())
}

func nestedFields(t *testing.T, key string) []metaField {
	for _, f := range metaFields {
		if f.key == key {
			return f.nested
		}
	}
	t.Fatalf("no %s", key)
	return nil
}

func compareFields(t *testing.T, fields []metaField, typ reflect.Type) {
	t.Helper()
	if len(fields) != typ.NumField() || len(fields) > maxMetaFields {
		t.Fatalf("%d fields, %s has %d", len(fields), typ, typ.NumField())
	}
	for i, f := range fields {
		tag := typ.Field(i).Tag.Get("json")
		if name := tag[:min(len(f.key), len(tag))]; name != f.key {
			t.Errorf("field %d is %s, in %s it is %s", i, f.key, typ, tag)
		}
	}
}

func TestMetadataTwice(t *testing.T) {
	_, err := NewDecoder(pods).Decode([]byte(`{"metadata":{"name":"a","resourceVersion":"1"},"metadata":{"name":"a"}}`))
	if !errors.Is(err, ErrMalformed) {
		t.Errorf("a revision outside of the metadata that counts: %v", err)
	}
}

// FuzzAppendMetadata holds the metadata of typed and custom objects against what ObjectMeta makes of it.
func FuzzAppendMetadata(f *testing.F) {
	f.Add([]byte(`{"annotations":{"a":"1"},"finalizers":["x"],"generation":3,"labels":{"b":"2"},"name":"w","resourceVersion":"7"}`))
	f.Add([]byte(`{"name":"w","ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"K","name":"o","uid":"u"}],"resourceVersion":"7"}`))
	f.Add([]byte(`{"resourceVersion":"7", "name":"w","managedFields":[{"manager":"m","operation":""}],"labels":null}`))
	f.Fuzz(func(t *testing.T, meta []byte) {
		raw := append(append([]byte(`{"metadata":`), meta...), '}')
		for _, r := range []*Resource{pods, widgets} {
			o, err := NewDecoder(r).Decode(raw)
			if err != nil {
				return
			}
			got := o.AppendMetadata(nil, o.Rev())
			var before, after metav1.ObjectMeta
			twice, err := kjson.UnmarshalStrict(o.JSON()[o.metaStart:o.metaEnd], &before, kjson.DisallowDuplicateFields)
			if err != nil || len(twice) > 0 {
				continue // nothing that kube-apiserver would have stored
			}
			if err := kjson.UnmarshalCaseSensitivePreserveInts(got, &after); err != nil {
				t.Fatalf("%s became %s: %v", meta, got, err)
			}
			if !equality.Semantic.DeepEqual(before, after) {
				t.Fatalf("%s became %s", meta, got)
			}
		}
	})
}
