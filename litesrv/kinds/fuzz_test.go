package kinds

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	strict "sigs.k8s.io/json"
)

// decoded is an object that can be read back.
type decoded interface {
	object
	Unmarshal(data []byte) error
}

// names returns the kinds of the table in order.
func names() []name {
	var all []name
	for n := range table {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b name) int { return strings.Compare(a.apiVersion+a.kind, b.apiVersion+b.kind) })
	return all
}

// FuzzEncode checks that what is encoded is the object, and that nothing panics.
func FuzzEncode(f *testing.F) {
	all := names()
	dir := fixtures(f)
	for i, n := range all {
		raw, _ := fixture(f, dir, n)
		f.Add(uint8(i), raw)
		f.Add(uint8(i), []byte(`{"metadata":{"labels":{},"creationTimestamp":null,"managedFields":[{"fieldsV1":{"a":1}}]},"spec":{},"status":null}`))
	}
	f.Fuzz(func(t *testing.T, i uint8, raw []byte) {
		n := all[int(i)%len(all)]
		message, err := Encode(n.apiVersion, n.kind, raw)
		if err != nil {
			return
		}
		want, got := table[n](), table[n]().(decoded)
		if err := got.Unmarshal(message); err != nil {
			t.Fatalf("%v: %v", n, err)
		}
		// Times have parts of seconds that no API server writes; they are lost in JSON as well.
		first := table[n]()
		if _, err := strict.UnmarshalStrict(raw, first); err != nil {
			t.Fatal(err)
		}
		plain, err := json.Marshal(first)
		if err != nil {
			return // it holds what is not JSON
		}
		if _, err := strict.UnmarshalStrict(plain, want); err != nil {
			t.Fatal(err)
		}
		clearTypes(want)
		if !equality.Semantic.DeepEqual(want, object(got)) {
			t.Errorf("%v:\n%s\n got %+v\nwant %+v", n, raw, got, want)
		}
	})
}

// clearTypes takes away the kind, which messages don't have.
func clearTypes(o object) {
	o.(runtime.Object).GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
}
