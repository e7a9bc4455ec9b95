package guarantee

// presentState is the newest state of a resource that writers and sources know of: what a
// reader has to arrive at once the writers stopped.
type presentState struct {
	objects map[string]Object   // by key
	dead    map[string]struct{} // uids that were deleted; never leave
	changes int                 // grows whenever the above change
}

func newPresentState() *presentState {
	return &presentState{objects: map[string]Object{}, dead: map[string]struct{}{}}
}

// put applies a version unless a newer one or its deletion is known.
func (p *presentState) put(o Object) {
	if _, gone := p.dead[o.UID]; gone {
		return
	}
	if known, ok := p.objects[o.Key]; !ok || known.RV < o.RV {
		p.objects[o.Key] = o
		p.changes++
	}
}

func (p *presentState) remove(key, uid string) {
	p.dead[uid] = struct{}{}
	if p.objects[key].UID == uid {
		delete(p.objects, key)
		p.changes++
	}
}

// replace applies a list of the cloud: what it lacks and isn't newer is gone.
func (p *presentState) replace(items []Object, rv uint64) {
	listed := make(map[string]struct{}, len(items))
	for _, o := range items {
		listed[o.UID] = struct{}{}
		p.put(o)
	}
	for key, o := range p.objects {
		if _, ok := listed[o.UID]; !ok && o.RV <= rv {
			p.remove(key, o.UID)
		}
	}
}

// matching returns the resourceVersion by key of what a reader has to hold.
func (p *presentState) matching(m Match) map[string]uint64 {
	want := map[string]uint64{}
	for key, o := range p.objects {
		if m == nil || m(o) {
			want[key] = o.RV
		}
	}
	return want
}
