package guarantee

import (
	"errors"
	"strings"
	"testing"
)

// small is a history written by hand: two objects, a source, and a list of an edge.
type small struct {
	h      *History
	a, b   Object
	source *Reader
	edge   *Reader
}

func newSmall() *small {
	h := NewHistory()
	s := &small{h: h, a: object("ns/a", "uid-a", 5), b: object("ns/b", "uid-b", 7)}
	s.source = h.Reader(ReaderConfig{Name: "source", Server: "cloud", Resource: resource, Source: true})
	s.edge = h.Reader(ReaderConfig{Name: "edge", Server: "edge", Resource: resource})
	s.source.Listed(3, nil, Answer{})
	s.source.Opened(3, false)
	for _, o := range []Object{s.a, s.b} {
		h.Wrote("cloud", resource, o)
		s.source.Event(Added, o)
	}
	return s
}

func object(key, uid string, rv uint64) Object {
	return Object{Key: key, UID: uid, RV: rv, Body: body(key, uid, "a", rv, int(rv))}
}

// list records a list of the edge.
func (s *small) list(rv uint64, a Answer, items ...Object) {
	if a.Began == 0 {
		a.Began = s.edge.Begin()
	}
	s.edge.Listed(rv, items, a)
}

// want settles the history and demands violations of that guarantee only; nil demands none.
func (s *small) want(t *testing.T, guarantee error) {
	t.Helper()
	s.h.Settle(100)
	found := s.h.Check()
	if guarantee != nil && len(found) == 0 {
		t.Error("the fault goes unnoticed")
	}
	for _, v := range found {
		if guarantee == nil || !errors.Is(v, guarantee) {
			t.Errorf("unexpected: %v", v)
		}
	}
}

func TestSmallHistoryIsCorrect(t *testing.T) {
	s := newSmall()
	s.list(7, Answer{}, s.a, s.b)
	s.want(t, nil)
}

func TestAcknowledgedWriteThatNeverHappened(t *testing.T) {
	s := newSmall()
	s.h.Wrote("edge", resource, object("ns/c", "uid-c", 9))
	s.source.Bookmark(10, false)
	s.list(10, Answer{}, s.a, s.b)
	s.want(t, ErrNoFakeSuccess)
}

func TestFakeWriteShownByTheServerThatFakedIt(t *testing.T) {
	s := newSmall()
	c := object("ns/c", "uid-c", 9)
	s.h.Wrote("edge", resource, c)
	s.edge.Got(c, Answer{Began: s.edge.Begin()})
	s.source.Bookmark(10, false)
	s.list(10, Answer{}, s.a, s.b)
	s.h.Settle(100)
	for _, v := range s.h.Check() {
		if errors.Is(v, ErrNoFakeSuccess) {
			return
		}
	}
	t.Error("the fault goes unnoticed")
}

func TestAcknowledgedDeletionThatNeverHappened(t *testing.T) {
	s := newSmall()
	s.h.Removed("edge", resource, "ns/a", "uid-a", 0)
	s.list(10, Answer{}, s.a, s.b)
	s.want(t, ErrNoFakeSuccess)
}

func TestEventLostOnTheSourceIsNoFakeSuccess(t *testing.T) {
	s := newSmall()
	c := object("ns/c", "uid-c", 9)
	s.h.Wrote("cloud", resource, c)
	s.source.Bookmark(10, false)
	s.list(10, Answer{}, s.a, s.b, c)
	s.want(t, ErrGapless)
}

func TestSourceDatesADeletionNobodyTold(t *testing.T) {
	s := newSmall()
	s.h.Removed("cloud", resource, "ns/a", "uid-a", 0)
	gone := s.a
	gone.RV, gone.Body = 9, withRV(gone.Body, 9)
	s.source.Event(Deleted, gone)
	s.list(8, Answer{}, s.a, s.b)
	s.edge.Opened(8, false)
	gone.RV, gone.Body = 10, withRV(gone.Body, 10)
	s.edge.Event(Deleted, gone)
	s.want(t, ErrFaithful) // an edge that dates it otherwise is wrong
}

func TestObjectLostByARestart(t *testing.T) {
	s := newSmall()
	s.list(7, Answer{}, s.a, s.b)
	s.h.Restarted("edge")
	s.list(7, Answer{}, s.a)
	s.want(t, ErrDurableBeforeVisible)
}

func TestPositionShownToAnotherReaderCounts(t *testing.T) {
	s := newSmall()
	s.list(7, Answer{}, s.a, s.b)
	s.h.Restarted("edge")
	other := s.h.Reader(ReaderConfig{Name: "other", Server: "edge", Resource: resource})
	other.Listed(5, []Object{s.a}, Answer{Began: other.Begin()})
	other.Close()
	s.want(t, ErrDurableBeforeVisible)
}

