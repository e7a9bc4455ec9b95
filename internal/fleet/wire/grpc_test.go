package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// serve runs a grpc-go server, with one handler for all methods, and returns it and its address.
func serve(t *testing.T, handler func(method string, s grpc.ServerStream) error, options ...grpc.ServerOption) (*grpc.Server, string) {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(append(options, grpc.MaxRecvMsgSize(32<<20), grpc.UnknownServiceHandler(func(_ any, s grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(s)
		return handler(method, s)
	}))...)
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	t.Cleanup(func() {
		srv.Stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return srv, lis.Addr().String()
}

// echo sends back what comes.
func echo(_ string, s grpc.ServerStream) error {
	for m := new(wrapperspb.BytesValue); ; {
		if err := s.RecvMsg(m); err != nil {
			return err
		}
		if err := s.SendMsg(m); err != nil {
			return err
		}
	}
}

func dial(t *testing.T, addr string, cfg Config) *Conn {
	t.Helper()
	c, err := Dial(t.Context(), addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// value encodes a message.
func value(t testing.TB, text []byte) []byte {
	t.Helper()
	raw, err := proto.Marshal(wrapperspb.Bytes(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func mustNext(t *testing.T, c *Conn, want []byte) {
	t.Helper()
	if got, err := c.Next(); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%d bytes came, %d were due: %v", len(got), len(want), err)
	}
}

func TestLargeMessages(t *testing.T) {
	_, addr := serve(t, echo)
	c := dial(t, addr, Config{MaxMessage: 17 << 20})
	large := value(t, bytes.Repeat([]byte("0123456789abcdef"), 1<<20))
	if err := c.Open("/s/m", large); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		mustNext(t, c, large)
		if err := c.Send(large); err != nil {
			t.Fatal(err)
		}
	}
	small := dial(t, addr, Config{MaxMessage: 1 << 20})
	if err := small.Open("/s/m", large); err != nil {
		t.Fatal(err)
	}
	if _, err := small.Next(); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a message that is too large: %v", err)
	}
}

// TestSendingAndReceivingAtTheSameTime sends more than both sides' windows while as much comes back.
func TestSendingAndReceivingAtTheSameTime(t *testing.T) {
	_, addr := serve(t, echo, grpc.StaticStreamWindowSize(64<<10), grpc.StaticConnWindowSize(64<<10))
	c := dial(t, addr, Config{})
	const messages = 20
	m := value(t, bytes.Repeat([]byte("x"), 3000))
	if err := c.Open("/s/m", m); err != nil {
		t.Fatal(err)
	}
	for range messages - 1 {
		if err := c.Send(m); err != nil {
			t.Fatal(err)
		}
	}
	for range messages {
		mustNext(t, c, m)
	}
}

func TestManySmallMessages(t *testing.T) {
	const messages = 20_000
	_, addr := serve(t, func(_ string, s grpc.ServerStream) error {
		for i := range messages {
			if err := s.SendMsg(wrapperspb.Bytes([]byte(strings.Repeat("a", i%300)))); err != nil {
				return err
			}
		}
		return nil
	})
	c := dial(t, addr, Config{})
	if err := c.Open("/s/m", nil); err != nil {
		t.Fatal(err)
	}
	for i := range messages {
		mustNext(t, c, value(t, []byte(strings.Repeat("a", i%300))))
	}
	for range 2 {
		if _, err := c.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("the end of the stream is %v", err)
		}
	}
}

func TestTheStatusAndItsDetailsAreTold(t *testing.T) {
	refusal, err := status.New(codes.ResourceExhausted, "too many, 50% – später\n").WithDetails(
		&errdetails.RetryInfo{RetryDelay: durationpb.New(3 * time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	opened := 0
	_, addr := serve(t, func(_ string, s grpc.ServerStream) error {
		switch opened++; opened {
		case 1:
			return refusal.Err() // without headers
		case 2:
			if err := s.SendMsg(wrapperspb.Bytes(nil)); err != nil {
				return err
			}
			return status.Error(codes.Aborted, "100% sure")
		default:
			return echo("", s)
		}
	})
	c := dial(t, addr, Config{})
	for i, want := range []*status.Status{refusal, status.New(codes.Aborted, "100% sure")} {
		if err := c.Open("/s/m", value(t, []byte("hello"))); err != nil {
			t.Fatal(err)
		}
		if i == 1 {
			mustNext(t, c, []byte{})
		}
		_, err := c.Next()
		if got, ok := status.FromError(err); !ok || !proto.Equal(got.Proto(), want.Proto()) {
			t.Errorf("the status is %v, want %v", err, want)
		}
		if err := c.Send(nil); err == nil {
			t.Error("a message was sent on a stream that has ended")
		}
		if err := c.Rest(time.Now().Add(10 * time.Millisecond)); err != nil {
			t.Error(err)
		}
	}
	c.SetDeadline(time.Now().Add(time.Minute))
	if err := c.Open("/s/m", value(t, []byte("again"))); err != nil {
		t.Fatal(err)
	}
	mustNext(t, c, value(t, []byte("again")))
}

func TestAServerThatLeaves(t *testing.T) {
	end := make(chan struct{})
	srv, addr := serve(t, func(_ string, s grpc.ServerStream) error {
		if err := s.SendMsg(wrapperspb.Bytes(nil)); err != nil {
			return err
		}
		<-end
		return s.SendMsg(wrapperspb.Bytes([]byte("last")))
	})
	c := dial(t, addr, Config{})
	if err := c.Open("/s/m", nil); err != nil {
		t.Fatal(err)
	}
	mustNext(t, c, []byte{})
	stopped := make(chan struct{})
	go func() { srv.GracefulStop(); close(stopped) }()
	for !c.leaving { // the stream goes on
		if err := c.frame(); err != nil {
			t.Fatal(err)
		}
	}
	close(end)
	mustNext(t, c, value(t, []byte("last")))
	if _, err := c.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the stream is %v", err)
	}
	if err := c.Open("/s/m", nil); status.Code(err) != codes.Unavailable {
		t.Errorf("a stream was opened at a server that leaves: %v", err)
	}
	if err := c.Rest(time.Now().Add(time.Minute)); status.Code(err) != codes.Unavailable {
		t.Errorf("a server that leaves: %v", err)
	}
	c.Close()
	<-stopped
}

// TestPingsAreAnswered: the server closes connections that don't answer.
func TestPingsAreAnswered(t *testing.T) {
	_, addr := serve(t, func(method string, s grpc.ServerStream) error {
		if method == "/s/refused" {
			return status.Error(codes.ResourceExhausted, "no")
		}
		return echo(method, s)
	}, grpc.KeepaliveParams(keepalive.ServerParameters{Time: time.Second, Timeout: time.Second}))
	c := dial(t, addr, Config{})
	if err := c.Open("/s/refused", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Next(); status.Code(err) != codes.ResourceExhausted {
		t.Fatal(err)
	}
	if err := c.Rest(time.Now().Add(3 * time.Second)); err != nil {
		t.Error(err)
	}
	if err := c.Open("/s/m", nil); err != nil {
		t.Fatal(err)
	}
	mustNext(t, c, []byte{})
}

func TestWakeInterruptsAWait(t *testing.T) {
	_, addr := serve(t, echo)
	c := dial(t, addr, Config{})
	if err := c.Open("/s/m", nil); err != nil {
		t.Fatal(err)
	}
	mustNext(t, c, []byte{})
	for range 3 {
		done := make(chan struct{})
		go func() { c.Wake(); close(done) }()
		if _, err := c.Next(); !errors.Is(err, ErrWoken) {
			t.Fatal(err)
		}
		<-done
	}
	if err := c.Send(value(t, []byte("x"))); err != nil {
		t.Fatal(err)
	}
	mustNext(t, c, value(t, []byte("x")))
	c.SetDeadline(time.Now().Add(time.Millisecond))
	if _, err := c.Next(); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("a deadline that has passed: %v", err)
	}
	done := make(chan struct{})
	c.SetDeadline(time.Time{})
	go func() { c.Close(); close(done) }()
	if _, err := c.Next(); status.Code(err) != codes.Unavailable {
		t.Errorf("a closed connection: %v", err)
	}
	<-done
}

// TestAWaitingConnectionHoldsNoScratch is what makes thousands of them cheap.
func TestAWaitingConnectionHoldsNoScratch(t *testing.T) {
	_, addr := serve(t, echo)
	c := dial(t, addr, Config{})
	if err := c.Open("/s/m", value(t, []byte("x"))); err != nil {
		t.Fatal(err)
	}
	mustNext(t, c, value(t, []byte("x")))
	c.Wake()
	if _, err := c.Next(); !errors.Is(err, ErrWoken) || c.s != nil || c.in.rest != nil || c.in.part != nil {
		t.Errorf("scratch %t, rest of %d bytes, part of %d: %v", c.s != nil, len(c.in.rest), len(c.in.part), err)
	}
}
