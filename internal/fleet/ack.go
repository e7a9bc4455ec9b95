package fleet

import (
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// ackBytes is how many bytes of messages are acknowledged at once.
	ackBytes = 16 << 10
	// minAckDelay and maxAckDelay bound how long an ack waits that may: the edges are spread over the time between, because all
	// of them may have been sent the same at once.
	minAckDelay, maxAckDelay = 5 * time.Second, 9 * time.Second
)

// owe notes that there is a batch, or the end of a catch-up, to be acknowledged.
func (l *link) owe(hasty bool) { l.owed, l.hasty = true, l.hasty || hasty || !l.lazy }

// acknowledge sends an ack if it is time, and else sees to it that the edge is woken then.
func (l *link) acknowledge() error {
	due, now := l.e.due.Load(), l.e.f.now.Load()
	switch {
	case l.hasty, l.received-l.reported >= ackBytes, due != 0 && due <= now:
		return l.ack()
	case l.owed && due == 0:
		l.e.due.Store(now + int64(l.e.ackDelay))
	}
	return nil
}

// ack reports all positions that operations have moved since the last ack, and what was received.
func (l *link) ack() error {
	l.reported, l.owed, l.hasty = l.received, false, false
	l.e.due.Store(0)
	a := &tombolov1.Ack{ReceivedBytes: l.received}
	for _, r := range l.e.replicas {
		switch {
		case !r.moved:
			continue
		case a.GetSubscription() == 0:
			a.Subscription, a.Rev = r.id, r.rev
		case l.lazy:
			a.Also = append(a.Also, &tombolov1.Durable{Subscription: r.id, Rev: r.rev})
		default:
			one := &tombolov1.Ack{Subscription: r.id, Rev: r.rev, ReceivedBytes: l.received}
			if err := l.send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: one}}); err != nil {
				return err
			}
		}
		r.moved = false
	}
	return l.send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: a}})
}