func TestPositionReadAfterTheRestartFromAnOldStreamCounts(t *testing.T) {
	s := newSmall()
	s.list(3, Answer{})
	s.edge.Opened(3, false)
	s.h.Restarted("edge") // what the old process sent is still on its way
	s.edge.Event(Added, s.a)
	s.edge.Event(Added, s.b)
	s.edge.Ended()
	other := s.h.Reader(ReaderConfig{Name: "other", Server: "edge", Resource: resource})
	other.Listed(5, []Object{s.a}, Answer{Began: other.Begin()})
	other.Close()
	s.want(t, ErrDurableBeforeVisible)
}

func TestListInFlightDuringALaterOneMayBeOlder(t *testing.T) {
	s := newSmall()
	other := s.h.Reader(ReaderConfig{Name: "other", Server: "edge", Resource: resource})
	began := other.Begin()
	s.list(7, Answer{}, s.a, s.b)
	other.Listed(5, []Object{s.a}, Answer{Began: began})
	other.Close()
	s.want(t, nil)
}

func TestStaleAnswerHasToSaySo(t *testing.T) {
	for _, said := range []bool{true, false} {
		s := newSmall()
		s.h.Offline("edge")
		s.list(7, Answer{Stale: said}, s.a, s.b)
		s.h.Online("edge")
		s.list(7, Answer{}, s.a, s.b)
		if said {
			s.want(t, nil)
		} else {
			s.want(t, ErrStaleIsSaid)
		}
	}
}

func TestMeasuredBeyondItsLimit(t *testing.T) {
	s := newSmall()
	s.list(7, Answer{}, s.a, s.b)
	s.h.Measured(Gauge{Server: "edge", Name: "resident bytes", Value: 90, Limit: 100})
	s.want(t, nil)
	s.h.Measured(Gauge{Server: "edge", Name: "resident bytes", Value: 110, Limit: 100})
	s.want(t, ErrBounded)
}

func TestContradictingWritesAreTold(t *testing.T) {
	s := newSmall()
	s.list(7, Answer{}, s.a, s.b)
	again := s.a
	again.Body = strings.Replace(again.Body, "5", "6", 1)
	s.h.Wrote("cloud", resource, again)
	found := s.h.Check()
	if len(found) == 0 || !errors.Is(found[0], ErrHistory) {
		t.Errorf("unexpected: %v", found)
	}
}

func TestWatchFromAPositionGotElsewhere(t *testing.T) {
	s := newSmall()
	s.edge.Opened(5, false)
	s.edge.Event(Added, s.b)
	s.want(t, nil)
	late := s.h.Reader(ReaderConfig{Name: "late", Server: "edge", Resource: resource})
	late.Opened(3, false)
	late.Event(Added, s.b)
	s.want(t, ErrGapless)
}

func TestGetSeesNoDeletedObject(t *testing.T) {
	s := newSmall()
	s.h.Removed("cloud", resource, "ns/a", "uid-a", 9)
	gone := s.a
	gone.RV, gone.Body = 9, withRV(gone.Body, 9)
	s.source.Event(Deleted, gone)
	s.list(9, Answer{}, s.b)
	s.edge.Got(s.a, Answer{Began: s.edge.Begin()})
	s.want(t, ErrDeletesSurvive)
}

func TestReaderThatLeftOwesNothing(t *testing.T) {
	s := newSmall()
	s.list(5, Answer{}, s.a)
	s.edge.Close()
	s.want(t, nil)
}

// What an edge does not hold, the cloud may answer for it. A list that says it may be behind, or for which any state will do,
// may then be behind that, but not behind what the edge held itself, and no other list may.
func TestListBehindWhatTheCloudAnswered(t *testing.T) {
	for _, c := range []struct {
		name string
		get  bool
		list Answer
		want error
	}{
		{"a GET, and the list says so", true, Answer{Stale: true}, nil},
		{"a GET, and any state will do", true, Answer{Any: true}, nil},
		{"a GET, and the list says nothing", true, Answer{}, ErrOrdered},
		{"a list, and the list says so", false, Answer{Stale: true}, ErrOrdered},
		{"a list, and any state will do", false, Answer{Any: true}, ErrOrdered},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newSmall()
			other := s.h.Reader(ReaderConfig{Name: "other", Server: "edge", Resource: resource})
			if c.get {
				other.Got(s.b, Answer{Began: other.Begin()})
			} else {
				other.Listed(7, []Object{s.a, s.b}, Answer{Began: other.Begin()})
			}
			other.Close()
			s.list(5, c.list, s.a)
			s.list(7, Answer{}, s.a, s.b)
			s.want(t, c.want)
		})
	}
}
