package session

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/edgehub/store"
	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestBackoffDoublesItsBoundAndStaysInside(t *testing.T) {
	b := backoff{minimum: 100 * time.Millisecond, maximum: time.Second}
	for _, want := range []time.Duration{100, 200, 400, 800, 1000, 1000} {
		if d := b.next(); d < 0 || d >= b.bound {
			t.Errorf("wait of %v with a bound of %v", d, b.bound)
		}
		if b.bound != want*time.Millisecond {
			t.Errorf("bound %v, want %v", b.bound, want*time.Millisecond)
		}
	}
	b.reset()
	if b.next(); b.bound != 100*time.Millisecond {
		t.Errorf("bound %v after a reset", b.bound)
	}
}

// TestBackoffIsFullJitter: edges that lost their hub together spread over the whole time, down to nothing.
func TestBackoffIsFullJitter(t *testing.T) {
	var low, high int
	for range 1000 {
		b := backoff{minimum: time.Second, maximum: time.Second}
		switch d := b.next(); {
		case d < 250*time.Millisecond:
			low++
		case d > 750*time.Millisecond:
			high++
		}
	}
	if low < 150 || high < 150 {
		t.Errorf("of 1000 waits %d are in the first quarter and %d in the last", low, high)
	}
}

func TestRefusal(t *testing.T) {
	for err, want := range map[error]bool{
		status.Error(codes.FailedPrecondition, "version"):     true,
		status.Error(codes.PermissionDenied, "name"):          true,
		status.Error(codes.Unavailable, "connection refused"): false,
		status.Error(codes.Aborted, "a newer session"):        false,
		status.Error(codes.ResourceExhausted, "too many"):     false,
		errSilent:  false,
		errVersion: true,
		status.Error(codes.Unavailable, "remote error: tls: bad"):                                                           true,
		status.Error(codes.Unavailable, "transport: authentication handshake failed: tls: failed to verify certificate: x"): true,
		status.Error(codes.Unavailable, "transport: authentication handshake failed: EOF"):                                  false,
	} {
		if refusal(err) != want {
			t.Errorf("%v: %v", err, !want)
		}
	}
}

func testReplica() *replica {
	res := &watchlog.Resource{Version: "v1", Name: "pods", Kind: "Pod", Namespaced: true}
	return &replica{gr: res.GroupResource(), log: watchlog.New(res, watchlog.Config{})}
}

// FuzzDecodeOperation: an operation off the wire is either refused or gives exactly the bytes that were sent.
func FuzzDecodeOperation(f *testing.F) {
	data := []byte(`{"metadata":{"name":"a","namespace":"ns","resourceVersion":"5"}}`)
	good, err := proto.Marshal(&tombolov1.Operation{
		Key: "ns/a", Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: 5,
		Encoding: tombolov1.Encoding_ENCODING_JSON, Crc32C: delta.Checksum(data), Data: data,
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)-4])
	r := testReplica()
	f.Fuzz(func(t *testing.T, raw []byte) {
		o := &tombolov1.Operation{}
		if proto.Unmarshal(raw, o) != nil {
			return
		}
		op, err := decodeOp(r, o)
		switch {
		case err != nil:
		case op.Key == "" || op.Key != o.GetKey():
			t.Fatalf("key %q of %v", op.Key, o)
		case op.Object != nil && (!bytes.Equal(op.Object.JSON(), o.GetData()) || op.Object.Key() != op.Key):
			t.Fatalf("object %q of %v", op.Object.JSON(), o)
		}
	})
}

func TestDamagedObjectIsNamed(t *testing.T) {
	data := []byte(`{"metadata":{"name":"a","namespace":"ns","resourceVersion":"5"}}`)
	_, err := decodeOp(testReplica(), &tombolov1.Operation{
		Key: "ns/a", Type: tombolov1.OperationType_OPERATION_TYPE_PUT, Rev: 5,
		Encoding: tombolov1.Encoding_ENCODING_JSON, Crc32C: delta.Checksum(data) + 1, Data: data,
	})
	if !errors.Is(err, errDamaged) {
		t.Error(err)
	}
}

// endedStream is one that the hub has ended before the Hello came, behind a message.
type endedStream struct {
	grpc.ClientStream
	left []*tombolov1.SyncResponse
	why  error
}

func (*endedStream) Send(*tombolov1.SyncRequest) error { return io.EOF }

func (s *endedStream) Recv() (*tombolov1.SyncResponse, error) {
	if len(s.left) == 0 {
		return nil, s.why
	}
	m := s.left[0]
	s.left = s.left[1:]
	return m, nil
}

// TestHubThatEndsTheStreamBeforeTheHello: what it has said is no welcome, and no reason to go on.
func TestHubThatEndsTheStreamBeforeTheHello(t *testing.T) {
	refused := status.Error(codes.FailedPrecondition, "another version")
	for why, want := range map[error]error{refused: refused, io.EOF: errNoWelcome} {
		s := &session{
			c: twoResources(t, store.Options{}).c, ctx: t.Context(), unbind: func() bool { return true },
			stream: &endedStream{left: []*tombolov1.SyncResponse{{}, {}}, why: why},
		}
		if err := s.greet(); !errors.Is(err, want) {
			t.Errorf("%v: %v", why, err)
		}
	}
}
