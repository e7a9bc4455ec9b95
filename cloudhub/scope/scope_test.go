package scope

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func podResource() *watchlog.Resource {
	return &watchlog.Resource{
		Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true,
		Fields: []watchlog.Field{
			{Label: "spec.nodeName", Path: "spec.nodeName", Indexed: true},
			{Label: "status.phase", Path: "status.phase"},
		},
	}
}

type pod struct{ ns, name, node, phase, app, tier string }

func (p pod) object(t testing.TB, rev uint64) *watchlog.Object {
	t.Helper()
	o, err := watchlog.NewDecoder(podResource()).Decode(fmt.Appendf(nil,
		`{"metadata":{"name":%q,"namespace":%q,"uid":"u","resourceVersion":"%d","labels":{"app":%q,"tier":%q}},`+
			`"spec":{"nodeName":%q},"status":{"phase":%q}}`, p.name, p.ns, rev, p.app, p.tier, p.node, p.phase))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func mustParse(t testing.TB, text string) *File {
	t.Helper()
	f, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func view(t testing.TB, s Scope, r *watchlog.Resource) View {
	t.Helper()
	v, err := s.View(r)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestForIsTheUnionOfWhatMatchesTheName(t *testing.T) {
	f := mustParse(t, `
scopes:
- name: nodes
  edges: ["edge-*"]
  rules:
  - {resource: pods, boundToNode: spec.nodeName}
  - {resource: nodes, fieldSelector: metadata.name=$(EDGE_NAME)}
- name: shop
  edges: [edge-2, till]
  nodes: ["$(EDGE_NAME)-a"]
  rules:
  - {resource: pods, namespaces: [shop]}
  - {group: apps, resource: deployments}
`)
	names := func(edge string) (out []string) {
		for _, gr := range f.For(edge).Resources() {
			out = append(out, gr.String())
		}
		return out
	}
	for edge, want := range map[string][]string{
		"edge-1": {"nodes", "pods"}, "edge-2": {"deployments.apps", "nodes", "pods"}, "till": {"deployments.apps", "pods"}, "other": nil,
	} {
		if got := names(edge); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", edge, got, want)
		}
	}
	v := view(t, f.For("edge-2"), podResource())
	for p, want := range map[pod]bool{
		{ns: "x", name: "a", node: "edge-2"}:    true,
		{ns: "x", name: "a", node: "edge-1"}:    false,
		{ns: "shop", name: "a", node: "edge-1"}: true,
	} {
		if v.Matches(p.object(t, 1)) != want {
			t.Errorf("%+v: %v", p, !want)
		}
	}
	node := &watchlog.Resource{Version: "v1", Name: "nodes"}
	if terms := view(t, f.For("edge-1"), node).Terms(); !slices.Equal(terms, []watchlog.Term{watchlog.WithKey("edge-1")}) {
		t.Errorf("a node by name is looked up by %v", terms)
	}
}

func TestParseRefuses(t *testing.T) {
	rule := func(r string) string { return `{scopes: [{name: s, edges: [e], rules: [` + r + `]}]}` }
	for want, text := range map[string]string{
		"unknown field":            `{scopes: [{name: s, edges: [e], rules: [{resource: pods}], colour: red}]}`,
		"has no name":              `{scopes: [{edges: [e], rules: [{resource: pods}]}]}`,
		"there twice":              `{scopes: [{name: s, edges: [e], rules: [{resource: a}]}, {name: s, edges: [e], rules: [{resource: a}]}]}`,
		"no edges":                 `{scopes: [{name: s, rules: [{resource: pods}]}]}`,
		"not a pattern":            `{scopes: [{name: s, edges: ["[a"], rules: [{resource: pods}]}]}`,
		"no rules":                 `{scopes: [{name: s, edges: [e]}]}`,
		`"s": rule 1: no resource`: rule(`{namespaces: [x]}`),
		"lower-case plural":        rule(`{resource: Pods}`),
		"labelSelector":            rule(`{resource: pods, labelSelector: "a b"}`),
		"fieldSelector":            rule(`{resource: pods, fieldSelector: "nonsense"}`),
		"scopes:":                  "not: [yaml",
		"there are none":           `# nothing`,
		"more than one":            rule(`{resource: pods}`) + "\n---\n" + rule(`{resource: nodes}`),
		`nodes: "$(NODE)" has`:     `{scopes: [{name: s, edges: [e], nodes: ["$(NODE)"], rules: [{resource: pods}]}]}`,
		`rule 1: namespaces: "$(`:  rule(`{resource: pods, namespaces: ["$(EDGE_NAME)", "$(NS)"]}`),
		`labelSelector: "a=$(`:     rule(`{resource: pods, labelSelector: "a=$(X)"}`),
		`fieldSelector: "a=$(`:     rule(`{resource: pods, fieldSelector: "a=$(EDGE_NAMES)"}`),
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestViewRefusesFieldsThatTheResourceDoesNotHave(t *testing.T) {
	for _, rule := range []string{`{resource: pods, fieldSelector: "spec.colour=red"}`, `{resource: pods, boundToNode: spec.host}`} {
		f := mustParse(t, `{scopes: [{name: s, edges: [e], rules: [`+rule+`]}]}`)
		if _, err := f.For("e").View(podResource()); err == nil || !strings.Contains(err.Error(), "can't be selected by field") {
			t.Errorf("%s: %v", rule, err)
		}
	}
}

func TestViewRefusesNamespacesOfWhatHasNone(t *testing.T) {
	f := mustParse(t, `{scopes: [{name: s, edges: [e], rules: [{resource: nodes, namespaces: [x]}]}]}`)
	if _, err := f.For("e").View(&watchlog.Resource{Version: "v1", Name: "nodes"}); err == nil || !strings.Contains(err.Error(), "nodes have no namespaces") {
		t.Errorf("%v", err)
	}
}

func TestEdgeNameStandsInNamespacesToo(t *testing.T) {
	v := view(t, mustParse(t, "---\n# one document\n"+`{scopes: [{name: s, edges: ["*"], rules: [{resource: pods, namespaces: ["site-$(EDGE_NAME)"]}]}]}`).For("e"), podResource())
	if !v.Matches(pod{ns: "site-e", name: "a"}.object(t, 1)) || v.Matches(pod{ns: "site-x", name: "a"}.object(t, 1)) {
		t.Error("not the edge's own namespace")
	}
}

func TestEdgeNameCannotChangeWhatASelectorMeans(t *testing.T) {
	f := mustParse(t, `{scopes: [{name: s, edges: ["*"], rules: [{resource: pods, labelSelector: "app in ($(EDGE_NAME))"}]}]}`)
	if n := len(f.For("edge-1.site_a").Resources()); n != 1 {
		t.Errorf("a plain name has %d resources", n)
	}
	for _, name := range []string{"a,b", "a)", "a=b", "", "a b", "-a", "a/b", "a\n"} {
		if got := f.For(name).Resources(); got != nil {
			t.Errorf("%q may hold %v", name, got)
		}
	}
}

func TestHashIsOfTheRulesAlone(t *testing.T) {
	hash := func(rules string) string {
		return view(t, mustParse(t, `{scopes: [{name: s, edges: [e], rules: [`+rules+`]}]}`).For("e"), podResource()).Hash()
	}
	a, b := `{resource: pods, namespaces: [x, y]}`, `{resource: pods, labelSelector: "a=b"}`
	if hash(a+","+b) != hash(b+`, {resource: pods, namespaces: [y, x]}`) {
		t.Error("order matters")
	}
	if hash(a) == hash(b) || hash(a) == hash(a+","+b) {
		t.Error("other rules have the same hash")
	}
	if hash(a) != hash(a+`, {resource: nodes}`) {
		t.Error("rules of other resources matter")
	}
	later := podResource()
	later.Version = "v2"
	s := mustParse(t, `{scopes: [{name: s, edges: [e], rules: [`+a+`]}]}`).For("e")
	if view(t, s, podResource()).Hash() == view(t, s, later).Hash() {
		t.Error("another version has the same hash")
	}
	if n := len(view(t, s, podResource()).Hash()); n > 22 {
		t.Errorf("a hash of %d characters is dear for a position", n)
	}
}

// TestHashIsOfAllThatEdgesAreTold: what an edge holds is resumed without a word of what the resource is, if the hash is the
// same.
func TestHashIsOfAllThatEdgesAreTold(t *testing.T) {
	s := mustParse(t, `{scopes: [{name: s, edges: [e], rules: [{resource: pods}]}]}`).For("e")
	seen := map[string]string{view(t, s, podResource()).Hash(): "nothing"}
	for name, change := range map[string]func(*watchlog.Resource){
		"version":          func(r *watchlog.Resource) { r.Version = "v2" },
		"kind":             func(r *watchlog.Resource) { r.Kind = "Pot" },
		"list kind":        func(r *watchlog.Resource) { r.ListKind = "Pods" },
		"namespaced":       func(r *watchlog.Resource) { r.Namespaced = false },
		"custom":           func(r *watchlog.Resource) { r.Custom = true },
		"columns":          func(r *watchlog.Resource) { r.Columns = "[]" },
		"printer":          func(r *watchlog.Resource) { r.Printer = "p" },
		"deprecated":       func(r *watchlog.Resource) { r.Deprecated = "gone in v2" },
		"a field more":     func(r *watchlog.Resource) { r.Fields = append(r.Fields, watchlog.Field{Label: "x", Path: "x"}) },
		"a field's path":   func(r *watchlog.Resource) { r.Fields[1].Path = "x" },
		"a default":        func(r *watchlog.Resource) { r.Fields[1].Default = "x" },
		"an index":         func(r *watchlog.Resource) { r.Fields[1].Indexed = true },
		"a field's label":  func(r *watchlog.Resource) { r.Fields[1].Label = "x" },
		"a field less":     func(r *watchlog.Resource) { r.Fields = r.Fields[:1] },
		"no fields at all": func(r *watchlog.Resource) { r.Fields = nil },
	} {
		r := podResource()
		change(r)
		hash := view(t, s, r).Hash()
		if as := seen[hash]; as != "" {
			t.Errorf("%s is the same as %s", name, as)
		}
		seen[hash] = name
	}
}

// model is what a rule means, in the plainest words.
type model struct {
	namespaces    []string
	app, node     string // "" is any
	notPhase      string
	name          string
	boundTo       []string
	requireTierIn bool
}

func (r model) matches(p pod) bool {
	return (len(r.namespaces) == 0 || slices.Contains(r.namespaces, p.ns)) &&
		(r.app == "" || p.app == r.app) && (r.node == "" || p.node == r.node) &&
		(r.notPhase == "" || p.phase != r.notPhase) && (r.name == "" || p.name == r.name) &&
		(len(r.boundTo) == 0 || slices.Contains(r.boundTo, p.node)) &&
		(!r.requireTierIn || p.tier == "t1" || p.tier == "t2")
}

func (r model) rule() Rule {
	out := Rule{Resource: "pods", Namespaces: r.namespaces}
	var ls, fs []string
	if r.app != "" {
		ls = append(ls, "app="+r.app)
	}
	if r.requireTierIn {
		ls = append(ls, "tier in (t1,t2)")
	}
	for label, v := range map[string]string{"spec.nodeName": r.node, "metadata.name": r.name} {
		if v != "" {
			fs = append(fs, label+"="+v)
		}
	}
	if r.notPhase != "" {
		fs = append(fs, "status.phase!="+r.notPhase)
	}
	if len(r.boundTo) > 0 {
		out.BoundToNode = "spec.nodeName"
	}
	out.LabelSelector, out.FieldSelector = strings.Join(ls, ","), strings.Join(fs, ",")
	return out
}

// TestViewAgainstReference holds filters, index terms and transitions against the plain meaning of random rules.
func TestViewAgainstReference(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	randomPod := func() pod {
		return pod{
			ns: pick("a", "b", "c"), name: pick("p", "q", "r"), node: pick("", "n1", "n2", "n3"),
			phase: pick("Running", "Failed"), app: pick("x", "y"), tier: pick("t1", "t2", "t3"),
		}
	}
	for range 3000 {
		var refs []model
		s := Scope{}
		for range 1 + rng.IntN(3) {
			r := model{
				app: pick("", "", "x"), node: pick("", "", "n1"), notPhase: pick("", "Failed"), name: pick("", "", "q"),
				requireTierIn: rng.IntN(3) == 0,
			}
			if rng.IntN(2) == 0 {
				r.namespaces = []string{pick("a", "b"), "c"}
			}
			if rng.IntN(3) == 0 {
				r.boundTo = []string{"n2", "n3"}
			}
			refs = append(refs, r)
			s.rules = append(s.rules, r.rule().bind("e", r.boundTo))
		}
		v := view(t, s, podResource())
		in := func(p pod) bool { return slices.ContainsFunc(refs, func(r model) bool { return r.matches(p) }) }
		before, after := randomPod(), randomPod()
		after.ns, after.name = before.ns, before.name
		checkObject(t, v, before, in(before), refs)
		checkTransition(t, v, before, after, in(before), in(after), refs)
	}
}

func checkObject(t *testing.T, v View, p pod, want bool, refs []model) {
	t.Helper()
	o := p.object(t, 1)
	if v.Matches(o) != want {
		t.Fatalf("%+v in %+v: %v", p, refs, !want)
	}
	found := slices.ContainsFunc(v.Terms(), func(term watchlog.Term) bool { return term.Matches(podResource(), o) })
	if want && !found {
		t.Fatalf("%+v in %+v is not found by %v", p, refs, v.Terms())
	}
}

func checkTransition(t *testing.T, v View, before, after pod, was, is bool, refs []model) {
	t.Helper()
	old, next := before.object(t, 1), after.object(t, 2)
	for name, e := range map[string]*watchlog.Event{
		"added":    {Rev: 2, Type: watchlog.Added, Object: next},
		"modified": {Rev: 2, Type: watchlog.Modified, Object: next, Prev: old},
		"deleted":  {Rev: 3, Type: watchlog.Deleted, Object: old, Prev: old},
	} {
		had, has := was && name != "added", is && name != "deleted"
		op, ok := v.Transition(e)
		if ok != (had || has) || ok && (op.Object != nil) != has || ok && op.Rev != e.Rev {
			t.Fatalf("%s from %+v to %+v (in view: %v, %v) gives %+v, %v with %+v", name, before, after, had, has, op, ok, refs)
		}
	}
}

func TestTermsAreTheNarrowest(t *testing.T) {
	for rule, want := range map[string][]watchlog.Term{
		`{resource: pods}`:                                                                         {watchlog.Everything()},
		`{resource: pods, namespaces: [a, b]}`:                                                     {watchlog.InNamespace("a"), watchlog.InNamespace("b")},
		`{resource: pods, namespaces: [a], labelSelector: "app=x"}`:                                {watchlog.WithLabel("app", "x")},
		`{resource: pods, labelSelector: "app=x", boundToNode: spec.nodeName}`:                     {watchlog.WithField("spec.nodeName", "e")},
		`{resource: pods, namespaces: [a], fieldSelector: "metadata.name=p"}`:                      {watchlog.WithKey("a/p")},
		`{resource: pods, fieldSelector: "metadata.namespace=a"}`:                                  {watchlog.InNamespace("a")},
		`{resource: pods, fieldSelector: "status.phase=Failed"}`:                                   {watchlog.Everything()},
		`{resource: pods, fieldSelector: "spec.nodeName!=n1", labelSelector: "!app"}`:              {watchlog.Everything()},
		`{resource: pods, namespaces: [a]}, {resource: pods, labelSelector: "app!=x"}`:             {watchlog.Everything()},
		`{resource: pods, namespaces: [a]}, {resource: pods, namespaces: [a], labelSelector: "x"}`: {watchlog.InNamespace("a")},
	} {
		v := view(t, mustParse(t, `{scopes: [{name: s, edges: [e], rules: [`+rule+`]}]}`).For("e"), podResource())
		if !slices.Equal(v.Terms(), want) {
			t.Errorf("%s: %v, want %v", rule, v.Terms(), want)
		}
	}
}

func TestWatchedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "scopes.yaml")
	put := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(`{scopes: [{name: s, edges: [e], rules: [{resource: pods}]}]}`)
	var logged strings.Builder
	w, err := Watch(path, testLogger(&logged))
	if err != nil {
		t.Fatal(err)
	}
	before := w.Changed()
	put(`{scopes: [{name: s, edges: [e], rules: [{resource: nodes}, {resource: pods}]}]}`)
	w.reload()
	select {
	case <-before:
		t.Error("a file that may be half written was read")
	default:
	}
	w.reload()
	select {
	case <-before:
	default:
		t.Error("nobody was told")
	}
	if n := len(w.For("e").Resources()); n != 2 {
		t.Errorf("%d resources after the change", n)
	}
	put(`{scopes: [{`)
	w.reload()
	w.reload()
	if n := len(w.For("e").Resources()); n != 2 || !strings.Contains(logged.String(), "stays in force") {
		t.Errorf("%d resources with a broken file; log %q", n, logged.String())
	}
	if _, err := Watch(path, testLogger(&logged)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("start with a broken file: %v", err)
	}
}

// FuzzParse: whatever the file is, it is either refused or usable.
func FuzzParse(f *testing.F) {
	f.Add(`{scopes: [{name: s, edges: ["*"], nodes: [n], rules: [{resource: pods, boundToNode: spec.nodeName, labelSelector: "a in (b)"}]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse([]byte(text))
		if err != nil {
			return
		}
		v, err := file.For("edge-1").View(podResource())
		if err != nil {
			return
		}
		o := pod{ns: "a", name: "p"}.object(t, 1)
		if v.Matches(o) && !slices.ContainsFunc(v.Terms(), func(term watchlog.Term) bool { return term.Matches(podResource(), o) }) {
			t.Fatal("an object of the view has none of its terms")
		}
	})
}

func TestDeployedSampleIsUsable(t *testing.T) {
	f, err := Load("../../deploy/cloudhub/scopes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Scopes) == 0 {
		t.Error("no scopes")
	}
}
