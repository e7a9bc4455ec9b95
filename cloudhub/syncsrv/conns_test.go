package syncsrv

import (
	"net"
	"slices"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
)

// named are credentials of a server where everybody has a certificate with the same name.
type named struct {
	credentials.TransportCredentials
}

type namedInfo struct{}

func (namedInfo) AuthType() string { return "test" }
func (namedInfo) Edge() string     { return "edge-1" }

func (named) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c, namedInfo{}, nil
}

func TestConnectionsOfOneCertificateAreBounded(t *testing.T) {
	c := newConns(named{}, 2)
	var ours, theirs []net.Conn
	for range 5 {
		a, b := net.Pipe()
		l, _, err := c.ServerHandshake(a)
		if err != nil {
			t.Fatal(err)
		}
		ours, theirs = append(ours, l), append(theirs, b)
	}
	var open []bool
	for i, b := range theirs {
		go func() { _, _ = ours[i].Write([]byte("x")) }() //nolint:errcheck // what comes through counts
		_, err := b.Read(make([]byte, 1))
		open = append(open, err == nil)
	}
	if !slices.Equal(open, []bool{false, false, false, true, true}) {
		t.Errorf("open: %v", open)
	}
	for i, l := range ours {
		_ = l.Close()
		_ = theirs[i].Close()
	}
	if len(c.open) != 0 {
		t.Errorf("%d names are left", len(c.open))
	}
}

// TestWhoBreaksTheRulesLosesTheConnection, after having been told why; who is refused for another reason keeps it.
func TestWhoBreaksTheRulesLosesTheConnection(t *testing.T) {
	_, addr := testServer(t, newPodSource(t), nil)
	conn := connect(t, addr)
	first := open(t, conn)
	first.hello("edge-1")
	first.until(isWelcome)
	second := open(t, conn)
	second.hello("edge-1") // takes over
	second.until(isWelcome)
	if got := first.fate(); got.Code() != codes.Aborted {
		t.Errorf("%v", got)
	}
	third := open(t, conn)
	third.hello("no name!")
	if got := third.fate(); got.Code() != codes.InvalidArgument {
		t.Errorf("%v", got)
	}
	if got := second.fate(); got.Code() != codes.Unavailable {
		t.Errorf("a session on the same connection ends with %v", got)
	}
}
