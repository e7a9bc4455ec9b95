package syncsrv

import (
	"sync/atomic"

	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// writeQuota is what gRPC takes of a stream's messages before it lets a send wait: as long as what it has taken and not
	// written is less, a message of any size is taken at once (grpc-go, internal/transport: defaultWriteQuota, and
	// writeQuota.get, which waits only while the quota is 0 or less).
	writeQuota = 64 << 10
	// messageHeader is what gRPC puts before a message, and counts.
	messageHeader = 5
)

// outbox is what a session sends. Sending never waits: what there is no room for stays in waiting, which is as much as one
// turn has made at most, and refers to what is held anyway.
//
// There is room while both hold:
//   - less than writeQuota is with gRPC and not written. gRPC gives a buffer back after it has given back the quota of all its
//     bytes, right before they are written, so quota is left: quota = writeQuota - taken + written > 0.
//     This depends on nothing that the edge says.
//   - less than the session's window has been sent and not acknowledged, so that what lies in the network and in the
//     kernel on the way to an edge that makes no progress is bounded, too.
//
// Its fields belong to who runs the session, but for the atomic ones.
type outbox struct {
	waiting []outgoing
	taken   int64 // bytes that gRPC was given, headers included
	sent    int64 // bytes of messages sent, as encoded
	pace    pace  // of live events

	written  atomic.Int64 // of taken, what gRPC has given back
	received atomic.Int64 // bytes of messages that the edge has taken over, as its acks say
	parked   atomic.Bool  // the session wants to be woken when written moves
}

// outgoing is a message that is to be sent: a batch, or another one.
type outgoing struct {
	message *tombolov1.SyncResponse // nil for a batch
	batch   batch
}

// returns takes back the buffers of a session's messages, as a gRPC pool that they are said to be of.
type returns session

// Get is not used: buffers come from bufferFor.
func (*returns) Get(n int) *[]byte { return bufferFor(n) }

// Put is called by gRPC when it is about to write the last of a message, or has dropped it with the stream.
func (r *returns) Put(b *[]byte) {
	n := len(*b)
	recycle(b)
	(*session)(r).wrote(n + messageHeader)
}

// shares is the same for bodies that sessions share, which are left alone.
type shares session

// Get is not used.
func (*shares) Get(n int) *[]byte { return bufferFor(n) }

// Put is called by gRPC as that of returns is.
func (s *shares) Put(b *[]byte) { (*session)(s).wrote(len(*b)) }

// wrote takes note that gRPC has given back so many bytes.
func (s *session) wrote(n int) {
	s.written.Add(int64(n))
	if s.parked.Load() && s.parked.Swap(false) {
		s.Wake()
	}
}

// hasRoom tells whether gRPC takes a message at once.
func (o *outbox) hasRoom() bool { return o.taken-o.written.Load() < writeQuota }

// send puts a message on the stream, or behind those that wait for room.
func (s *session) send(m *tombolov1.SyncResponse) error { return s.submit(outgoing{message: m}) }

// sendBatch is send for a batch.
func (s *session) sendBatch(b batch) error { return s.submit(outgoing{batch: b}) }

func (s *session) submit(o outgoing) error {
	if s.full() {
		s.waiting = append(s.waiting, o)
		return nil
	}
	return s.transmit(o)
}

// full tells whether there is no room. Who asks is about to do something else otherwise, which is noted.
func (s *session) full() bool {
	full := len(s.waiting) > 0 || s.noRoom()
	s.blocked = s.blocked || full
	return full
}

func (s *session) noRoom() bool {
	return !s.hasRoom() || s.sent-s.received.Load() >= s.srv.cfg.Window
}

// flush sends what waits, as far as there is room.
func (s *session) flush() error {
	waiting := s.waiting
	s.waiting = nil
	for i, w := range waiting {
		if s.noRoom() {
			s.waiting = waiting[i:]
			s.blocked = true
			return nil
		}
		if err := s.transmit(w); err != nil {
			return err
		}
	}
	return nil
}

// transmit gives a message to gRPC.
func (s *session) transmit(o outgoing) error {
	if o.message == nil {
		return s.transmitBatch(&o.batch)
	}
	buf := bufferFor(proto.Size(o.message))
	raw, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend((*buf)[:0], o.message)
	if err != nil {
		recycle(buf)
		return err
	}
	*buf = raw
	return s.give(len(raw), mem.NewBuffer(buf, (*returns)(s)))
}

// transmitBatch gives a batch to gRPC. A small body is copied behind the head, a large one is handed on as it is.
func (s *session) transmitBatch(b *batch) error {
	var body *[]byte
	if b.piece != nil {
		var err error
		if body, err = b.piece.encoded(); err != nil {
			return err
		}
		s.srv.metrics.count(b.piece)
	}
	prompt := b.live && s.pace.prompts(s.received.Load())
	b.prompt = prompt && s.can.lazy // others acknowledge at once in any case
	buf, rest := b.encode(body)
	size := len(*buf)
	parts := []mem.Buffer{mem.NewBuffer(buf, (*returns)(s)), nil}[:1]
	if rest != nil {
		size += len(*rest)
		parts = append(parts, mem.NewBuffer(rest, (*shares)(s)))
	}
	if b.live {
		s.pace.sent(s.sent+int64(size), prompt)
	}
	return s.give(size, parts...)
}

// give gives gRPC a message of so many bytes.
func (s *session) give(size int, parts ...mem.Buffer) error {
	s.taken += int64(size) + messageHeader
	s.sent += int64(size)
	return s.stream.SendMsg(encoded(parts))
}
