package link

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers every connection with what it is sent.
func echo(t *testing.T) string {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lis.Close() })
	go func() {
		for {
			c, err := lis.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			}()
		}
	}()
	return lis.Addr().String()
}

// says tells whether what is sent on a new connection comes back.
func says(t *testing.T, addr string) (net.Conn, bool) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	_, _ = c.Write([]byte("hello"))
	_, err = io.ReadFull(c, make([]byte, 5))
	return c, err == nil
}

func TestCutAndHeal(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	l, err := New(ctx, echo(t))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	open, ok := says(t, l.Addr())
	if !ok {
		t.Fatal("the link does not relay")
	}
	l.Set(true)
	if _, err := open.Read(make([]byte, 1)); err == nil {
		t.Error("an open connection outlived the cut")
	}
	if _, ok := says(t, l.Addr()); ok {
		t.Error("the link relays although it is cut")
	}
	l.Set(false)
	if _, ok := says(t, l.Addr()); !ok {
		t.Error("the link does not relay after it was healed")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
