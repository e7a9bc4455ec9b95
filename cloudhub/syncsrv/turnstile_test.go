package syncsrv

import (
	"testing"
	"time"
)

// TestTurnstileSpreadsAStorm sends ten thousand edges at one moment, each of which comes again when it is told to.
func TestTurnstileSpreadsAStorm(t *testing.T) {
	ts := newTurnstile(500)
	start := time.Unix(1_000_000, 0)
	due := map[time.Duration][]int{0: make([]int, 10_000)} // by time, the attempts of each edge so far
	perSecond := map[int]int{}
	most := 0
	for at := time.Duration(0); len(due) > 0; at += time.Millisecond {
		waiting := due[at]
		delete(due, at)
		for _, attempts := range waiting {
			wait := ts.enter(start.Add(at))
			if most = max(most, attempts+1); wait == 0 {
				perSecond[int(at/time.Second)]++
				continue
			}
			again := (at + wait).Truncate(time.Millisecond) + time.Millisecond
			due[again] = append(due[again], attempts+1)
		}
		if at > time.Minute {
			t.Fatalf("after a minute %d groups still wait", len(due))
		}
	}
	admitted, last := 0, 0
	for second, n := range perSecond {
		admitted, last = admitted+n, max(last, second)
		if limit := 500 + 1000; n > limit {
			t.Errorf("%d sessions in second %d", n, second)
		}
	}
	if admitted != 10_000 || last > 21 || most > 3 {
		t.Errorf("%d admitted, the last in second %d, with up to %d attempts", admitted, last, most)
	}
}

func TestTurnstilePlacesAreBounded(t *testing.T) {
	ts := newTurnstile(10)
	now := time.Unix(1_000_000, 0)
	for range 100_000 {
		if wait := ts.enter(now); wait > latestPlace+time.Second {
			t.Fatalf("a place in %v", wait)
		}
	}
}
