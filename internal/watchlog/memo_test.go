package watchlog

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestMemoIsMadeOnce(t *testing.T) {
	var made atomic.Int32
	e := &Event{}
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			if got := e.Memo(func(*Event) any { return made.Add(1) }); got != int32(1) {
				t.Errorf("got %v", got)
			}
		})
	}
	wg.Wait()
	if n := made.Load(); n != 1 {
		t.Errorf("made %d times", n)
	}
}
