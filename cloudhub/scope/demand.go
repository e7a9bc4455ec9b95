package scope

import (
	"errors"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ErrOutside is returned for the view of a resource of which nothing is in the scope although a wildcard covers its name:
// a rule with namespaces covers no cluster-scoped resource.
var ErrOutside = errors.New("it is not in the edge's scope")

// all stands for every resource, and for every group, in rules of what is given on demand.
const all = "*"

// plural is what a resource that a wildcard covers may be called. A name with anything else in it is no resource's.
var plural = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,62}$`)

// validateWildcard validates what is particular to a rule whose group or resource is all.
func (r *Rule) validateWildcard() error {
	switch {
	case r.Resource != all:
		return fmt.Errorf("group %q: it goes with resource %q only", all, all)
	case !r.OnDemand:
		return fmt.Errorf("resource %q: onDemand is needed, or each edge would hold all there is", all)
	case r.FieldSelector != "":
		return fmt.Errorf("fieldSelector: resource %q can't be selected by field", all)
	case r.BoundToNode != "":
		return fmt.Errorf("boundToNode: resource %q can't be selected by field", all)
	case len(r.ReferencedBy) > 0:
		return fmt.Errorf("referencedBy: nothing refers to resource %q", all)
	}
	return nil
}

func (r *Rule) isWildcard() bool { return r.Resource == all }

// covers tells whether the rule is about a resource.
func (b bound) covers(gr schema.GroupResource) bool {
	if !b.rule.isWildcard() {
		return b.groupResource() == gr
	}
	return (b.rule.Group == all || b.rule.Group == gr.Group) && gr != secrets && // never implied: whoever wants an edge to have them says so by name
		plural.MatchString(gr.Resource)
}

// Offers tells whether the edge may have a resource if it asks for it. Resources that it is to have in any case are not
// meant.
func (s Scope) Offers(gr schema.GroupResource) bool {
	rules := s.rulesOf(gr)
	return len(rules) > 0 && rules[0].rule.OnDemand
}

// rulesOf returns the rules that make up a resource's view: those that hold in any case if there are any, else those for
// what is given on demand. So a wildcard widens nothing that is narrowed down elsewhere.
func (s Scope) rulesOf(gr schema.GroupResource) []bound {
	var eager, demand []bound
	for _, b := range s.rules {
		switch {
		case !b.covers(gr):
		case b.rule.OnDemand:
			demand = append(demand, b)
		default:
			eager = append(eager, b)
		}
	}
	if len(eager) > 0 {
		return eager
	}
	return demand
}
