package scope

import (
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Resolver works out what the inputs of views contribute, at the present state of the resources that they come from. It is
// for one scope and one moment: it remembers what it found.
type Resolver struct {
	Scope Scope
	// Look returns the state of a resource, nil for one that the cloud does not serve. Its errors, as of a resource whose
	// state is not known yet, are those of View.
	Look func(schema.GroupResource) (*watchlog.Snapshot, error)
	// Fault is told of objects whose references can't be understood, and don't count.
	Fault func(error)

	known map[Input][]string
	views map[schema.GroupResource]View
	// found is what the edge's own objects of a resource refer to, by resource.
	found map[schema.GroupResource]map[schema.GroupResource][]string
}

// View returns what the scope makes of a resource now. Errors: those of Scope.View, and Look's.
func (v *Resolver) View(r *watchlog.Resource) (View, error) {
	gr := r.GroupResource()
	if view, ok := v.views[gr]; ok {
		return view, nil
	}
	for _, in := range v.Scope.Inputs(gr) {
		if err := v.learn(in); err != nil {
			return View{}, err
		}
	}
	view, err := v.Scope.view(r, v.known)
	if err != nil {
		return View{}, err
	}
	if v.views == nil {
		v.views = map[schema.GroupResource]View{}
	}
	v.views[gr] = view
	return view, nil
}

// learn finds out what an input contributes.
func (v *Resolver) learn(in Input) error {
	if _, ok := v.known[in]; ok {
		return nil
	}
	var keys []string
	snap, err := v.Look(in.From)
	if err != nil {
		return err
	}
	switch {
	case snap == nil:
	case in.Own():
		keys, err = v.referred(in, *snap)
	default:
		keys, err = selected(in.Selector, *snap)
	}
	if err != nil {
		return err
	}
	if v.known == nil {
		v.known = map[Input][]string{}
	}
	v.known[in] = sortedUnique(keys)
	return nil
}

// selected returns the names of the namespaces that a selector selects.
func selected(selector string, snap watchlog.Snapshot) (names []string, err error) {
	s, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	choice := newChoice(snap.Resource())
	choice.labels(s)
	for _, t := range choice.best {
		for o := range snap.Select(t, "") {
			if s.Matches(o.Labels()) {
				names = append(names, o.Name())
			}
		}
	}
	return names, nil
}

// referred returns the keys that the edge's own objects of a resource refer to.
func (v *Resolver) referred(in Input, snap watchlog.Snapshot) ([]string, error) {
	if found, ok := v.found[in.From]; ok {
		return found[in.To], nil
	}
	view, err := v.View(snap.Resource())
	if err != nil {
		return nil, err
	}
	found := map[schema.GroupResource][]string{}
	for o := range view.Objects(snap) {
		refs, err := references(in.From, o)
		if err != nil && v.Fault != nil {
			v.Fault(err)
		}
		for _, r := range refs {
			found[r.to] = append(found[r.to], r.key)
		}
	}
	if v.found == nil {
		v.found = map[schema.GroupResource]map[schema.GroupResource][]string{}
	}
	v.found[in.From] = found
	return found[in.To], nil
}

// Objects returns the objects of a snapshot that are in the view, each once. It touches only those that the view's index
// terms reach.
func (v View) Objects(snap watchlog.Snapshot) iter.Seq[*watchlog.Object] {
	r := snap.Resource()
	return func(yield func(*watchlog.Object) bool) {
		for i, t := range v.terms {
			for o := range snap.Select(t, "") {
				again := slices.ContainsFunc(v.terms[:i], func(t watchlog.Term) bool { return t.Matches(r, o) })
				if !again && v.Matches(o) && !yield(o) {
					return
				}
			}
		}
	}
}
