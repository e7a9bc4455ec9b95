package watchlog

import "sort"

// interest is what the readers of one term share: the numbers of the events that concern the term. It exists while it
// has readers and is guarded by Log.mu, readers included.
type interest struct {
	term    Term
	since   uint64   // seqs is complete for the events behind this number
	seqs    []uint64 // ascending; nil for Everything, whose events are all events
	dropped uint64   // the last number that was forgotten from seqs
	batch   uint64   // number of the last Commit that concerned the term
	readers map[*Reader]struct{}
}

// interestIn returns the interest of a term, made if need be. l.mu is held.
func (l *Log) interestIn(t Term) *interest {
	in := l.interests[t]
	if in == nil {
		in = &interest{term: t, since: l.cur.Load().seq, readers: map[*Reader]struct{}{}}
		l.interests[t] = in
		l.kinds[t.kind]++
	}
	return in
}

// HasReaders tells whether any reader is open, which means that the log is being watched.
func (l *Log) HasReaders() bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return len(l.interests) > 0
}

// leave takes a reader out of an interest and ends that with the last one. l.mu is held.
func (l *Log) leave(in *interest, r *Reader) {
	delete(in.readers, r)
	if len(in.readers) == 0 && l.interests[in.term] == in {
		delete(l.interests, in.term)
		l.kinds[in.term.kind]--
	}
}

// post notes new events, of which the first has the number behind seq, in the interests that they concern, and returns
// those interests. The cost depends on the terms of the events, not on the number of interests. l.mu is held.
func (l *Log) post(events []*Event, seq uint64) []*interest {
	if len(l.interests) == 0 {
		return nil
	}
	l.commits++
	var hit []*interest
	for _, e := range events {
		seq++
		hit = l.postObject(hit, e.Object, nil, seq)
		if e.Prev != nil && e.Prev != e.Object {
			hit = l.postObject(hit, e.Prev, e.Object, seq)
		}
	}
	return hit
}

// postObject notes an event in the interests of the terms that o has and but, if given, has not.
func (l *Log) postObject(hit []*interest, o, but *Object, seq uint64) []*interest {
	if but == nil {
		hit = l.postTerm(hit, Everything(), seq)
		if o.nsLen > 0 {
			hit = l.postTerm(hit, InNamespace(o.Namespace()), seq)
		}
		hit = l.postTerm(hit, WithKey(o.key), seq)
	}
	if l.kinds[byField] > 0 {
		for i := range l.res.Fields {
			if l.res.Fields[i].Indexed && (but == nil || but.fields[i] != o.fields[i]) {
				hit = l.postTerm(hit, WithField(l.res.Fields[i].Label, o.fields[i]), seq)
			}
		}
	}
	if l.kinds[byLabel] > 0 {
		for _, lb := range o.labels {
			if but == nil || !but.hasLabel(lb) {
				hit = l.postTerm(hit, WithLabel(lb.Key, lb.Value), seq)
			}
		}
	}
	return hit
}

func (l *Log) postTerm(hit []*interest, t Term, seq uint64) []*interest {
	if l.kinds[t.kind] == 0 {
		return hit
	}
	in := l.interests[t]
	if in == nil {
		return hit
	}
	if t.kind != everything {
		in.post(seq, l.win.first)
	}
	if in.batch == l.commits {
		return hit
	}
	in.batch = l.commits
	return append(hit, in)
}

// post notes the event number and forgets, now and then, the numbers that have left the window.
func (in *interest) post(seq, first uint64) {
	if len(in.seqs) == cap(in.seqs) {
		if n := in.after(first - 1); n > 0 {
			in.dropped = in.seqs[n-1]
			in.seqs = in.seqs[:copy(in.seqs, in.seqs[n:])]
		}
	}
	if n := len(in.seqs); n == 0 || in.seqs[n-1] != seq {
		in.seqs = append(in.seqs, seq)
	}
}

// lost tells whether an event that concerns the term lies behind number seq and before first, where the window begins.
func (in *interest) lost(seq, first uint64) bool {
	if in.dropped > seq {
		return true
	}
	i := in.after(seq)
	return i < len(in.seqs) && in.seqs[i] < first
}

// after returns the index of the first noted number behind seq.
func (in *interest) after(seq uint64) int {
	return sort.Search(len(in.seqs), func(i int) bool { return in.seqs[i] > seq })
}

// wakeAll signals all readers.
func (l *Log) wakeAll() {
	l.mu.RLock()
	all := make([]*interest, 0, len(l.interests))
	for _, in := range l.interests {
		all = append(all, in)
	}
	l.mu.RUnlock()
	l.wake(all)
}

// wake signals the readers of the interests.
func (l *Log) wake(hit []*interest) {
	if len(hit) == 0 {
		return
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, in := range hit {
		for r := range in.readers {
			if r.wake != nil {
				r.wake.Wake()
			}
		}
	}
}
