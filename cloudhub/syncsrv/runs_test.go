package syncsrv

import (
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// runOf returns a run of one deletion whose body has about so many bytes.
func runOf(size int) *run {
	return newRun([]*tombolov1.Operation{{Key: strings.Repeat("x", size)}}, false)
}

// use has a run made and encoded.
func (rs *runs) use(t *testing.T, key runKey, build func() *run) int {
	t.Helper()
	body, err := rs.of(key, build).pieces[0].encoded()
	if err != nil {
		t.Fatal(err)
	}
	return len(*body)
}

func TestRunsAreMadeOnce(t *testing.T) {
	rs := newRuns(1 << 20)
	var made atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			for first := range uint64(10) {
				rs.of(runKey{first: first}, func() *run { made.Add(1); return runOf(100) })
			}
		})
	}
	wg.Wait()
	if made.Load() != 10 {
		t.Errorf("made %d times", made.Load())
	}
}

func TestRunsAreBounded(t *testing.T) {
	const most = 100 << 10
	rs := newRuns(most)
	for first := range uint64(1000) {
		rs.use(t, runKey{}, func() *run { return runOf(10) }) // used all the time
		rs.use(t, runKey{first: first}, func() *run { return runOf(int(1000 + first)) })
		if rs.bytes > most || len(rs.by) != rs.order.Len() {
			t.Fatalf("%d bytes, %d keys of %d runs", rs.bytes, len(rs.by), rs.order.Len())
		}
	}
	if n := len(rs.by); n < 20 {
		t.Errorf("only %d are kept", n)
	}
	rs.use(t, runKey{}, func() *run { t.Error("what was used last was let go of"); return runOf(10) })
	if n := rs.use(t, runKey{of: 1}, func() *run { return runOf(2 * most) }); n < 2*most || rs.bytes > most {
		t.Errorf("a run of more than may be kept: %d bytes, %d kept", n, rs.bytes)
	}
}

// TestRunThatFailsToBeMadeHurtsNobodyElse: who comes later makes it again.
func TestRunThatFailsToBeMadeHurtsNobodyElse(t *testing.T) {
	rs := newRuns(1 << 20)
	func() {
		defer func() { _ = recover() }()
		rs.of(runKey{}, func() *run { panic("a fault") })
	}()
	if r := rs.of(runKey{}, func() *run { return runOf(5) }); len(r.pieces) != 1 {
		t.Errorf("%v", r)
	}
}

func TestRunsExpire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rs := newRuns(1 << 20)
		rs.use(t, runKey{first: 1}, func() *run { return runOf(100) })
		rs.use(t, runKey{first: 2}, func() *run { return runOf(100) })
		for range 10 {
			time.Sleep(keepRun / 4)
			rs.use(t, runKey{first: 2}, func() *run { t.Error("what is used was let go of"); return runOf(100) })
			rs.expire(time.Now())
		}
		if len(rs.by) != 1 || rs.order.Len() != 1 {
			t.Errorf("%d runs are kept", len(rs.by))
		}
		time.Sleep(2 * keepRun)
		rs.expire(time.Now())
		if len(rs.by) != 0 || rs.bytes != 0 {
			t.Errorf("%d runs of %d bytes are kept for nobody", len(rs.by), rs.bytes)
		}
	})
}
