package scope

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// randomRules returns a scope of random rules.
func (w *world) randomRules() (rules []Rule) {
	for range 1 + w.rnd.IntN(6) {
		r := Rule{Resource: graphed[w.rnd.IntN(len(graphed))].Resource}
		gr := schema.GroupResource{Resource: r.Resource}
		switch w.rnd.IntN(5) {
		case 0:
			if gr == pods {
				r.BoundToNode = "spec.nodeName"
			}
		case 1:
			r.LabelSelector = "app=" + w.some("app")
		case 2, 3:
			for from, to := range links {
				if slices.Contains(to, gr) {
					r.ReferencedBy = append(r.ReferencedBy, from.Resource)
				}
			}
			slices.Sort(r.ReferencedBy)
		}
		if gr != volumes && gr != namespaces {
			switch w.rnd.IntN(4) {
			case 0:
				r.Namespaces = []string{w.some("ns"), "other"}
			case 1:
				r.NamespaceSelector = "site=" + w.some("site")
			}
		}
		rules = append(rules, r)
	}
	return append(rules, Rule{Resource: "pods", BoundToNode: "spec.nodeName"})
}

// look is the present state of the world.
func (w *world) look(gr schema.GroupResource) (*watchlog.Snapshot, error) {
	s := w.logs[gr].Snapshot()
	return &s, nil
}

// TestViewsAreThoseOfThePlainImplementation compares what edges may hold, over random graphs and changes, with what a
// plain implementation says, and sees that Concerns overlooks no event that changes a view.
func TestViewsAreThoseOfThePlainImplementation(t *testing.T) {
	changes := 0
	for seed := range uint64(40) {
		w := newWorld(t, seed)
		rules := w.randomRules()
		nodes := []string{"node-0", "node-1"}[:1+w.rnd.IntN(2)]
		s, err := Bind("edge", nodes, rules)
		if err != nil {
			t.Fatal(err)
		}
		model := plain{rules, nodes, w.things}
		last := map[schema.GroupResource]string{}
		for step := range 120 {
			from, e := w.write()
			resolver := &Resolver{Scope: s, Look: w.look, Fault: func(err error) { t.Error(err) }}
			for _, gr := range graphed {
				view, err := resolver.View(w.logs[gr].Resource())
				if err != nil {
					t.Fatal(err)
				}
				got, want := heldBy(view, w.logs[gr].Snapshot()), model.keys(gr)
				if !slices.Equal(got, want) {
					t.Fatalf("seed %d, step %d: of %s the edge holds %v, the plain implementation says %v\nrules %+v", seed, step, gr, got, want, rules)
				}
				if was, ok := last[gr]; ok && was != view.Hash() {
					changes++
					if !concerned(s, gr, from, e) {
						t.Fatalf("seed %d, step %d: %s of %s %s changed the view of %s unnoticed", seed, step, e.Type, from, e.Object.Key(), gr)
					}
				}
				last[gr] = view.Hash()
			}
		}
	}
	if changes < 300 {
		t.Errorf("only %d views changed: the test has no teeth", changes)
	}
}

// keys returns the keys that the plain implementation lets the edge hold of a resource.
func (p plain) keys(gr schema.GroupResource) []string {
	out := []string{}
	for key, t := range p.things[gr] {
		if p.holds(t) {
			out = append(out, key)
		}
	}
	slices.Sort(out)
	return out
}

func heldBy(v View, snap watchlog.Snapshot) []string {
	out := []string{}
	for o := range v.Objects(snap) {
		out = append(out, o.Key())
	}
	slices.Sort(out)
	for o := range snap.All("") { // the terms cover the view
		if _, there := slices.BinarySearch(out, o.Key()); there != v.Matches(o) {
			return append(out, "and "+o.Key()+" by its filters")
		}
	}
	return out
}

// concerned tells whether an event concerns an input of a view, or of a view that one of its inputs depends on.
func concerned(s Scope, gr, from schema.GroupResource, e *watchlog.Event) bool {
	for _, in := range s.Inputs(gr) {
		if in.From == from && in.Concerns(e) || in.Own() && concerned(s, in.From, from, e) {
			return true
		}
	}
	return false
}

