package scope

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Input is something in the cloud that a view depends on beside its rules: what objects of one resource refer to, or which
// namespaces have a label.
type Input struct {
	// From is the resource that is looked at.
	From schema.GroupResource
	// To is the resource that is referred to; zero for namespaces.
	To schema.GroupResource
	// Selector selects namespaces by their labels.
	Selector string
}

// Own tells whether only those objects count that the edge may hold itself.
func (in Input) Own() bool { return in.To != (schema.GroupResource{}) }

// Concerns tells whether an event may change what the objects of From contribute.
func (in Input) Concerns(e *watchlog.Event) bool {
	if e.Type != watchlog.Modified {
		return true
	}
	if in.Own() {
		return !sameReferences(in.From, e.Prev, e.Object)
	}
	return !sameLabels(e.Prev.Labels(), e.Object.Labels())
}

func sameLabels(a, b *watchlog.Labels) bool { return slices.Equal(*a, *b) }

func compareInputs(a, b Input) int {
	return cmp.Or(cmp.Compare(a.From.String(), b.From.String()), cmp.Compare(a.To.String(), b.To.String()), cmp.Compare(a.Selector, b.Selector))
}

// inputs returns what the rule depends on beside itself.
func (b bound) inputs(gr schema.GroupResource) (out []Input) {
	for _, from := range b.rule.ReferencedBy {
		out = append(out, Input{From: schema.GroupResource{Resource: from}, To: gr})
	}
	if b.rule.NamespaceSelector != "" {
		out = append(out, Input{From: namespaces, Selector: b.rule.NamespaceSelector})
	}
	return out
}

// Inputs returns what the scope's view of a resource depends on directly, sorted; nothing for most. What the view of an
// input's own resource depends on comes on top.
func (s Scope) Inputs(gr schema.GroupResource) []Input {
	var out []Input
	for _, b := range s.rulesOf(gr) {
		out = append(out, b.inputs(gr)...)
	}
	slices.SortFunc(out, compareInputs)
	return slices.Compact(out)
}

// InputsFrom returns what any view of the scope takes from a resource, sorted.
func (s Scope) InputsFrom(gr schema.GroupResource) []Input {
	var out []Input
	for _, b := range s.rules {
		for _, in := range b.inputs(b.groupResource()) {
			if in.From == gr {
				out = append(out, in)
			}
		}
	}
	slices.SortFunc(out, compareInputs)
	return slices.Compact(out)
}

// Sources returns the resources that must be known to tell the view of one, sorted: those of its inputs, and of theirs.
func (s Scope) Sources(gr schema.GroupResource) []schema.GroupResource {
	var out []schema.GroupResource
	var add func(schema.GroupResource)
	add = func(gr schema.GroupResource) {
		for _, in := range s.Inputs(gr) {
			if !slices.Contains(out, in.From) {
				out = append(out, in.From)
				if in.Own() {
					add(in.From)
				}
			}
		}
	}
	add(gr)
	slices.SortFunc(out, func(a, b schema.GroupResource) int { return cmp.Compare(a.String(), b.String()) })
	return out
}

// isDynamic tells whether what the rule covers depends on other objects.
func (b bound) isDynamic() bool {
	return len(b.rule.ReferencedBy) > 0 || b.rule.NamespaceSelector != ""
}

// validateDynamic validates what a rule says of other objects.
func (r *Rule) validateDynamic() error {
	if r.NamespaceSelector != "" && len(r.Namespaces) > 0 {
		return errors.New("namespaces and namespaceSelector exclude each other")
	}
	if _, err := labels.Parse(r.bind("edge", nil).rule.NamespaceSelector); err != nil {
		return fmt.Errorf("namespaceSelector: %w", err)
	}
	to := schema.GroupResource{Group: r.Group, Resource: r.Resource}
	for _, from := range r.ReferencedBy {
		if !slices.Contains(links[schema.GroupResource{Resource: from}], to) {
			return fmt.Errorf("referencedBy: %s refer to no %s", from, to)
		}
	}
	return nil
}
