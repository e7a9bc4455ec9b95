package scope

import "testing"

func TestSame(t *testing.T) {
	f, err := Parse([]byte(`{scopes: [{name: s, edges: ["*"], rules: [{resource: pods}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	a, b := f.For("a"), f.For("b")
	if !a.Same(a) { //nolint:gocritic // that is the question
		t.Error("a scope is not itself")
	}
	if a.Same(b) || a.Same(Scope{}) || (Scope{}).Same(a) {
		t.Error("scopes are taken for the same that are not")
	}
}
