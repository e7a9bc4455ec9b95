package guarantee

import "slices"

// ReaderConfig says what a reader asks for and what may be demanded of its server.
type ReaderConfig struct {
	Name     string // in reports
	Server   string // who answers it: readers of one server share what it has shown
	Resource string // as given to the writers' side of the history
	Match    Match  // scope and selectors together; nil = everything
	// Coalesced permits to skip versions of a key that were followed by a newer one.
	Coalesced bool
	// NeverExpires makes a 410 a violation: the window is known to reach back far enough.
	NeverExpires bool
	// Source marks a reader of the cloud itself that matches everything: what it sees is true.
	Source bool
}

// Reader records what one client was shown, in the order it was shown. Its methods belong to
// one goroutine; different readers may be used at the same time.
type Reader struct {
	cfg ReaderConfig
	h   *History
	era int // how many restores were before it: the history that a source tells

	// Guarded by h.mu.
	log  []observation
	view view // the client's state after log
}

// Reader registers a reader with the history.
func (h *History) Reader(cfg ReaderConfig) *Reader {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := &Reader{cfg: cfg, h: h, era: len(h.restores)}
	h.readers = append(h.readers, r)
	return r
}

// Answer tells how a list or get was asked and answered.
type Answer struct {
	Began uint64 // from [Reader.Begin]
	Stale bool   // it said that it may be behind: an HTTP Warning header
	Any   bool   // a list that was asked for with a resourceVersion, for which any state from there on will do
	Exact bool   // it was asked for a revision of the past
}

// Begin is to be called before a list or get is sent; the result goes into its [Answer].
func (r *Reader) Begin() uint64 { return r.h.stamp() }

// Listed records a whole list, all pages of it, at its resourceVersion.
func (r *Reader) Listed(rv uint64, items []Object, a Answer) {
	r.record(observation{kind: listed, rv: rv, items: items, began: a.Began, stale: a.Stale, exact: a.Exact, any: a.Any})
}

// Got records the answer to a GET of one object; the zero UID says that it wasn't found.
func (r *Reader) Got(o Object, a Answer) {
	r.record(observation{kind: got, obj: o, began: a.Began, stale: a.Stale, exact: a.Exact})
}

// Opened records that a watch is being opened from rv. With initialEvents the stream starts
// with the state, ended by a bookmark that says so.
func (r *Reader) Opened(rv uint64, initialEvents bool) {
	r.record(observation{kind: opened, rv: rv, initial: initialEvents, began: r.h.stamp()})
}

// Event records a watch event; the object as it came, with the event's own resourceVersion.
func (r *Reader) Event(t EventType, o Object) {
	r.record(observation{kind: event, typ: t, obj: o, rv: o.RV})
}

// Bookmark records a bookmark; endsInitial says that it carries the initial-events-end annotation.
func (r *Reader) Bookmark(rv uint64, endsInitial bool) {
	r.record(observation{kind: bookmark, rv: rv, initial: endsInitial})
}

// Expired records that a watch or list from rv was answered with 410: the reader lists again.
func (r *Reader) Expired(rv uint64) { r.record(observation{kind: expired, rv: rv}) }

// Ended records that the stream ended, however it did. The reader goes on from its position.
func (r *Reader) Ended() { r.record(observation{kind: ended}) }

// Failed records a request that was not answered, or with an error a client retries.
func (r *Reader) Failed(note string) { r.record(observation{kind: failed, note: note}) }

// Close records that the reader left: nothing more is demanded of it.
func (r *Reader) Close() { r.record(observation{kind: closed}) }

func (r *Reader) record(o observation) {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	o.obj.Body = r.h.internLocked(o.obj.Body)
	o.items = slices.Clone(o.items)
	for i := range o.items {
		o.items[i].Body = r.h.internLocked(o.items[i].Body)
	}
	r.h.recordedLocked()
	o.seq = r.h.seq
	r.log = append(r.log, o)
	r.view.apply(&o)
	if r.cfg.Source && r.era == len(r.h.restores) {
		r.teachLocked(&o)
	}
}

// teachLocked adds what a source saw to the newest known state.
func (r *Reader) teachLocked(o *observation) {
	p := r.h.presentLocked(r.cfg.Resource)
	switch {
	case o.kind == listed && !o.exact:
		p.replace(o.items, o.rv)
	case o.kind == bookmark && o.initial:
		p.replace(r.view.list(), o.rv)
	case o.kind == event && o.typ == Deleted:
		p.remove(o.obj.Key, o.obj.UID)
	case o.kind == event:
		p.put(o.obj)
	}
}

// Name is the reader's name in reports.
func (r *Reader) Name() string { return r.cfg.Name }

// Position is the resourceVersion from which the reader resumes: that of its last list,
// event or bookmark. 0 when it has to list first.
func (r *Reader) Position() uint64 {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	return r.view.position
}

// Len tells how many events and lists the reader was shown, for tests that must not be vacuous.
func (r *Reader) Len() (events, lists int) {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	for i := range r.log {
		switch r.log[i].kind {
		case event:
			events++
		case listed:
			lists++
		}
	}
	return events, lists
}
