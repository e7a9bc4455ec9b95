package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// pair returns the two sides of a connection, of which the client has connected once.
func pair(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	ca := pkitest.NewCA(t)
	server, err := ca.Issue(t, "hub").Server()
	if err != nil {
		t.Fatal(err)
	}
	if client, err = ca.Issue(t, "edge-1").Client(); err != nil {
		t.Fatal(err)
	}
	if s, c, err := connect(t, server, client); err != nil || s.DidResume || c.DidResume {
		t.Fatalf("the first connection: %v, resumed %v", err, s.DidResume)
	}
	return server, client
}

func TestASessionIsResumed(t *testing.T) {
	server, client := pair(t)
	for range 3 { // each gives a ticket for the next one
		s, c, err := connect(t, server, client)
		if err != nil || !s.DidResume || !c.DidResume {
			t.Fatalf("resumed %v: %v", s.DidResume, err)
		}
		if name := s.VerifiedChains[0][0].Subject.CommonName; name != "edge-1" {
			t.Errorf("the server sees %q", name)
		}
	}
}

// TestWhatEndsAResumedSession: resuming lets nobody in whom a whole handshake would keep out.
func TestWhatEndsAResumedSession(t *testing.T) {
	t.Run("the client's certificate has expired", func(t *testing.T) {
		server, client := pair(t)
		server.Time = func() time.Time { return time.Now().Add(2 * time.Hour) }
		if s, _, err := connect(t, server, client); err == nil {
			t.Errorf("connected, resumed %v", s.DidResume)
		}
	})
	t.Run("the server's certificate has expired", func(t *testing.T) {
		server, client := pair(t)
		client.Time = func() time.Time { return time.Now().Add(2 * time.Hour) }
		if s, _, err := connect(t, server, client); err == nil {
			t.Errorf("connected, resumed %v", s.DidResume)
		}
	})
	t.Run("the client's CA is not trusted any more", func(t *testing.T) {
		server, client := pair(t)
		server.ClientCAs = x509.NewCertPool()
		if s, _, err := connect(t, server, client); err == nil {
			t.Errorf("connected, resumed %v", s.DidResume)
		}
	})
	t.Run("the certificate was revoked", func(t *testing.T) {
		server, client := pair(t)
		resumed := false
		server.VerifyConnection = func(s tls.ConnectionState) error {
			resumed = s.DidResume && s.VerifiedChains[0][0].Subject.CommonName == "edge-1"
			return errors.New("revoked")
		}
		if _, _, err := connect(t, server, client); err == nil || !resumed {
			t.Errorf("asked about a session that is resumed: %v, %v", resumed, err)
		}
	})
}
