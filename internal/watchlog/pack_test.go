package watchlog

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// cold is the heat of windows that pack all but the newest event.
var cold = heat{events: 1, bytes: 1 << 30, step: 1}

// sameObject fails unless a version that may have been packed is the one that it was.
func sameObject(t testing.TB, got, want *Object) {
	t.Helper()
	if got != want && (got.rev != want.rev || got.sum != want.sum || !got.isLike(want) || !got.Same(want)) {
		t.Fatalf("got %s %+v, want %s", got.json, got, want.json)
	}
}

func sameEvent(t testing.TB, got, want *Event) {
	t.Helper()
	if describe(got) != describe(want) || got.Late != want.Late || (got.Prev == nil) != (want.Prev == nil) ||
		(got.Prev == got.Object) != (want.Prev == want.Object) {
		t.Fatalf("got %s, want %s", describe(got), describe(want))
	}
	sameObject(t, got.Object, want.Object)
	if want.Prev != nil {
		sameObject(t, got.Prev, want.Prev)
	}
}

// checkWindow fails unless what the window says it costs is what its events do, and its chains are whole.
func checkWindow(t testing.TB, l *Log) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	w, bytes, hot, events := &l.win, int64(0), int64(0), 0
	for _, e := range w.events {
		hot += e.cost()
	}
	for key, c := range w.chains {
		bytes += chainCost
		events += c.events
		var last *Object
		for i, v := range c.versions {
			bytes += v.cost()
			if v.like != last {
				bytes += v.like.bareCost()
			}
			last = v.like
			if h, _, _, err := v.parse(); v.data != nil && (err != nil || h.dist > uint64(len(c.versions)-i)) {
				t.Fatalf("%s: version %d is %d away from its base: %v", key, i, h.dist, err)
			}
		}
		if c.events == 0 {
			t.Fatalf("%s: a chain without events", key)
		}
	}
	if w.pattern != nil {
		bytes += int64(w.pattern.Size())
	}
	bytes += hot + packedCost*int64(w.packed.n)
	if w.bytes != bytes || w.hotBytes != hot || events != w.packed.n {
		t.Fatalf("%d bytes, %d of them hot, %d events packed; counted %d, %d, %d", w.bytes, w.hotBytes, w.packed.n, bytes, hot, events)
	}
}

// heartbeats writes n versions of each of the pods a and b.
func heartbeats(t testing.TB, l *Log, n int) (events []*Event) {
	for i := range 2 * n {
		rev := l.Rev() + 1
		p := pod{"ns", string(rune('a' + i%2)), "u", "n1", "x", rev}
		b := l.Snapshot().Plan([]Op{p.op(t, l.Decoder())}, rev)
		commit(t, l, b)
		events = append(events, b.Events...)
	}
	l.packers.Wait()
	return events
}

func TestNoVersionIsManyPatchesAway(t *testing.T) {
	l := loaded(t, 10, Config{})
	l.hot = cold
	heartbeats(t, l, 3000)
	most := 0
	for _, c := range l.win.chains {
		for n := c.first; n < c.end(); n++ {
			u := newUnpacking()
			u.add(c, n, nil)
			most = max(most, len(u.steps))
		}
	}
	if most > 2*3*6 { // three on each level up and three down, 4^6 versions are more than there are
		t.Errorf("a version is %d patches away", most)
	}
	checkWindow(t, l)
}

