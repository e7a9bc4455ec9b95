package callsrv

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// maxFrame bounds the data of one message, in both directions.
const maxFrame = 64 << 10

var (
	// errTooLarge is what a body that is larger than allowed ends with.
	errTooLarge = errors.New("the request's body is too large")
	errFrame    = errors.New("the edge's message is out of place")
)

// upstream reads the bytes that an edge sends. One goroutine reads.
type upstream struct {
	stream tombolov1.CallService_CallServer
	rest   []byte
	left   int64 // how much more may come; negative for any amount
	touch  func()
	failed atomic.Pointer[error] // why reading ended, if not in order
}

// Read waits for a message when nothing is left of the last one.
func (u *upstream) Read(p []byte) (int, error) {
	for len(u.rest) == 0 {
		if err := u.receive(); err != nil {
			if !errors.Is(err, io.EOF) {
				u.failed.Store(&err)
			}
			return 0, err
		}
	}
	n := copy(p, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

func (u *upstream) receive() error {
	m, err := u.stream.Recv()
	if err != nil {
		return unreadable(err)
	}
	u.touch()
	d, ok := m.GetMessage().(*tombolov1.CallRequest_Data)
	if !ok || len(d.Data) > maxFrame {
		return fmt.Errorf("%w: a %T", errFrame, m.GetMessage())
	}
	if u.left >= 0 {
		if int64(len(d.Data)) > u.left {
			return errTooLarge
		}
		u.left -= int64(len(d.Data))
	}
	u.rest = d.Data
	return nil
}

// unreadable makes what gRPC says of a message that is too large, or is none, the breach of a rule that it is.
func unreadable(err error) error {
	if code := status.Code(err); code == codes.Internal || code == codes.ResourceExhausted {
		return fmt.Errorf("%w: it can't be read", errFrame)
	}
	return err
}

// Close does nothing: the stream ends with the call.
func (u *upstream) Close() error { return nil }

// failure returns why reading ended, nil when it was in order or goes on.
func (u *upstream) failure() error {
	if err := u.failed.Load(); err != nil {
		return *err
	}
	return nil
}
