package store

import (
	"fmt"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const (
	benchCount = 5000
	benchPad   = 4850 // makes an object of 5 KB
)

// BenchmarkApply writes objects of 5 KB, so many to a transaction, each a new version of one of 5,000.
func BenchmarkApply(b *testing.B) {
	for _, size := range []int{1, 100, 1000} {
		b.Run(fmt.Sprintf("%dPerUpdate", size), func(b *testing.B) {
			e := newEdge(b, Options{})
			e.commit(e.log.Snapshot().PlanReplace(benchObjects(b), 6000))
			rev := e.log.Rev()
			n := 0
			for b.Loop() {
				b.StopTimer()
				var ops []watchlog.Op
				for range size {
					rev++
					n++
					ops = append(ops, put(pod(b, fmt.Sprintf("p%05d", n*7919%benchCount), "u", rev, benchPad)))
				}
				batch := e.log.Snapshot().Plan(ops, rev)
				b.StartTimer()
				apply(b, e.store, batch)
				b.StopTimer()
				if err := e.log.Commit(batch); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(float64(b.N*size)/b.Elapsed().Seconds(), "objects/s")
		})
	}
}

// BenchmarkFirstSync stages 5,000 objects in pages and makes them live.
func BenchmarkFirstSync(b *testing.B) {
	objects := benchObjects(b)
	for b.Loop() {
		b.StopTimer()
		e := newEdge(b, Options{})
		batch := e.log.Snapshot().PlanReplace(objects, 6000)
		b.StartTimer()
		for i := 0; i < len(objects); i += 500 {
			var ops []watchlog.Op
			for _, o := range objects[i : i+500] {
				ops = append(ops, put(o))
			}
			e.stage(6000, ops...)
		}
		apply(b, e.store, batch)
	}
	b.ReportMetric(float64(b.N*len(objects))/b.Elapsed().Seconds(), "objects/s")
}

// BenchmarkFlip makes 5,000 staged objects live.
func BenchmarkFlip(b *testing.B) {
	objects := benchObjects(b)
	for b.Loop() {
		b.StopTimer()
		e := newEdge(b, Options{})
		batch := e.log.Snapshot().PlanReplace(objects, 6000)
		var ops []watchlog.Op
		for _, o := range objects {
			ops = append(ops, put(o))
		}
		e.stage(6000, ops...)
		b.StartTimer()
		apply(b, e.store, batch)
	}
}

// BenchmarkStart opens a file of 5,000 objects of 5 KB and loads them, as an edge does when it starts.
func BenchmarkStart(b *testing.B) {
	e := newEdge(b, Options{})
	e.commit(e.log.Snapshot().PlanReplace(benchObjects(b), 6000))
	if err := e.store.Close(); err != nil {
		b.Fatal(err)
	}
	for _, part := range []string{"Open", "Load", "Log"} {
		b.Run(part, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				benchStart(b, e.dir, part)
			}
		})
	}
}

// benchStart starts once and lets the clock run during one part.
func benchStart(b *testing.B, dir, part string) {
	b.Helper()
	timed := func(name string, fn func() error) {
		if name == part {
			b.StartTimer()
		}
		err := fn()
		if name == part {
			b.StopTimer()
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	var s *Store
	var c *Content
	timed("Open", func() (err error) { s, err = Open(dir, Options{Logger: silent}); return err })
	l := watchlog.New(pods, watchlog.Config{})
	timed("Load", func() (err error) { c, err = s.Load(podsGR, l.Decoder()); return err })
	timed("Log", func() error { return l.Load(c.Content) })
	if len(c.Objects) != benchCount {
		b.Fatal(len(c.Objects))
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}

func benchObjects(b *testing.B) []*watchlog.Object {
	b.Helper()
	var objects []*watchlog.Object
	for i := range benchCount {
		objects = append(objects, pod(b, fmt.Sprintf("p%05d", i), "u", uint64(i+1), benchPad))
	}
	return objects
}
