package watchlog

import (
	"fmt"
	"testing"
)

// big returns the pod as JSON of about 7 KB.
func (p pod) big(t testing.TB, d *Decoder) *Object {
	raw := p.json()
	raw = append(raw[:len(raw)-1], fmt.Sprintf(`,"status":{"pad":"%07000d"}}`, 0)...)
	o, err := d.Decode(raw)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func benchLog(b *testing.B, n int) *Log {
	l := New(pods, Config{})
	c := Content{Rev: 100, Floor: 100}
	shared := pod{"ns", "x", "u", "n", "a", 1}.big(b, l.Decoder())
	for i := range n {
		o := shared.twin()
		o.key = fmt.Sprintf("ns-%d/pod-%d", i%50, i)
		o.nsLen = len(fmt.Sprintf("ns-%d", i%50))
		o.uid = fmt.Sprint("u", i)
		o.fields = []string{fmt.Sprintf("node-%d", i%1000), "Running", "false"}
		c.Objects = append(c.Objects, o)
	}
	if err := l.Load(c); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close(nil) })
	return l
}

// touch returns a batch that changes one object of the benchmark log.
func touch(l *Log, i int, rev uint64) Batch {
	prev := l.Snapshot().Get(fmt.Sprintf("ns-%d/pod-%d", i%50, i))
	next := prev.twin()
	next.rev = rev
	return Batch{Rev: rev, Events: []*Event{{Rev: rev, Shown: rev, Type: Modified, Object: next, Prev: prev}}}
}

func BenchmarkDecode(b *testing.B) {
	d := NewDecoder(pods)
	raw := pod{"ns", "x", "u", "n", "a", 1}.big(b, d).JSON()
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := d.Decode(raw); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	l := benchLog(b, 20_000)
	b.ReportAllocs()
	rev := uint64(100)
	for b.Loop() {
		rev++
		if err := l.Commit(touch(l, int(rev)%20_000, rev)); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	l := benchLog(b, 20_000)
	for rev := uint64(101); rev <= 1100; rev++ {
		if err := l.Commit(touch(l, int(rev), rev)); err != nil {
			b.Fatal(err)
		}
	}
	buf := make([]*Event, 0, 1000)
	b.ReportAllocs()
	for b.Loop() {
		r, err := l.NewReader(100, nil)
		if err != nil {
			b.Fatal(err)
		}
		if p, err := r.Read(buf); err != nil || len(p.Events) != 1000 {
			b.Fatal(len(p.Events), err)
		}
		r.Close()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/event")
}

func BenchmarkIndexedList(b *testing.B) {
	for _, n := range []int{20_000, 100_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := benchLog(b, n)
			b.ReportAllocs()
			for b.Loop() {
				count := 0
				for range l.Snapshot().Select(WithField("spec.nodeName", "node-7"), "") {
					count++
				}
				if count != n/1000 {
					b.Fatal(count)
				}
			}
		})
	}
}

// BenchmarkIdleReaders compares an append that one of n readers wants with the same when there is no other reader: the
// ratio must stay near 1.
func BenchmarkIdleReaders(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			l := benchLog(b, 20_000)
			wakes := make([]Signal, n)
			for i := range n {
				wakes[i] = make(Signal, 1)
				r, err := l.NewReader(100, wakes[i], WithField("spec.nodeName", fmt.Sprintf("node-%d", 7+i*1000)))
				if err != nil {
					b.Fatal(err)
				}
				defer r.Close()
			}
			rev := uint64(100)
			b.ReportAllocs()
			for b.Loop() {
				rev++
				if err := l.Commit(touch(l, 7, rev)); err != nil {
					b.Fatal(err)
				}
				<-wakes[0]
			}
			for _, w := range wakes[1:] {
				if len(w) != 0 {
					b.Fatal("an idle reader was woken")
				}
			}
		})
	}
}

func BenchmarkExactList(b *testing.B) {
	l := benchLog(b, 20_000)
	for rev := uint64(101); rev <= 5100; rev++ {
		if err := l.Commit(touch(l, int(rev), rev)); err != nil {
			b.Fatal(err)
		}
	}
	l.packers.Wait()
	for name, from := range map[string]uint64{"hot": 5100 - uint64(len(l.win.events)), "packed": 200} {
		b.Run(name, func(b *testing.B) {
			i := uint64(0)
			for b.Loop() {
				i++
				if _, err := l.SnapshotAt(from + i*37%1800); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadPacked reads pages of a window from its beginning, each of them once: nobody has read them before.
func BenchmarkReadPacked(b *testing.B) {
	l := New(pods, Config{MaxBytes: 256 << 20})
	const n = 100_000
	fill(b, l, 1000, noise(2000), n)
	b.Cleanup(func() { l.Close(nil) })
	buf := make([]*Event, 0, 64)
	var r *Reader
	for b.Loop() {
		if r == nil || r.rev > 1_000_000+n-10_000 {
			r, _ = l.NewReader(1_000_000, make(Signal, 1))
		}
		if p, err := r.Read(buf); err != nil || len(p.Events) != cap(buf) {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/event")
}
