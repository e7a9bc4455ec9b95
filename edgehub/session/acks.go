package session

import (
	"slices"
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// ackBytes is after how many bytes the hub hears at once of what has come.
	ackBytes = 16 << 10
	// ackDelay is how long it may take else: the protocol says ten seconds, the way included.
	ackDelay = 8 * time.Second
	// earlyBytes is after how many bytes the hub hears that they have come, although nothing of them is durable yet: the
	// next part of a catch-up is to be on its way while this one is written.
	earlyBytes = 256 << 10
)

// acks is what the hub is to hear of what came. It belongs to the goroutine of Client.Run.
type acks struct {
	received uint64               // bytes of all messages taken off the stream
	told     uint64               // those of them that the hub has heard of
	durable  []*tombolov1.Durable // positions that it has not heard of, one for each subscription
	owed     bool                 // it is to hear of the bytes in any case
	due      bool                 // and of all this at once
	waiting  bool                 // the timer runs
	timer    *time.Timer
}

// newAcks returns one whose timer does not run.
func newAcks() acks {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return acks{timer: t}
}

// note notes that a subscription is durable up to rev.
func (a *acks) note(subscription uint32, rev uint64) {
	i := slices.IndexFunc(a.durable, func(d *tombolov1.Durable) bool { return d.GetSubscription() == subscription })
	if i < 0 {
		a.durable = append(a.durable, &tombolov1.Durable{Subscription: subscription, Rev: rev})
		return
	}
	a.durable[i].Rev = rev
}

// untold is how many bytes the hub has not heard of.
func (a *acks) untold() uint64 { return a.received - a.told }

// take returns the ack for all that the hub has not heard of but positions that say is false for, and begins anew. Unless an
// ack may be of several positions there is one for each.
func (a *acks) take(several bool, say func(subscription uint32) bool) []*tombolov1.Ack {
	acks := []*tombolov1.Ack{{ReceivedBytes: a.received}}
	for _, d := range a.durable {
		switch m := acks[len(acks)-1]; {
		case !say(d.GetSubscription()):
		case m.GetSubscription() == 0:
			m.Subscription, m.Rev = d.GetSubscription(), d.GetRev()
		case several:
			m.Also = append(m.Also, d)
		default:
			acks = append(acks, &tombolov1.Ack{Subscription: d.GetSubscription(), Rev: d.GetRev(), ReceivedBytes: a.received})
		}
	}
	a.timer.Stop()
	a.told, a.durable, a.owed, a.due, a.waiting = a.received, nil, false, false, false
	return acks
}

// settleAcks sends an ack if one is due, and else sees to it that what there is to say is said in time.
func (s *session) settleAcks() error {
	a := &s.acks
	owes := a.owed || len(a.durable) > 0
	switch {
	case a.due || a.untold() >= ackBytes || owes && !s.agreed.lazy:
		return s.sendAck()
	case owes && !a.waiting:
		a.waiting = true
		a.timer.Reset(ackDelay)
	}
	return nil
}

// sendAck tells the hub all that it has not heard of. What is under numbers that the hub has given up it does not want to
// know.
func (s *session) sendAck() error {
	for _, a := range s.acks.take(s.agreed.lazy, func(id uint32) bool { return s.ids[id] != nil }) {
		if err := s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: a}}); err != nil {
			return err
		}
	}
	return nil
}

// sendReceived tells the hub of the bytes alone.
func (s *session) sendReceived() error {
	s.acks.told = s.acks.received
	return s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{
		Ack: &tombolov1.Ack{ReceivedBytes: s.acks.received},
	}})
}
