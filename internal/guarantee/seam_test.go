package guarantee

import "testing"

// carriedTwice is a reader that is carried over two restores, at each of which something that it holds is lost, or at the
// first alone, without being told. What change says is done to what it is shown at the end.
func carriedTwice(lostTwice bool, change func(edge *Reader)) *small {
	s := newSmall()
	edge := s.h.Reader(ReaderConfig{Name: "carried", Server: "edge", Resource: resource, Coalesced: true})
	edge.Listed(7, []Object{s.a, s.b}, Answer{Began: edge.Begin()})
	edge.Opened(7, false)
	s.source.Close()
	s.edge.Close()

	restored := func(backup, head uint64, state ...Object) (write func(o Object), done func()) {
		s.h.Restored(backup, head)
		source := s.h.Reader(ReaderConfig{Name: "another source", Server: "cloud", Resource: resource, Source: true})
		source.Listed(backup, state, Answer{})
		source.Opened(backup, false)
		return func(o Object) {
			s.h.Wrote("cloud", resource, o)
			source.Event(Added, o)
		}, source.Close
	}
	write, done := restored(5, 7, s.a) // b is lost
	d, e := object("ns/d", "uid-d", 8), object("ns/e", "uid-e", 9)
	write(d)
	edge.Event(Deleted, s.b)
	edge.Event(Added, d)
	backup, state := uint64(9), []Object{s.a, d, e}
	if lostTwice {
		backup, state = 8, []Object{s.a, d}
	}
	write(e)
	edge.Event(Added, e)
	done()

	write, _ = restored(backup, 9, state...)
	f, g := object("ns/f", "uid-f", 10), object("ns/g", "uid-g", 11)
	write(f)
	write(g)
	if lostTwice {
		edge.Event(Deleted, withRVOf(e, 9))
	}
	edge.Event(Added, f)
	change(edge)
	edge.Event(Added, g)
	return s
}

func withRVOf(o Object, rv uint64) Object {
	o.Body, o.RV = withRV(o.Body, rv), rv
	return o
}

func TestCarriedOverTwoRestores(t *testing.T) {
	for _, lostTwice := range []bool{false, true} {
		s := carriedTwice(lostTwice, func(*Reader) {})
		s.want(t, nil)
		if untold, want := len(s.h.Untold()), map[bool]int{false: 1, true: 2}[lostTwice]; untold != want {
			t.Errorf("lost twice %t: untold are %v", lostTwice, s.h.Untold())
		}
	}
}

// TestFaultsBetweenTwoRestores: being carried over excuses nothing else.
func TestFaultsBetweenTwoRestores(t *testing.T) {
	b := object("ns/b", "uid-b", 7)
	for name, change := range map[string]func(edge *Reader){
		"what was lost comes back":        func(edge *Reader) { edge.Event(Added, b) },
		"something that never was":        func(edge *Reader) { edge.Event(Added, object("ns/x", "uid-x", 10)) },
		"again":                           func(edge *Reader) { edge.Event(Added, object("ns/f", "uid-f", 10)) },
		"what is there is gone":           func(edge *Reader) { edge.Event(Deleted, object("ns/d", "uid-d", 10)) },
		"a list of the history between":   func(edge *Reader) { edge.Listed(11, []Object{b}, Answer{}) },
		"a bookmark, and what comes late": func(edge *Reader) { edge.Bookmark(11, false) },
	} {
		for _, lostTwice := range []bool{false, true} {
			s := carriedTwice(lostTwice, change)
			s.h.Settle(100)
			if len(s.h.Check()) == 0 {
				t.Errorf("%s, lost twice %t: goes unnoticed; untold are %v", name, lostTwice, s.h.Untold())
			}
		}
	}
}
