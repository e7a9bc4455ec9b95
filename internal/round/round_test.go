package round

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// table runs test with a table whose rounds take a second, and tells when each began and what was wanted at its end.
func table(t *testing.T, test func(t *testing.T, tab *Table[string, time.Time], rounds *[]uint64)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var rounds []uint64
		ctx, cancel := context.WithCancel(t.Context())
		tab := NewTable(ctx, time.Minute, 2, func(ctx context.Context, _ string, want func() uint64) (time.Time, error) {
			began := time.Now()
			var err error
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
				err = ctx.Err()
			}
			mu.Lock()
			defer mu.Unlock()
			rounds = append(rounds, want())
			return began, err
		})
		test(t, tab, &rounds)
		cancel()
		tab.Wait()
	})
}

func TestWhoComesLateTakesPartInTheNextRound(t *testing.T) {
	table(t, func(t *testing.T, tab *Table[string, time.Time], rounds *[]uint64) {
		var wg sync.WaitGroup
		for i := range 100 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 5 * time.Millisecond)
				came := time.Now()
				began, err := tab.Ask(t.Context(), "a", uint64(i))
				if err != nil || began.Before(came) {
					t.Errorf("came at %v, answered by a round that began at %v: %v", came, began, err)
				}
			})
		}
		wg.Wait()
		if len(*rounds) != 2 || (*rounds)[1] != 99 {
			t.Errorf("rounds %v, want two, the second for the largest wish", *rounds)
		}
	})
}

func TestJoinTakesTheRoundUnderWay(t *testing.T) {
	table(t, func(t *testing.T, tab *Table[string, time.Time], rounds *[]uint64) {
		var wg sync.WaitGroup
		for i := range 10 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * 50 * time.Millisecond)
				if _, err := tab.Join(t.Context(), "a", uint64(i)); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if len(*rounds) != 1 || (*rounds)[0] != 9 {
			t.Errorf("rounds %v, want one, that has heard of the last wish", *rounds)
		}
	})
}

func TestJoinTakesNoPartInARoundThatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		tab := NewTable(ctx, time.Minute, 1, func(ctx context.Context, _ string, _ func() uint64) (int, error) {
			select {
			case <-time.After(time.Second):
				return 1, nil
			case <-ctx.Done():
				time.Sleep(time.Second) // what is cancelled takes its time
				return 0, ctx.Err()
			}
		})
		short, done := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer done()
		if _, err := tab.Join(short, "a", 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("who gave up got %v", err)
		}
		if got, err := tab.Join(t.Context(), "a", 0); got != 1 || err != nil {
			t.Errorf("who came then got %d, %v", got, err)
		}
		cancel()
		tab.Wait()
	})
}

func TestRoundsThatNobodyWaitsForEnd(t *testing.T) {
	table(t, func(t *testing.T, tab *Table[string, time.Time], rounds *[]uint64) {
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 3 {
			synctest.Wait()
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(300-50*i)*time.Millisecond)
				defer cancel()
				if _, err := tab.Ask(ctx, "a", 0); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}
			})
		}
		wg.Wait()
		synctest.Wait()
		if took := time.Since(start); len(*rounds) != 1 || took != 300*time.Millisecond {
			t.Errorf("%d rounds ended after %v", len(*rounds), took)
		}
		if len(tab.rows) != 0 {
			t.Error("the question is remembered")
		}
	})
}

func TestQuestionsAreBounded(t *testing.T) {
	table(t, func(t *testing.T, tab *Table[string, time.Time], _ *[]uint64) {
		var wg sync.WaitGroup
		for _, k := range []string{"a", "b"} {
			wg.Go(func() {
				if _, err := tab.Ask(t.Context(), k, 0); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if _, err := tab.Ask(t.Context(), "c", 0); !errors.Is(err, ErrBusy) {
			t.Errorf("got %v", err)
		}
		wg.Wait()
	})
}
