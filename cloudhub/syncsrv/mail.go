package syncsrv

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// maxMail and maxMailBytes bound what may wait for a turn. An edge may send the inventory of a large resource at a time
// when the session waits for that edge to read, so that there must be room for it.
const (
	maxMail      = 4096
	maxMailBytes = 64 << 20
)

// letter is something that another goroutine wants done in a turn.
type letter struct {
	do    func(context.Context) error
	light bool // it takes no time to speak of, so that an urgent turn may do it
}

// post has something done in a bulk turn; false when the session is over.
func (s *session) post(do func(context.Context) error) bool { return s.put(letter{do: do}) }

// postLight has something that takes no time to speak of done soon, though behind what was posted before.
func (s *session) postLight(do func(context.Context) error) bool {
	return s.put(letter{do: do, light: true})
}

func (s *session) put(l letter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if len(s.mail) >= maxMail {
		s.end(status.Error(codes.ResourceExhausted, "the edge sends more than the hub can take"))
		return false
	}
	s.mail = append(s.mail, l)
	if l.light {
		s.Wake()
	} else {
		s.srv.queue.later(&s.job)
	}
	return true
}

// readMail does what the mail says, in its order. It stops at what this turn may not do, and behind what takes long, and
// tells whether there is more for a bulk turn.
func (s *session) readMail(ctx context.Context, k kind) (more bool, err error) {
	s.mu.Lock()
	mail := s.mail
	s.mail = nil
	s.mu.Unlock()
	done, rest := 0, false
	for _, l := range mail {
		if rest = s.full() || !l.light && k == urgent; rest {
			break
		}
		done++
		if err = l.do(ctx); err != nil {
			break
		}
		if rest = !l.light; rest {
			break
		}
	}
	if done == len(mail) || err != nil {
		return false, err
	}
	s.mu.Lock()
	s.mail = append(mail[done:len(mail):len(mail)], s.mail...)
	s.mu.Unlock()
	return rest, nil
}

// receive takes messages off the stream until it ends, and returns why it did. It never waits for a turn, so that an edge
// which waits for its own messages to be taken can't lock itself up.
func (s *session) receive() error {
	for {
		req, err := s.stream.Recv()
		if errors.Is(err, io.EOF) {
			return status.Error(codes.Canceled, "the edge closed the stream")
		}
		if err != nil {
			return unreadable(err)
		}
		if err := s.handle(req); err != nil {
			return err
		}
	}
}

// unreadable makes what gRPC says of a message that is too large, or is none, the breach of a rule that it is.
func unreadable(err error) error {
	switch status.Code(err) {
	case codes.Internal:
		return status.Error(codes.InvalidArgument, "a message that can't be read")
	case codes.ResourceExhausted:
		return status.Error(codes.InvalidArgument, "a message that is too large")
	default:
		return err
	}
}

func (s *session) handle(req *tombolov1.SyncRequest) error {
	if s.unread.Load() > maxMailBytes {
		return status.Error(codes.ResourceExhausted, "the edge sends more than the hub can take")
	}
	switch m := req.GetMessage().(type) {
	case *tombolov1.SyncRequest_Ack:
		if len(m.Ack.GetAlso()) > 0 && !s.can.lazy {
			return status.Error(codes.InvalidArgument, "an ack of several positions, which was not agreed on")
		}
		if len(m.Ack.GetAlso()) > maxPositions {
			return status.Errorf(codes.InvalidArgument, "an ack of more than %d positions", maxPositions)
		}
		s.received.Store(max(s.received.Load(), int64(min(m.Ack.GetReceivedBytes(), 1<<62)))) //nolint:gosec // bounded
		s.deliver(req, true, func(context.Context) error { return s.acked(m.Ack) })
	case *tombolov1.SyncRequest_Inventory:
		s.deliver(req, false, func(ctx context.Context) error { return s.inventory(ctx, m.Inventory) })
	case *tombolov1.SyncRequest_Ranges:
		s.deliver(req, false, func(ctx context.Context) error { return s.ranges(ctx, m.Ranges) })
	case *tombolov1.SyncRequest_Demand:
		s.deliver(req, false, func(ctx context.Context) error { return s.demanded(ctx, m.Demand) })
	case *tombolov1.SyncRequest_DocumentNeed:
		s.deliver(req, false, func(ctx context.Context) error { return s.documentNeed(ctx, m.DocumentNeed) })
	case *tombolov1.SyncRequest_Question:
		s.deliver(req, true, func(ctx context.Context) error { return s.question(ctx, m.Question) })
	case *tombolov1.SyncRequest_Need:
		if !s.can.patches {
			return status.Error(codes.InvalidArgument, "a Need is out of place here: patches were not agreed on")
		}
		s.deliver(req, false, func(ctx context.Context) error { return s.need(ctx, m.Need) })
	case *tombolov1.SyncRequest_Report:
		if !s.can.lazy {
			return status.Error(codes.InvalidArgument, "a Report, which was not agreed on")
		}
		s.report.Store(&tombolov1.Report{Objects: m.Report.GetObjects(), Bytes: m.Report.GetBytes()}) // nothing else of it
	default:
		return status.Errorf(codes.InvalidArgument, "a %T is out of place here", m)
	}
	return nil
}

// deliver has a turn take in a message, which counts as unread until then.
func (s *session) deliver(req *tombolov1.SyncRequest, light bool, take func(context.Context) error) {
	size := weight(req, proto.Size(req))
	s.unread.Add(size)
	s.put(letter{light: light, do: func(ctx context.Context) error {
		s.unread.Add(-size)
		return take(ctx)
	}})
}

func (s *session) acked(a *tombolov1.Ack) error {
	if u := s.sub(a.GetSubscription()); u != nil { // else of a subscription that has been replaced
		if err := u.acked(a.GetRev()); err != nil {
			return err
		}
	}
	for _, d := range a.GetAlso() {
		if u := s.sub(d.GetSubscription()); u != nil {
			if err := u.acked(d.GetRev()); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *session) inventory(ctx context.Context, inv *tombolov1.Inventory) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if u := s.sub(inv.GetSubscription()); u != nil {
		return u.inventory(inv)
	}
	return nil
}
