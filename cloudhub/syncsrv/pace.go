package syncsrv

import "time"

// maxHold is how long a live event waits at most for the edge to have taken what was sent before it.
const maxHold = 250 * time.Millisecond

// pace makes batches of live events as large as the edge is slow. What happens now and then is sent at once, and
// acknowledged when the edge sees fit. What happens while the batch before is still under way makes the next batch prompt:
// the edge acknowledges that at once, and until it has, what happens waits and then goes together. Its fields belong to
// who runs the session.
type pace struct {
	mark    int64     // what the edge will have received when it has taken the last live batch
	sentAt  time.Time // when that was sent
	prompt  int64     // what it will have received when it has taken the last prompt one
	flowing bool      // there was more to send at the end of the last turn
}

// prompts tells whether the next live batch, sent now, is to be prompt, received being what the edge has taken.
func (p *pace) prompts(received int64) bool {
	return received < p.mark && time.Since(p.sentAt) < maxHold
}

// sent notes a live batch, after which the session has sent total bytes.
func (p *pace) sent(total int64, prompt bool) {
	p.mark, p.sentAt = total, time.Now()
	if prompt {
		p.prompt = total
	}
}

// holds tells whether live events are to wait, and until when, received being what the edge has taken.
func (p *pace) holds(received int64) (until time.Time, held bool) {
	if p.flowing || received >= p.prompt {
		return time.Time{}, false
	}
	until = p.sentAt.Add(maxHold)
	return until, time.Now().Before(until)
}
