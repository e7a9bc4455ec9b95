package pki_test

import (
	"crypto/tls"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/pki"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// names connects a client to a server and returns the common name that each sees of the other.
func names(t *testing.T, server, client *tls.Config) (seenByServer, seenByClient string, err error) {
	t.Helper()
	s, c, err := connect(t, server, client)
	if err != nil {
		return "", "", err
	}
	return s.PeerCertificates[0].Subject.CommonName, c.PeerCertificates[0].Subject.CommonName, nil
}

// connect connects a client to a server and returns what each sees.
func connect(t *testing.T, server, client *tls.Config) (seenByServer, seenByClient tls.ConnectionState, err error) {
	t.Helper()
	none := tls.ConnectionState{}
	client.ServerName = "localhost"
	a, b := link(t) // both sides may write at once, which a net.Pipe has no room for
	defer a.Close() //nolint:errcheck // a test's connection
	defer b.Close() //nolint:errcheck // likewise
	deadline := time.Now().Add(10 * time.Second)
	_ = a.SetDeadline(deadline)
	_ = b.SetDeadline(deadline)
	srv, cli := tls.Server(a, server), tls.Client(b, client)
	done := make(chan error, 1)
	go func() {
		err := srv.Handshake()
		if err == nil {
			_, err = srv.Write([]byte{1})
		}
		_ = a.SetDeadline(time.Now().Add(100 * time.Millisecond)) // for the alert, if any
		done <- err
		if err != nil {
			_ = a.Close()
		}
	}()
	_, clientErr := cli.Read(make([]byte, 1)) // what comes before that byte is a ticket
	if err := <-done; err != nil {
		return none, none, err
	}
	if clientErr != nil {
		return none, none, clientErr
	}
	return srv.ConnectionState(), cli.ConnectionState(), nil
}

// link returns the two ends of a connection.
func link(t *testing.T) (a, b net.Conn) {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer lis.Close() //nolint:errcheck // it has served
	if b, err = (&net.Dialer{}).DialContext(t.Context(), "tcp", lis.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if a, err = lis.Accept(); err != nil {
		t.Fatal(err)
	}
	return a, b
}

func TestMutualTLSAndReplacementWithoutRestart(t *testing.T) {
	ca := pkitest.NewCA(t)
	hub, edge := ca.Issue(t, "hub"), ca.Issue(t, "edge-1")
	server, err := hub.Server()
	if err != nil {
		t.Fatal(err)
	}
	client, err := edge.Client()
	if err != nil {
		t.Fatal(err)
	}
	if s, c, err := names(t, server, client); err != nil || s != "edge-1" || c != "hub" {
		t.Fatalf("server sees %q, client sees %q: %v", s, c, err)
	}
	next := ca.Issue(t, "edge-2")
	for from, to := range map[string]string{next.Key: edge.Key, next.Cert: edge.Cert} {
		data, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(edge.Cert, time.Time{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if s, _, err := names(t, server, client); err != nil || s != "edge-2" {
		t.Fatalf("after the replacement the server sees %q: %v", s, err)
	}
	if err := os.WriteFile(edge.Cert, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, _, err := names(t, server, client); err != nil || s != "edge-2" {
		t.Fatalf("with a broken file the server sees %q: %v", s, err)
	}
}

func TestForeignCAIsRefused(t *testing.T) {
	server, err := pkitest.NewCA(t).Issue(t, "hub").Server()
	if err != nil {
		t.Fatal(err)
	}
	client, err := pkitest.NewCA(t).Issue(t, "edge-1").Client()
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := names(t, server, client); err == nil {
		t.Fatal("connected")
	}
}

func TestBadFiles(t *testing.T) {
	good := pkitest.NewCA(t).Issue(t, "x")
	junk := t.TempDir() + "/junk.pem"
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, f := range map[string]pki.Files{
		"must be given together": {Cert: good.Cert},
		"no such file":           {Cert: "missing.pem", Key: good.Key, CA: good.CA},
		"certificate:":           {Cert: junk, Key: good.Key, CA: good.CA},
		"no certificate in":      {Cert: good.Cert, Key: good.Key, CA: junk},
		"CA:":                    {Cert: good.Cert, Key: good.Key, CA: "missing.pem"},
	} {
		if _, err := f.Server(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

func TestServingAsksForNoCertificateAndSpeaksTLS12(t *testing.T) {
	files := pkitest.NewCA(t).Issue(t, "edge-1")
	server, err := pki.Serving(files.Cert, files.Key)
	if err != nil {
		t.Fatal(err)
	}
	roots, err := files.Client()
	if err != nil {
		t.Fatal(err)
	}
	a, b := net.Pipe()
	go func() { _ = tls.Server(a, server).Handshake(); _ = a.Close() }()
	client := tls.Client(b, &tls.Config{RootCAs: roots.RootCAs, ServerName: "localhost", MaxVersion: tls.VersionTLS12})
	if err := client.Handshake(); err != nil {
		t.Fatal(err)
	}
	if name := client.ConnectionState().PeerCertificates[0].Subject.CommonName; name != "edge-1" {
		t.Errorf("the server is %q", name)
	}
}

func TestServingNeedsBothFiles(t *testing.T) {
	files := pkitest.NewCA(t).Issue(t, "edge-1")
	for want, pair := range map[string][2]string{
		"must be given together": {files.Cert, ""},
		"no such file":           {files.Cert, "missing.pem"},
		"certificate:":           {files.CA, files.Key},
	} {
		if _, err := pki.Serving(pair[0], pair[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}
