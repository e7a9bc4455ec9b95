package scope

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// rules returns the scope of edge-1 under a list of rules.
func rules(t testing.TB, text string) Scope {
	t.Helper()
	return mustParse(t, `{scopes: [{name: s, edges: ["*"], rules: [`+text+`]}]}`).For("edge-1")
}

func TestOffers(t *testing.T) {
	for _, c := range []struct{ name, rules, offered, not string }{
		{"a named resource", `{resource: pods, onDemand: true}`, "pods", "nodes pods.apps"},
		{"one that is synced in any case is not", `{resource: pods}`, "", "pods"},
		{"nor one that is both", `{resource: pods}, {resource: pods, onDemand: true}`, "", "pods"},
		{"every resource of the core group", `{resource: "*", onDemand: true}`, "pods nodes", "deployments.apps"},
		{"every resource of a group", `{group: apps, resource: "*", onDemand: true}`, "deployments.apps", "pods widgets.ex.io"},
		{"everything", `{group: "*", resource: "*", onDemand: true}`, "pods deployments.apps widgets.ex.io secrets.ex.io", ""},
		{"but secrets", `{group: "*", resource: "*", onDemand: true}, {resource: "*", onDemand: true}`, "", "secrets"},
		{"unless by name", `{group: "*", resource: "*", onDemand: true}, {resource: secrets, onDemand: true}`, "secrets", ""},
		{"but what is synced in any case", `{group: "*", resource: "*", onDemand: true}, {resource: pods}`, "nodes", "pods"},
		{"no names that are none", `{resource: "*", onDemand: true}`, "", "pods/status ../secrets Secrets secrets?x *"},
	} {
		s := rules(t, c.rules)
		for _, name := range strings.Fields(c.offered) {
			if !s.Offers(schema.ParseGroupResource(name)) {
				t.Errorf("%s: %s is not offered", c.name, name)
			}
		}
		for _, name := range strings.Fields(c.not) {
			if s.Offers(schema.ParseGroupResource(name)) {
				t.Errorf("%s: %s is offered", c.name, name)
			}
		}
	}
	if rules(t, `{resource: "*", onDemand: true}`).Offers(schema.GroupResource{}) {
		t.Error("a resource without a name is offered")
	}
}

func TestResourcesLeavesOutWhatIsOnDemand(t *testing.T) {
	s := rules(t, `{resource: pods}, {resource: nodes, onDemand: true}, {group: "*", resource: "*", onDemand: true}`)
	if got := s.Resources(); !slices.Equal(got, []schema.GroupResource{{Resource: "pods"}}) {
		t.Errorf("%v", got)
	}
}

func TestWildcardRulesThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		`{resource: "*"}`: `rule 1: resource "*": onDemand is needed`,
		`{group: "*", resource: pods, onDemand: true}`:                        `rule 1: group "*": it goes with resource "*" only`,
		`{resource: "*", onDemand: true, fieldSelector: metadata.name=a}`:     `rule 1: fieldSelector: resource "*"`,
		`{resource: "*", onDemand: true, boundToNode: spec.nodeName}`:         `rule 1: boundToNode: resource "*"`,
		`{resource: "po*", onDemand: true}`:                                   `rule 1: resource "po*": the lower-case plural`,
		`{resource: "*", onDemand: true, labelSelector: "a in"}`:              `rule 1: labelSelector:`,
		`{resource: "*", onDemand: true, namespaces: ["$(NODE)"]}`:            `rule 1: namespaces:`,
		`{resource: pods, onDemand: maybe}`:                                   `onDemand`,
		`{resource: pods}, {resource: "*", onDemand: true, boundToNode: a.b}`: `rule 2: boundToNode:`,
		`{resource: "*", ondemands: true}`:                                    `ondemands`,
	} {
		_, err := Parse([]byte(`{scopes: [{name: s, edges: ["*"], rules: [` + text + `]}]}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestViewOfAWildcard(t *testing.T) {
	nodes := &watchlog.Resource{Version: "v1", Name: "nodes", Kind: "Node"}
	s := rules(t, `{resource: "*", onDemand: true, namespaces: [shop], labelSelector: app=a}`)
	v := view(t, s, podResource())
	for _, p := range []pod{{ns: "shop", app: "a"}, {ns: "shop", app: "b"}, {ns: "other", app: "a"}} {
		p.name = "p"
		if want := p.ns == "shop" && p.app == "a"; v.Matches(p.object(t, 1)) != want {
			t.Errorf("%+v: %v", p, !want)
		}
	}
	if _, err := s.View(nodes); !errors.Is(err, ErrOutside) {
		t.Errorf("a cluster-scoped resource under namespaces: %v", err)
	}
	both := rules(t, `{resource: "*", onDemand: true, namespaces: [shop]}, {resource: "*", onDemand: true, labelSelector: app=a}`)
	view(t, both, nodes)
}

// TestWildcardWidensNothing: a resource that is synced in any case is made of the rules that say so.
func TestWildcardWidensNothing(t *testing.T) {
	narrow := rules(t, `{resource: pods, namespaces: [shop]}`)
	wide := rules(t, `{resource: pods, namespaces: [shop]}, {group: "*", resource: "*", onDemand: true}, {resource: pods, onDemand: true}`)
	if view(t, wide, podResource()).Hash() != view(t, narrow, podResource()).Hash() {
		t.Error("the view is another")
	}
	if v := view(t, wide, podResource()); v.Matches(pod{ns: "other", name: "p"}.object(t, 1)) {
		t.Error("it holds what is not in the namespace")
	}
}

// TestViewIsTheSameHoweverItCame: a resource that was on demand and is now synced in any case, or the other way, is not
// compared anew.
func TestViewIsTheSameHoweverItCame(t *testing.T) {
	want := view(t, rules(t, `{resource: pods, labelSelector: app=a}`), podResource()).Hash()
	for _, text := range []string{
		`{resource: pods, labelSelector: app=a, onDemand: true}`, `{resource: "*", labelSelector: app=a, onDemand: true}`,
		`{group: "*", resource: "*", labelSelector: app=a, onDemand: true}`,
	} {
		if got := view(t, rules(t, text), podResource()).Hash(); got != want {
			t.Errorf("%s: another hash", text)
		}
	}
}
