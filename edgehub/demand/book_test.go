package demand

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

var pods, nodes = schema.GroupResource{Resource: "pods"}, schema.GroupResource{Resource: "nodes"}

const day = 24 * time.Hour

func none(schema.GroupResource) bool { return false }

// bubble runs a test with a clock of its own, on a book that has a hub.
func bubble(t *testing.T, f func(t *testing.T, b *Book)) {
	synctest.Test(t, func(t *testing.T) {
		b := New(day)
		b.Linked()
		f(t, b)
	})
}

func mustWant(t *testing.T, b *Book, gr schema.GroupResource) {
	t.Helper()
	if fresh, err := b.Want(gr); err != nil || !fresh {
		t.Fatalf("want %s: %v, %v", gr, fresh, err)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func TestOnlyTheFirstWishIsFresh(t *testing.T) {
	bubble(t, func(t *testing.T, b *Book) {
		_, changed := b.Resources()
		mustWant(t, b, pods)
		if fresh, err := b.Want(pods); fresh || err != nil {
			t.Errorf("%v, %v", fresh, err)
		}
		if isClosed(changed) {
			t.Error("the hub hears of a wish that is not saved")
		}
		b.Announce()
		if got, _ := b.Resources(); !isClosed(changed) || !slices.Equal(got, []schema.GroupResource{pods}) {
			t.Errorf("%v", got)
		}
	})
}

func TestNobodyIsAskedWithoutAHub(t *testing.T) {
	bubble(t, func(t *testing.T, b *Book) {
		mustWant(t, b, pods)
		changed, err := b.Changed(pods)
		if err != nil {
			t.Fatal(err)
		}
		b.Unlinked()
		if !isClosed(changed) {
			t.Error("who waits goes on waiting")
		}
		if _, err := b.Changed(pods); !errors.Is(err, ErrOffline) {
			t.Error(err)
		}
		if _, err := b.Want(nodes); !errors.Is(err, ErrOffline) || b.Has(nodes) || !b.Has(pods) {
			t.Errorf("%v", err)
		}
	})
}

func TestRefusalStandsForAWhile(t *testing.T) {
	for what, end := range map[string]func(*Book){
		"after a time":           func(*Book) { time.Sleep(remember) },
		"once documents change":  (*Book).Reconsider,
		"once another hub is up": (*Book).Linked,
	} {
		bubble(t, func(t *testing.T, b *Book) {
			mustWant(t, b, pods)
			changed, _ := b.Changed(pods)
			if !b.Refuse(pods, "because") || !isClosed(changed) || b.Has(pods) {
				t.Fatal("not refused")
			}
			time.Sleep(remember - time.Nanosecond)
			if _, err := b.Want(pods); !errors.Is(err, ErrRefused) || err.Error() != ErrRefused.Error()+": because" {
				t.Errorf("%s: too early: %v", what, err)
			}
			end(b)
			mustWant(t, b, pods)
		})
	}
}

// TestUnsubscriptionOfWhatIsNotWanted: what the edge itself has let go is not refused.
func TestUnsubscriptionOfWhatIsNotWanted(t *testing.T) {
	bubble(t, func(t *testing.T, b *Book) {
		mustWant(t, b, pods)
		b.Forget(pods)
		if b.Refuse(pods, "no longer wanted") {
			t.Error("refused")
		}
		mustWant(t, b, pods)
	})
}

func TestOneWaitInVainIsEnough(t *testing.T) {
	bubble(t, func(t *testing.T, b *Book) {
		mustWant(t, b, pods)
		changed, _ := b.Changed(pods)
		b.Late(pods)
		if !isClosed(changed) {
			t.Error("others go on waiting")
		}
		if _, err := b.Want(pods); !errors.Is(err, ErrPending) {
			t.Error(err)
		}
		if _, err := b.Changed(pods); !errors.Is(err, ErrPending) {
			t.Error(err)
		}
		b.Settle(pods)
		if fresh, err := b.Want(pods); fresh || err != nil {
			t.Errorf("%v, %v", fresh, err)
		}
	})
}

func TestWishesAreBounded(t *testing.T) {
	bubble(t, func(t *testing.T, b *Book) {
		for i := range limit {
			mustWant(t, b, schema.GroupResource{Resource: fmt.Sprint("r", i)})
		}
		if _, err := b.Want(pods); !errors.Is(err, ErrFull) {
			t.Error(err)
		}
		for i := range limit {
			b.Refuse(schema.GroupResource{Resource: fmt.Sprint("r", i)}, "no")
		}
		for i := range 3 * maxRefusals {
			gr := schema.GroupResource{Resource: fmt.Sprint("s", i)}
			mustWant(t, b, gr)
			b.Refuse(gr, "no")
		}
		if n := len(b.refused); n > maxRefusals {
			t.Errorf("%d refusals are remembered", n)
		}
	})
}

func expired(t *testing.T, b *Book, want ...schema.GroupResource) {
	t.Helper()
	if got := b.Expired(none); !slices.Equal(got, want) {
		t.Errorf("expired: %v, want %v", got, want)
	}
}

func TestExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, b *Book) {
		mustWant(t, b, pods)
		mustWant(t, b, nodes)
		time.Sleep(day / 2)
		b.Touch(pods)
		b.Touch(schema.GroupResource{Resource: "other"})
		time.Sleep(day/2 - time.Second)
		expired(t, b)
		time.Sleep(time.Second)
		expired(t, b, nodes)
		b.Forget(nodes)
		time.Sleep(day)
		expired(t, b, pods)
	})
}