// TestLateReadersShareWhatIsUnpacked: and so what is made of it.
func TestLateReadersShareWhatIsUnpacked(t *testing.T) {
	l := loaded(t, 10, Config{})
	l.hot = cold
	heartbeats(t, l, 50)
	pages := make([]Page, 3)
	for i := range pages {
		r, err := l.NewReader(10, make(Signal, 1))
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if pages[i], err = r.Read(make([]*Event, 0, 64)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range pages[0].Events {
		if pages[0].Events[i] != pages[1].Events[i] || pages[0].Events[i] != pages[2].Events[i] {
			t.Fatalf("event %d is not shared", i)
		}
	}
	for range 3 {
		heartbeats(t, l, 50)
	}
	if n := len(l.win.unpacked.events); n != 0 {
		t.Errorf("%d events are still remembered", n)
	}
}

// TestUnpackedEventsAreBounded: whoever reads an old window does not bring it back as a whole.
func TestUnpackedEventsAreBounded(t *testing.T) {
	l := loaded(t, 10, Config{MaxBytes: 1 << 20})
	l.hot = cold
	var events []*Event
	for range 30 {
		events = append(events, heartbeats(t, l, 50)...)
	}
	r, err := l.NewReader(10, make(Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for i := 0; i < len(events); {
		p, err := r.Read(make([]*Event, 0, 100))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range p.Events {
			sameEvent(t, e, events[i])
			i++
		}
		if u := &l.win.unpacked; u.bytes > 1<<20/unpackedShare || len(u.events) != len(u.order) {
			t.Fatalf("%d bytes in %d events are remembered", u.bytes, len(u.events))
		}
	}
}

// TestDamageIsCompacted: whatever byte of a packed version changes, nobody is served another version, and the window
// begins behind.
func TestDamageIsCompacted(t *testing.T) {
	harmless := 0
	for at := 0; ; at++ {
		l := loaded(t, 10, Config{})
		l.hot = cold
		events := heartbeats(t, l, 12)
		v := l.win.chains["ns/a"].at(5)
		if at == len(v.data) {
			break
		}
		v.data = bytes.Clone(v.data)
		v.data[at] ^= 0x55
		if _, err := l.SnapshotAt(21); err == nil {
			harmless++ // there are bits in a zstd frame that mean nothing
			readFrom(t, l, events, 10)
			continue
		}
		if l.Oldest() <= 15 || l.Oldest() == l.Rev() {
			t.Errorf("byte %d: the window begins at %d of %d", at, l.Oldest(), l.Rev())
		}
		if _, err := l.SnapshotAt(21); !errors.Is(err, ErrCompacted) {
			t.Errorf("byte %d: %v", at, err)
		}
		readFrom(t, l, events, l.Oldest())
		checkWindow(t, l)
	}
	if harmless > 3 {
		t.Errorf("%d bytes can be anything", harmless)
	}
}

// TestReaderOfADamagedEventIsCompacted: and who comes back finds a window that begins behind it.
func TestReaderOfADamagedEventIsCompacted(t *testing.T) {
	l := loaded(t, 10, Config{})
	l.hot = cold
	events := heartbeats(t, l, 12)
	l.win.chains["ns/a"].at(5).data = []byte("nonsense")
	r, err := l.NewReader(10, make(Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if p, err := r.Read(make([]*Event, 0, 64)); !errors.Is(err, ErrCompacted) || len(p.Events) > 0 || p.Rev != 10 {
		t.Fatalf("%d events up to %d: %v", len(p.Events), p.Rev, err)
	}
	if _, err := l.NewReader(10, make(Signal, 1)); !errors.Is(err, ErrCompacted) {
		t.Errorf("from 10 again: %v", err)
	}
	readFrom(t, l, events, l.Oldest())
}

// readFrom fails unless a reader from a position gets the events behind it.
func readFrom(t *testing.T, l *Log, events []*Event, after uint64) {
	t.Helper()
	r, err := l.NewReader(after, make(Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	p, err := r.Read(make([]*Event, 0, len(events)+1))
	if err != nil {
		t.Fatal(err)
	}
	want := events[len(events)-len(p.Events):]
	if n := len(p.Events); n == 0 || want[0].Rev != after+1 {
		t.Fatalf("%d events from %d", n, after)
	}
	for i, e := range p.Events {
		sameEvent(t, e, want[i])
	}
}

// TestWhatCannotBePackedStaysWhole: random bytes, and objects larger than patches are made of.
func TestWhatCannotBePackedStaysWhole(t *testing.T) {
	l := loaded(t, 10, Config{})
	l.hot = cold
	rng := rand.New(rand.NewPCG(1, 1))
	var events []*Event
	for _, size := range []int{500, 3 << 20, 3 << 20, 300, 0} {
		var noise strings.Builder
		for noise.Len() < size {
			fmt.Fprintf(&noise, "%016x", rng.Uint64())
		}
		rev := l.Rev() + 1
		o, err := l.Decoder().Decode(fmt.Appendf(nil, `{"metadata":{"name":"a","resourceVersion":"%d"},"noise":%q}`, rev, noise.String()))
		if err != nil {
			t.Fatal(err)
		}
		b := l.Snapshot().Plan([]Op{{Key: "a", Rev: rev, Object: o}}, rev)
		commit(t, l, b)
		l.packers.Wait()
		events = append(events, b.Events...)
	}
	readFrom(t, l, events, 10)
	checkWindow(t, l)
}

// TestClosedLogPacksNoMore: Close waits for the packer.
func TestClosedLogPacksNoMore(t *testing.T) {
	l := loaded(t, 10, Config{})
	l.hot = cold
	for rev := uint64(11); rev < 400; rev++ {
		write(t, l, pod{"ns", "a", "u", "n", "x", rev}.op(t, l.Decoder()))
	}
	l.Close(nil)
	if l.packing {
		t.Error("a packer is left")
	}
}

func TestBehindCountsHotAndPackedEvents(t *testing.T) {
	l := loaded(t, 10, Config{})
	if n := l.Behind(5); n != 0 {
		t.Errorf("%d events in an empty window", n)
	}
	l.hot = heat{events: 5, bytes: 1 << 30, step: 1}
	heartbeats(t, l, 10)
	for rev, want := range map[uint64]uint64{3: 20, 10: 20, 11: 19, 29: 1, 30: 0, 99: 0} {
		if n := l.Behind(rev); n != want {
			t.Errorf("%d events behind %d, want %d", n, rev, want)
		}
	}
}

// FuzzUnpack: whatever a packed version is made of, what comes out is what was packed, or an error.
func FuzzUnpack(f *testing.F) {
	d := NewDecoder(pods)
	base, o := pod{"ns", "a", "u", "n1", "x", 12}.object(f, d), pod{"ns", "a", "u", "n1", "x", 11}.object(f, d)
	good := packed(o, base, 1)
	f.Add(good.data)
	f.Add([]byte{})
	f.Add([]byte{1, 11, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := unpack(base, []version{{data: data, like: o.bare()}})
		if err != nil {
			if !errors.Is(err, errDamaged) {
				t.Fatal(err)
			}
			return
		}
		if got.rev == o.rev && !bytes.Equal(got.json, o.json) && got.sum == o.sum {
			t.Fatalf("%s", got.json)
		}
		if len(got.json)+len(got.cells) > 2<<20 {
			t.Fatal("too large")
		}
	})
}
