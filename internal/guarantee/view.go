package guarantee

import "sort"

// view is the state a well-behaved client holds after what it was shown.
type view struct {
	objects  map[string]Object // by key; nil = has to list first
	initial  map[string]Object // initial events so far; nil = not in that phase
	position uint64            // resumes from here
	partial  bool              // started at a position got elsewhere: objects lacks what it never saw change
}

func (v *view) apply(o *observation) {
	switch o.kind {
	case listed:
		if !o.exact {
			v.replace(o.items, o.rv)
		}
	case opened:
		v.open(o)
	case event:
		v.event(o)
	case bookmark:
		if o.initial && v.initial != nil {
			v.objects, v.initial, v.partial = v.initial, nil, false
		}
		if v.initial == nil {
			v.position = o.rv
		}
	case expired:
		v.objects, v.initial, v.position = nil, nil, 0
	case ended:
		v.initial = nil
	}
}

func (v *view) open(o *observation) {
	v.initial = nil
	switch {
	case o.initial:
		v.initial = map[string]Object{}
	case v.objects == nil:
		v.objects, v.position, v.partial = map[string]Object{}, o.rv, true
	case o.rv != v.position:
		v.position, v.partial = o.rv, true
	}
}

func (v *view) event(o *observation) {
	into := v.objects
	if v.initial != nil {
		into = v.initial
	} else {
		v.position = o.rv
	}
	if into == nil {
		return
	}
	if o.typ == Deleted {
		delete(into, o.obj.Key)
		return
	}
	into[o.obj.Key] = o.obj
}

func (v *view) replace(items []Object, rv uint64) {
	v.objects, v.initial, v.position, v.partial = make(map[string]Object, len(items)), nil, rv, false
	for _, o := range items {
		v.objects[o.Key] = o
	}
}

// list returns the objects by key order.
func (v *view) list() []Object {
	items := make([]Object, 0, len(v.objects))
	for _, o := range v.objects {
		items = append(items, o)
	}
	sort.Slice(items, func(i, j int) bool { return items[i].Key < items[j].Key })
	return items
}

// holds tells whether the view has exactly the versions wanted.
func (v *view) holds(want map[string]uint64) bool {
	if v.objects == nil || len(v.objects) != len(want) {
		return false
	}
	for key, rv := range want {
		if o, ok := v.objects[key]; !ok || o.RV != rv {
			return false
		}
	}
	return true
}
