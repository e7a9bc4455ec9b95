package enroll_test

import (
	"crypto/tls"
	"net"
	"testing"
	"time"
)

// TestConnectionsWithoutACertificateAreBounded holds as many open as it gets, and sees that an edge comes in all the same.
func TestConnectionsWithoutACertificateAreBounded(t *testing.T) {
	r := newRig(t, time.Hour, time.Hour)
	cert := r.mustJoin("edge-1")
	var held []net.Conn
	for i := 0; ; i++ {
		if i > 200 {
			t.Fatal("they are not bounded")
		}
		conn, err := net.Dial("tcp", r.addr)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, conn)
		c := tls.Client(conn, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		_ = conn.SetDeadline(time.Now().Add(10 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err != nil { // the other side speaks first, if it lets us in
			break
		}
	}
	if len(held) < 4 {
		t.Errorf("only %d were let in", len(held)-1)
	}
	if err := ping(t.Context(), r.dial(cert)); err != nil {
		t.Errorf("an edge: %v", err)
	}
	for _, c := range held {
		_ = c.Close()
	}
	deadline := time.Now().Add(time.Minute)
	for {
		if _, err := r.join(r.token("edge-2", time.Hour, 0)); err == nil {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("when they have gone: %v", err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
