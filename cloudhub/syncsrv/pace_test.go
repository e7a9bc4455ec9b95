package syncsrv

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace()
		if p.holds(0) {
			t.Error("the first event waits")
		}
		p.sent(100)
		if !p.holds(99) {
			t.Error("an event behind one that is under way does not wait")
		}
		if p.holds(100) {
			t.Error("an event waits for what the edge has")
		}
		p.flowing = true
		if p.holds(0) {
			t.Error("the rest of what goes together waits")
		}
		p.flowing = false
		p.holds(0)
		start := time.Now()
		<-p.timer.C
		if took := time.Since(start); took != maxHold || p.holds(0) {
			t.Errorf("held for %v", took)
		}
	})
}
