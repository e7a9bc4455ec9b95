package syncsrv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// podSource is a source with pods only.
type podSource struct {
	log  *watchlog.Log
	docs *apidoc.Set

	mu    sync.Mutex // guards all below
	epoch string
	fault string // what Epoch panics with
}

func newPodSource(t *testing.T, pods ...*watchlog.Object) *podSource {
	t.Helper()
	log := watchlog.New(testPods, watchlog.Config{})
	content := watchlog.Content{Rev: 100, Floor: 100, Objects: pods}
	if err := log.Load(content); err != nil {
		t.Fatal(err)
	}
	return &podSource{log: log, docs: apidoc.NewSet(), epoch: "e"}
}

func (s *podSource) Epoch() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != "" {
		panic(s.fault)
	}
	return s.epoch
}

func (s *podSource) Documents() *apidoc.Set { return s.docs }

func (s *podSource) Open(_ context.Context, gr schema.GroupResource) (*watchlog.Log, func(), error) {
	if gr.Resource != testPods.Name {
		return nil, nil, apidoc.ErrUnknownResource
	}
	return s.log, func() {}, nil
}

// testServer serves a source until the test ends, and returns its address.
func testServer(t *testing.T, src *podSource, change func(*Config)) (*Server, string) {
	t.Helper()
	f, err := scope.Parse([]byte(`{scopes: [{name: s, edges: ["*"], rules: [{resource: pods}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Source: src, Scopes: f, Credentials: insecure.NewCredentials(), Insecure: true}
	if change != nil {
		change(&cfg)
	}
	srv, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := srv.Serve(lis); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stopped, cancel := context.WithCancel(context.Background())
		cancel()
		srv.Shutdown(stopped)
		wg.Wait()
	})
	return srv, lis.Addr().String()
}

// testEdge is a client that speaks for itself.
type testEdge struct {
	tombolov1.SyncService_SyncClient
	t        *testing.T
	received uint64
}

// dial opens a session.
func dial(t *testing.T, addr, name string, options ...grpc.DialOption) *testEdge {
	t.Helper()
	e := open(t, connect(t, addr, options...))
	e.hello(name)
	return e
}

func connect(t *testing.T, addr string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, append(options,
		grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// open opens a stream.
func open(t *testing.T, conn *grpc.ClientConn) *testEdge {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	stream, err := tombolov1.NewSyncServiceClient(conn).Sync(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &testEdge{SyncService_SyncClient: stream, t: t}
}

func (e *testEdge) hello(name string) {
	e.t.Helper()
	e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: &tombolov1.Hello{Version: Version, Edge: name}}})
}

func (e *testEdge) say(m *tombolov1.SyncRequest) {
	e.t.Helper()
	if err := e.Send(m); err != nil {
		e.t.Fatal(err)
	}
}

func (e *testEdge) ack(sub uint32, rev, received uint64) {
	e.t.Helper()
	e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ack{Ack: &tombolov1.Ack{
		Subscription: sub, Rev: rev, ReceivedBytes: received,
	}}})
}

// until reads, and acknowledges, messages up to the first that is wanted.
func (e *testEdge) until(wanted func(*tombolov1.SyncResponse) bool) *tombolov1.SyncResponse {
	e.t.Helper()
	for {
		m, err := e.Recv()
		if err != nil {
			e.t.Fatal(err)
		}
		e.received += uint64(proto.Size(m))
		if wanted(m) {
			return m
		}
		e.ack(0, 0, e.received)
	}
}

func isWelcome(m *tombolov1.SyncResponse) bool    { return m.GetWelcome() != nil }
func isCheckpoint(m *tombolov1.SyncResponse) bool { return m.GetCheckpoint() != nil }

// fate returns how the stream ends.
func (e *testEdge) fate() *status.Status {
	for {
		if _, err := e.Recv(); err != nil {
			return status.Convert(err)
		}
	}
}

func TestSessionsEndWithTheRightCode(t *testing.T) {
	src := newPodSource(t)
	srv, addr := testServer(t, src, func(c *Config) { c.ProgressInterval = 20 * time.Millisecond })
	for _, c := range []struct {
		what string
		do   func(*testEdge)
		want codes.Code
		text string
	}{
		{"replaced", func(*testEdge) { dial(t, addr, "edge-1").until(isWelcome) }, codes.Aborted, "a newer session of the same edge took over"},
		{"second hello", func(e *testEdge) {
			e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: &tombolov1.Hello{}}})
		}, codes.InvalidArgument, "a *tombolov1.SyncRequest_Hello is out of place here"},
		{"refused in a turn", func(e *testEdge) {
			e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Demand{Demand: &tombolov1.Demand{
				Resources: make([]*tombolov1.Resource, maxDemand+1),
			}}})
		}, codes.InvalidArgument, "501 resources are wanted, 500 may be"},
		{"half closed", func(e *testEdge) { _ = e.CloseSend() }, codes.Canceled, "the edge closed the stream"},
		{"panic in a turn", func(*testEdge) { src.set(func() { src.fault = "a fault of the hub" }) }, codes.Internal, "internal error"},
		{"another cluster", func(*testEdge) { src.set(func() { src.epoch = "f" }) }, codes.Unavailable, "the hub follows another cluster now, f"},
		{"asked to leave", func(*testEdge) { srv.each(func(s *session) { s.askToLeave(leaving{}) }) }, codes.Unavailable, "the edge was asked to leave"},
	} {
		src.set(func() { src.epoch, src.fault = "e", "" })
		e := dial(t, addr, "edge-1")
		e.until(isWelcome)
		c.do(e)
		if got := e.fate(); got.Code() != c.want || got.Message() != c.text {
			t.Errorf("%s: %v %q, want %v %q", c.what, got.Code(), got.Message(), c.want, c.text)
		}
	}
	src.set(func() { src.epoch, src.fault = "e", "" })
}

func (s *podSource) set(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f()
}

func TestStreamWithoutHelloIsEnded(t *testing.T) {
	_, addr := testServer(t, newPodSource(t), func(c *Config) { c.helloLimit = 10 * time.Millisecond })
	if got := open(t, connect(t, addr)).fate(); got.Code() != codes.DeadlineExceeded {
		t.Errorf("%v", got)
	}
}

func TestOldSessionIsAskedToGoElsewhere(t *testing.T) {
	_, addr := testServer(t, newPodSource(t), func(c *Config) { c.MaxSessionAge, c.ProgressInterval = time.Millisecond, time.Millisecond })
	e := dial(t, addr, "edge-1")
	d := e.until(func(m *tombolov1.SyncResponse) bool { return m.GetDrain() != nil }).GetDrain()
	if d.GetReason() == "" || d.GetRetryAfterMs() != 0 {
		t.Error(d)
	}
	e.until(func(m *tombolov1.SyncResponse) bool { return m.GetProgress() != nil }) // and is served until it goes
}

// stuckConn is a connection that nobody reads from any more once stuck is closed.
type stuckConn struct {
	net.Conn
	stuck, closed chan struct{}
	once          sync.Once
}

func (c *stuckConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.stuck:
		<-c.closed
	default:
	}
	return n, err
}

func (c *stuckConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// TestEdgesThatDoNotReadHoldNobodyUp: more edges than there are workers stop to read in a first sync, and some say that
// they have received it all. Another edge gets everything, and what the hub holds for those that don't read is bounded.
func TestEdgesThatDoNotReadHoldNobodyUp(t *testing.T) {
	const objects, size = 150, 100 << 10
	dec := watchlog.NewDecoder(testPods)
	var pods []*watchlog.Object
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range objects {
		noise := make([]byte, size)
		for k := range noise {
			noise[k] = 'a' + byte(rng.IntN(26))
		}
		o, err := dec.Decode(fmt.Appendf(nil, `{"metadata":{"name":"p%d","namespace":"ns","uid":"u%d","resourceVersion":"%d"},"x":%q}`, i, i, i%90+1, noise))
		if err != nil {
			t.Fatal(err)
		}
		pods = append(pods, o)
	}
	srv, addr := testServer(t, newPodSource(t, pods...), nil)
	for i := range 3 * srv.queue.workers {
		stuck := make(chan struct{})
		e := dial(t, addr, fmt.Sprint("stuck-", i), grpc.WithStaticStreamWindowSize(1<<30), grpc.WithStaticConnWindowSize(1<<30),
			grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
				var d net.Dialer
				c, err := d.DialContext(ctx, "tcp", addr)
				if err != nil {
					return nil, err
				}
				_ = c.(*net.TCPConn).SetReadBuffer(16 << 10)
				return &stuckConn{Conn: c, stuck: stuck, closed: make(chan struct{})}, nil
			}))
		e.until(isWelcome)
		close(stuck)
		if i%2 == 0 {
			e.ack(0, 0, 1<<60)
		}
	}
	e := dial(t, addr, "edge-1")
	got := 0
	c := e.until(func(m *tombolov1.SyncResponse) bool {
		got += len(m.GetBatch().GetOperations())
		return isCheckpoint(m)
	}).GetCheckpoint()
	if c.GetCount() != objects || got != objects {
		t.Errorf("%d of %d objects have come, the digest is of %d", got, objects, c.GetCount())
	}
	parked := 0
	srv.each(func(s *session) {
		if s.edge == "edge-1" {
			return
		}
		s.srv.queue.finish(&s.job) // nobody runs it from here on
		held := s.taken - s.written.Load()
		if most := int64(writeQuota + batchBytes + size + 4096); held > most {
			t.Errorf("%s: gRPC holds %d bytes, more than %d", s.edge, held, most)
		}
		if len(s.waiting) > 2 {
			t.Errorf("%s: %d messages wait", s.edge, len(s.waiting))
		}
		if s.blocked {
			parked++
		}
	})
	if parked == 0 {
		t.Error("nobody was held up, so the test shows nothing")
	}
}

func TestServerThatWasShutDownBeforeItServes(t *testing.T) {
	s, _ := testServer(t, newPodSource(t), nil)
	s.Shutdown(t.Context())
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Serve(lis); err != nil {
		t.Error(err)
	}
}
