package passthrough

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// echo is an API server whose upgraded connections send back what comes, and "bye" behind its end.
func echo(ended turns) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		conn, buf, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer close(ended)
		defer conn.Close()
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %s\r\nX-User: %s\r\n\r\n",
			r.Header.Get("Upgrade"), r.Header.Get("Authorization"))
		if _, err := io.Copy(conn, buf); err == nil {
			_, _ = io.WriteString(conn, "bye")
		}
	})
}

// dial sends raw text to the edge.
func (r *rig) dial(text string) (*net.TCPConn, *bufio.Reader) {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.edge.URL, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	if _, err := io.WriteString(conn, text); err != nil {
		r.t.Fatal(err)
	}
	return conn.(*net.TCPConn), bufio.NewReader(conn)
}

func upgradeRequest(protocol string) string {
	return "POST /api/v1/namespaces/ns/pods/p/exec?command=sh HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer mine\r\n" +
		"Connection: Upgrade\r\nUpgrade: " + protocol + "\r\n\r\n"
}

func TestAnUpgradedConnectionPassesBytesBothWays(t *testing.T) {
	for _, protocol := range []string{"SPDY/3.1", "websocket"} {
		ended := make(turns)
		r := newRig(t, echo(ended))
		conn, in := r.dial(upgradeRequest(protocol) + "early")
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != 101 || resp.Header.Get("Upgrade") != protocol || resp.Header.Get("Connection") != "Upgrade" {
			t.Fatalf("%v %v", resp, err)
		}
		if resp.Header.Get("X-User") != "Bearer mine" {
			t.Errorf("credentials %q", resp.Header.Get("X-User"))
		}
		big := strings.Repeat("0123456789abcdef", 1<<14)
		go func() {
			_, _ = io.WriteString(conn, big)
			_ = conn.CloseWrite() // the other direction goes on
		}()
		got, err := io.ReadAll(in)
		if err != nil || string(got) != "early"+big+"bye" {
			t.Errorf("%s: %d bytes, %v", protocol, len(got), err)
		}
		ended.wait(t, "the API server's connection has ended")
	}
}

func TestAnUpgradedConnectionEndsWithItsClient(t *testing.T) {
	ended := make(turns)
	r := newRig(t, echo(ended))
	conn, in := r.dial(upgradeRequest("SPDY/3.1") + "x")
	if _, err := http.ReadResponse(in, nil); err != nil {
		t.Fatal(err)
	}
	_, _ = in.ReadByte()
	_ = conn.SetLinger(0)
	_ = conn.Close()
	ended.wait(t, "the API server's connection has ended")
}

func TestAnUpgradedConnectionEndsWithTheLink(t *testing.T) {
	ended := make(turns)
	r := newRig(t, echo(ended))
	_, in := r.dial(upgradeRequest("SPDY/3.1"))
	if _, err := http.ReadResponse(in, nil); err != nil {
		t.Fatal(err)
	}
	r.cut()
	if _, err := in.ReadByte(); err == nil {
		t.Error("a byte from nowhere")
	}
	ended.wait(t, "the API server's connection has ended")
}

func TestUpgradesThatKubernetesDoesNotKnowAreRefused(t *testing.T) {
	api := &recorder{}
	r := newRig(t, api)
	for _, request := range []string{
		upgradeRequest("h2c"),
		upgradeRequest("SPDY/3.1, h2c"),
		strings.Replace(upgradeRequest("websocket"), "Host: x\r\n", "Host: x\r\nContent-Length: 3\r\n", 1) + "abc",
	} {
		_, in := r.dial(request)
		resp, err := http.ReadResponse(in, nil)
		if err != nil || resp.StatusCode != 400 {
			t.Errorf("%q: %v %v", request, resp, err)
		}
		if got, _ := api.take(); got != nil {
			t.Errorf("%q has reached the API server", request)
		}
	}
}
