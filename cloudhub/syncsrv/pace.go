package syncsrv

import "time"

// maxHold is how long a live event waits at most for the edge to have taken what was sent before it.
const maxHold = 250 * time.Millisecond

// pace makes batches of live events as large as the edge is slow. While the edge has everything, an event is sent at once;
// while what was sent last is under way, what happens waits for the edge's ack and then goes together. Its fields belong
// to the goroutine of run.
type pace struct {
	mark    int64     // what the edge will have received when it has taken the last live batch
	sentAt  time.Time // when that was sent
	flowing bool      // there was more to send at the end of the last turn
	timer   *time.Timer
}

// newPace returns one whose timer is not running.
func newPace() pace {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return pace{timer: t}
}

// sent notes a live batch, after which the session has sent total bytes.
func (p *pace) sent(total int64) { p.mark, p.sentAt = total, time.Now() }

// holds tells whether live events are to wait, received being what the edge has taken. It sees to it that the session
// looks again in time.
func (p *pace) holds(received int64) bool {
	if p.flowing || received >= p.mark {
		return false
	}
	left := maxHold - time.Since(p.sentAt)
	if left <= 0 {
		return false
	}
	p.timer.Reset(left)
	return true
}
