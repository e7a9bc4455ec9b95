package run

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestOnlyAQuietProcessWithMuchSpareIsWasteful(t *testing.T) {
	const mb = 1 << 20
	for name, c := range map[string]struct {
		before, now heap
		want        bool
	}{
		"busy":                    {heap{allocated: 0}, heap{allocated: 100 * mb, live: 30 * mb, held: 60 * mb}, false},
		"quiet, half of it spare": {heap{allocated: 100 * mb}, heap{allocated: 101 * mb, live: 30 * mb, held: 60 * mb}, true},
		"quiet, little spare":     {heap{allocated: 100 * mb}, heap{allocated: 101 * mb, live: 30 * mb, held: 37 * mb}, false},
		"large, an eighth spare":  {heap{allocated: 100 * mb}, heap{allocated: 101 * mb, live: 800 * mb, held: 900 * mb}, false},
		"small":                   {heap{allocated: 100 * mb}, heap{allocated: 101 * mb, live: 1 * mb, held: 4 * mb}, false},
	} {
		if got := c.now.wasteful(c.before); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestReadHeapKnowsItsMetrics(t *testing.T) {
	if h := readHeap(); h.allocated == 0 || h.held == 0 { // a metric without a value panics
		t.Errorf("%+v", h)
	}
}

// TestMemoryIsReturned: a large buffer that nobody uses is gone after two looks.
func TestMemoryIsReturned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*lookEvery)
		defer cancel()
		before := readHeap()
		buf := make([]byte, 64<<20)
		buf[len(buf)-1] = 1
		grown := readHeap()
		if grown.held < before.held+32<<20 {
			t.Fatalf("the buffer is not in %+v", grown)
		}
		ReturnMemory(ctx)
		if after := readHeap(); after.held > before.held+16<<20 {
			t.Errorf("%+v became %+v", grown, after)
		}
	})
}
