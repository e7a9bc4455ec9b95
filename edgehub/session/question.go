package session

import (
	"context"
	"errors"
	"fmt"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// desk is where a session takes questions.
type desk struct {
	in     chan *asked
	closed chan struct{} // when the session takes no more, and answers none
}

// errDeskClosed means that the session has ended.
var errDeskClosed = fmt.Errorf("%w: the session has ended", errNotFollowing)

// ask hands a question in and waits for the reply.
func (d *desk) ask(ctx context.Context, a *asked) (uint64, error) {
	select {
	case d.in <- a:
	case <-d.closed:
		return 0, errDeskClosed
	case <-ctx.Done():
		return 0, fmt.Errorf("no proof: %w", ctx.Err())
	}
	select {
	case r := <-a.reply:
		return r.rev, r.err
	case <-d.closed:
		return 0, errDeskClosed
	case <-ctx.Done():
		return 0, fmt.Errorf("no proof: %w", ctx.Err())
	}
}

// asked is a question on its way.
type asked struct {
	claim
	minRev uint64
	ctx    context.Context // of who waits for it
	reply  chan reply      // has room for the one reply
}

type reply struct {
	rev uint64
	err error
}

// questions are those of one session. They belong to the goroutine of Client.Run.
type questions struct {
	desk    *desk
	last    uint64
	pending map[uint64]*asked
}

// maxPending is how many questions may be without an answer. Those that nobody waits for any more make room.
const maxPending = 4 * maxProofs

// openDesk begins to take questions.
func (s *session) openDesk() {
	s.questions = questions{
		desk:    &desk{in: make(chan *asked), closed: make(chan struct{})},
		pending: map[uint64]*asked{},
	}
	s.c.desk.Store(s.questions.desk)
}

// closeDesk fails all questions.
func (s *session) closeDesk() {
	if d := s.questions.desk; d != nil {
		s.c.desk.CompareAndSwap(d, nil)
		close(d.closed)
		s.questions.desk = nil
	}
}

// ask sends a question to the hub.
func (s *session) ask(a *asked) error {
	r := s.c.replicas[a.gr]
	if r == nil || !r.live || r.lost || s.stalled {
		a.reply <- reply{err: errNotFollowing}
		return nil
	}
	q := &s.questions
	if len(q.pending) >= maxPending {
		for id, old := range q.pending {
			if old.ctx.Err() != nil {
				delete(q.pending, id)
			}
		}
	}
	if len(q.pending) >= maxPending {
		a.reply <- reply{err: errors.New("the hub leaves too many questions without an answer")}
		return nil
	}
	q.last++
	q.pending[q.last] = a
	return s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Question{Question: &tombolov1.Question{
		Id: q.last, Subscription: s.numbers[r], Namespace: a.part.Namespace, Name: a.part.Name,
		LabelSelector: a.part.LabelSelector, FieldSelector: a.part.FieldSelector, MinRev: a.minRev,
	}}})
}

// answer takes in an answer: it moves the position as progress does, and is told to who waits for it once that is durable.
func (g *group) answer(m *tombolov1.Answer) {
	q := &g.s.questions
	a := q.pending[m.GetId()]
	if a == nil {
		return // nobody waited any longer
	}
	delete(q.pending, m.GetId())
	if m.GetFailure() != "" {
		a.reply <- reply{err: fmt.Errorf("the hub has no proof: %.300s", m.GetFailure())}
		return
	}
	r := g.s.c.replicas[a.gr]
	if r == nil || !r.live || r.need != nil || r.step.open || len(r.step.exact) > 0 {
		a.reply <- reply{err: errNotFollowing} // another subscription has begun since
		return
	}
	if err := checkRev(r, m.GetRev()); err != nil {
		a.reply <- reply{err: err}
		return
	}
	p := g.part(r)
	p.upto = max(p.upto, m.GetRev())
	g.answers = append(g.answers, answered{a, m.GetRev()})
}

// answered is a question whose answer becomes true with the group.
type answered struct {
	*asked
	rev uint64
}

// settle tells the answers that came with the group, which is durable and visible.
func (g *group) settle() {
	for _, a := range g.answers {
		a.reply <- reply{rev: a.rev}
	}
	g.answers = nil
}