func TestNothingExpiresWhileInUse(t *testing.T) {
	bubble(t, func(t *testing.T, b *Book) {
		mustWant(t, b, pods)
		watched := func(gr schema.GroupResource) bool { return gr == pods }
		for range 3 {
			time.Sleep(day)
			if got := b.Expired(watched); len(got) > 0 {
				t.Fatalf("%v", got)
			}
		}
		time.Sleep(day - time.Second) // the watch has ended
		expired(t, b)
		time.Sleep(time.Second)
		expired(t, b, pods)
	})
}

func TestTimeWithoutAHubIsNotIdle(t *testing.T) {
	bubble(t, func(t *testing.T, b *Book) {
		mustWant(t, b, pods)
		mustWant(t, b, nodes)
		time.Sleep(day / 2)
		b.Unlinked()
		b.Unlinked() // of a session that came to nothing
		time.Sleep(10 * day)
		expired(t, b)
		b.Touch(nodes)
		time.Sleep(day)
		b.Linked()
		b.Linked()
		expired(t, b)
		time.Sleep(day / 2)
		expired(t, b, pods)
		time.Sleep(day / 2)
		expired(t, b, nodes, pods)
	})
}

func TestNeverMeansNever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(0)
		b.Linked()
		mustWant(t, b, pods)
		time.Sleep(1000 * day)
		expired(t, b)
	})
}

func TestWishesOutliveTheProcess(t *testing.T) {
	bubble(t, func(t *testing.T, old *Book) {
		mustWant(t, old, nodes)
		time.Sleep(day / 2)
		mustWant(t, old, pods)
		text, err := old.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if old.Unsaved(time.Hour) {
			t.Error("not saved")
		}
		time.Sleep(2 * time.Hour)
		old.Touch(pods)
		if !old.Unsaved(time.Hour) {
			t.Error("nothing to save")
		}
		heard := time.Now()
		time.Sleep(30 * day) // it is switched off
		b := New(day)
		if err := b.Decode(text, heard); err != nil {
			t.Fatal(err)
		}
		time.Sleep(day) // without a hub
		b.Linked()
		time.Sleep(day/2 - 2*time.Hour - time.Second)
		expired(t, b)
		time.Sleep(time.Second)
		expired(t, b, nodes)
		time.Sleep(day / 2)
		expired(t, b, nodes, pods)
	})
}

// TestWallClockMayJump: an edge without a clock of its own begins in 1970, until it hears of the time.
func TestWallClockMayJump(t *testing.T) {
	b := New(day)
	if err := b.Decode(`[{"resource":"pods","used":"2026-01-01T00:00:00Z"}]`, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	b.Linked()
	expired(t, b)
}

func TestDecodeRefusesWhatEncodeDidNotWrite(t *testing.T) {
	for _, text := range []string{`{`, `[{}]`, `[{"resource":"pods","used":"yesterday"}]`} {
		if err := New(day).Decode(text, time.Now()); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
	if text, err := New(day).Encode(); text != "" || err != nil {
		t.Errorf("of an empty book: %q, %v", text, err)
	}
	if err := New(day).Decode("", time.Now()); err != nil {
		t.Error(err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(`[{"group":"apps","resource":"deployments","used":"2026-01-01T00:00:00Z"},{"resource":"pods","used":"2026-01-01T00:00:00Z"}]`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, text string) {
		a, b := New(day), New(day)
		if a.Decode(text, time.Now()) != nil {
			return
		}
		again, err := a.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Decode(again, time.Now()); err != nil {
			t.Fatal(err)
		}
		was, _ := a.Resources()
		if is, _ := b.Resources(); !slices.Equal(was, is) {
			t.Fatalf("%v, then %v", was, is)
		}
	})
}