func TestWhatAViewNeedsToKnow(t *testing.T) {
	s, err := Bind("edge", nil, []Rule{
		{Resource: "pods", NamespaceSelector: "site=$(EDGE_NAME)"},
		{Resource: "persistentvolumeclaims", ReferencedBy: []string{"pods"}},
		{Resource: "persistentvolumes", ReferencedBy: []string{"persistentvolumeclaims"}},
		{Resource: "secrets", ReferencedBy: []string{"persistentvolumes"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.GroupResource{namespaces, claims, volumes, pods}
	if got := s.Sources(secrets); !slices.Equal(got, want) {
		t.Errorf("secrets need %v, not %v", got, want)
	}
	if got := s.Sources(namespaces); got != nil {
		t.Errorf("namespaces need %v", got)
	}
	unknown := errors.New("not known yet")
	r := &Resolver{Scope: s, Look: func(schema.GroupResource) (*watchlog.Snapshot, error) { return nil, unknown }}
	if _, err := r.View(podResource()); !errors.Is(err, unknown) {
		t.Errorf("a view without the state of namespaces: %v", err)
	}
	r = &Resolver{Scope: s, Look: func(schema.GroupResource) (*watchlog.Snapshot, error) { return nil, nil }}
	if v, err := r.View(podResource()); err != nil || len(v.Terms()) != 1 {
		t.Errorf("without namespaces in the cloud: %v, %v", v.Terms(), err)
	}
	for _, gr := range []schema.GroupResource{pods, claims, secrets} {
		if sel, ok := s.Narrow(gr); ok {
			t.Errorf("%s can be said as one request: %+v", gr, sel)
		}
	}
}

func TestDynamicRulesThatCanNotBeRight(t *testing.T) {
	for _, r := range []Rule{
		{Resource: "pods", ReferencedBy: []string{"secrets"}},
		{Resource: "secrets", ReferencedBy: []string{"deployments"}},
		{Group: "x.example", Resource: "secrets", ReferencedBy: []string{"pods"}},
		{Resource: "pods", NamespaceSelector: "a in"},
		{Resource: "pods", NamespaceSelector: "a=$(OTHER)"},
		{Resource: "pods", NamespaceSelector: "a=b", Namespaces: []string{"c"}},
		{Resource: "*", OnDemand: true, ReferencedBy: []string{"pods"}},
	} {
		if _, err := Bind("edge", nil, []Rule{r}); err == nil {
			t.Errorf("%+v is taken", r)
		}
	}
	s, err := Bind("edge", nil, []Rule{{Resource: "persistentvolumes", NamespaceSelector: "a=b"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.View(&watchlog.Resource{Version: "v1", Name: "persistentvolumes"}); err == nil {
		t.Error("namespaces of what has none are taken")
	}
}

func BenchmarkResolveNode(b *testing.B) {
	l := watchlog.New(podResource(), watchlog.Config{})
	var all []*watchlog.Object
	for i := range 110 {
		o, err := l.Decoder().Decode(fmt.Appendf(nil, `{"metadata":{"name":"p%d","namespace":"d","uid":"u","resourceVersion":"%d"},"spec":{"nodeName":"edge","serviceAccountName":"a",`+
			`"containers":[{"name":"c","env":[{"name":"A","valueFrom":{"secretKeyRef":{"name":"s%d","key":"k"}}}]}],"volumes":[{"name":"v","configMap":{"name":"m"}}]},"status":{}}`, i, i+1, i))
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, o)
	}
	if err := l.Load(watchlog.Content{Objects: all, Rev: 1000, Floor: 1000}); err != nil {
		b.Fatal(err)
	}
	s, err := Bind("edge", nil, []Rule{{Resource: "pods", BoundToNode: "spec.nodeName"}, {Resource: "secrets", ReferencedBy: []string{"pods"}}})
	if err != nil {
		b.Fatal(err)
	}
	snap := l.Snapshot()
	for b.Loop() {
		r := &Resolver{Scope: s, Look: func(schema.GroupResource) (*watchlog.Snapshot, error) { return &snap, nil }}
		if _, err := r.View(&watchlog.Resource{Version: "v1", Name: "secrets", Namespaced: true}); err != nil {
			b.Fatal(err)
		}
	}
}
