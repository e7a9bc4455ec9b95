package syncsrv

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pace
		held := func(received int64) bool { _, held := p.holds(received); return held }
		if held(0) || p.prompts(0) {
			t.Error("the first event waits, or is prompt")
		}
		p.sent(100, false)
		if held(0) {
			t.Error("an event waits for one that the edge need not acknowledge")
		}
		if !p.prompts(99) || p.prompts(100) {
			t.Error("what follows one that is under way is not prompt, or what follows nothing is")
		}
		p.sent(200, true)
		if !held(199) {
			t.Error("an event behind a prompt one that is under way does not wait")
		}
		if held(200) {
			t.Error("an event waits for what the edge has")
		}
		p.flowing = true
		if held(0) {
			t.Error("the rest of what goes together waits")
		}
		p.flowing = false
		if until, _ := p.holds(0); time.Until(until) != maxHold {
			t.Errorf("held for %v", time.Until(until))
		}
		time.Sleep(maxHold)
		if held(0) || p.prompts(0) {
			t.Error("what happens now and then waits, or is prompt, because no ack has come")
		}
	})
}
