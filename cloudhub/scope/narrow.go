package scope

import (
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Selection is what one request of the Kubernetes API can say about which objects it means. Empty fields say nothing.
type Selection struct {
	Namespace      string
	Labels, Fields string // selectors
}

// Narrow returns what the scope covers of a resource as one request would say it. ok is false when it covers nothing, or
// when several rules or several namespaces or nodes would take several requests. A rule without conditions covers
// everything, whatever other rules there are.
func (s Scope) Narrow(gr schema.GroupResource) (sel Selection, ok bool) {
	var rules []string
	for _, b := range s.rulesOf(gr) {
		one, possible := b.selection()
		if possible && one == (Selection{}) {
			return Selection{}, true
		}
		sel, ok = one, possible
		rules = append(rules, b.canonical(gr))
	}
	if len(sortedUnique(rules)) != 1 {
		return Selection{}, false
	}
	return sel, ok
}

// selection returns what the rule says as one request would.
func (b bound) selection() (Selection, bool) {
	if b.isDynamic() {
		return Selection{}, false
	}
	sel := Selection{Labels: b.rule.LabelSelector, Fields: b.rule.FieldSelector}
	switch names := sortedUnique(b.rule.Namespaces); len(names) {
	case 0:
	case 1:
		sel.Namespace = names[0]
	default:
		return Selection{}, false
	}
	if b.rule.BoundToNode == "" {
		return sel, true
	}
	nodes := sortedUnique(b.nodes)
	if len(nodes) != 1 {
		return Selection{}, false
	}
	bound := fields.OneTermEqualSelector(b.rule.BoundToNode, nodes[0]).String()
	sel.Fields = strings.TrimPrefix(sel.Fields+","+bound, ",")
	return sel, true
}
