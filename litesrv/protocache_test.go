package litesrv

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func messageOf(o *watchlog.Object, rev uint64) messageKey {
	return messageKey{object: weak.Make(o), rev: rev}
}

func TestAMessageIsMadeOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newMessageCache()
		o := &watchlog.Object{}
		var made atomic.Int32
		begin := make(chan struct{})
		var readers sync.WaitGroup
		for range 8 {
			readers.Go(func() {
				m, err := c.get(messageOf(o, 1), func() ([]byte, error) {
					made.Add(1)
					<-begin
					return []byte("a"), nil
				})
				if string(m) != "a" || err != nil {
					t.Error(m, err)
				}
			})
		}
		close(begin)
		readers.Wait()
		if made.Load() != 1 || c.size != 1+messageOverhead {
			t.Error(made.Load(), c.size)
		}
	})
}

// TestTheCacheIsBounded checks that what was used last is kept, and little more than the cache may hold.
func TestTheCacheIsBounded(t *testing.T) {
	c := newMessageCache()
	var objects []*watchlog.Object
	made := 0
	use := func(i, size int) {
		_, _ = c.get(messageOf(objects[i], 1), func() ([]byte, error) { made++; return make([]byte, size), nil })
	}
	const size = messageCacheSize / 10
	for i := range 100 {
		objects = append(objects, &watchlog.Object{})
		use(i, size)
		use(0, size)
		if c.size > messageCacheSize || len(c.entries) != c.order.Len() || len(c.entries) > 10 {
			t.Fatal(c.size, len(c.entries), c.order.Len())
		}
	}
	if made != 100 {
		t.Errorf("%d were made", made)
	}
	if use(1, size); made != 101 {
		t.Error("the oldest one is still there")
	}
	objects = append(objects, &watchlog.Object{})
	if use(100, messageCacheSize+1); c.size > messageCacheSize {
		t.Error("one was too large")
	}
	for i := range objects {
		use(i, 1)
	}
	if sum := c.order.Len() * (1 + messageOverhead); c.size != sum {
		t.Errorf("%d of %d bytes", c.size, sum)
	}
}

func TestMessagesDiffer(t *testing.T) {
	c := newMessageCache()
	a, b := &watchlog.Object{}, &watchlog.Object{}
	keys := []messageKey{messageOf(a, 1), messageOf(a, 2), {weak.Make(a), 1, true}, messageOf(b, 1)}
	for i, k := range keys {
		_, _ = c.get(k, func() ([]byte, error) { return []byte{byte(i)}, nil })
	}
	for i, k := range keys {
		if m, _ := c.get(k, nil); len(m) != 1 || m[0] != byte(i) {
			t.Errorf("%v: %v", i, m)
		}
	}
}

func TestAnErrorIsKept(t *testing.T) {
	c := newMessageCache()
	o := &watchlog.Object{}
	wrong := errors.New("wrong")
	for range 2 {
		if _, err := c.get(messageOf(o, 1), func() ([]byte, error) { return nil, wrong }); !errors.Is(err, wrong) {
			t.Error(err)
		}
	}
}

// TestTheCacheHoldsNoObjects checks that an object can go that the log has let go of.
func TestTheCacheHoldsNoObjects(t *testing.T) {
	c := newMessageCache()
	gone := make(chan struct{})
	o := new(watchlog.Object)
	runtime.AddCleanup(o, func(int) { close(gone) }, 0)
	_, _ = c.get(messageOf(o, 1), func() ([]byte, error) { return nil, nil })
	runtime.KeepAlive(o)
	for range 100 {
		runtime.GC()
		select {
		case <-gone:
			return
		default:
			runtime.Gosched()
		}
	}
	t.Error("it is still there")
}
