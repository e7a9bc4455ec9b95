//go:build e2e

package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// TestAuthorityIsExchangedUnderLoad goes through the steps of docs/security.md: trust the new authority, let it sign, wait for the
// edges, forget the old one. No session is interrupted and no watch ends.
func TestAuthorityIsExchangedUnderLoad(t *testing.T) {
	s := newTrustedSite(t, "--edge-check-interval", "1s")
	s.startEdge()
	s.sources(configMaps)
	s.watch(s.local, configMaps, guarantee.ReaderConfig{NeverExpires: true}, nil)
	l := startLoad(t, s.history, s.cloud, seed(t), 50, loadKinds...)
	oldCA := copyFile(t, s.caFile)
	next := pkitest.NewCA(t)
	newCA, newKey := next.Files()

	replaceFile(t, s.caFile, oldCA, newCA)
	s.awaitTrust(2)

	hub := next.Issue(t, "hub")
	replaceFile(t, s.signer[1], newKey) // the key first: a pair is read when its certificate has changed
	replaceFile(t, s.signer[0], newCA)
	replaceFile(t, s.hubFiles.Key, hub.Key)
	replaceFile(t, s.hubFiles.Cert, hub.Cert)
	renewals(t, s.edge, 1)
	s.awaitAuthority(fmt.Sprintf("%x", next.Certificate().SubjectKeyId))

	replaceFile(t, s.caFile, newCA)
	s.awaitTrust(1)
	l.awaitCount(l.count.Load() + 50)
	l.stop()
	s.settle(configMaps)
	if n := logged(t, s.edge.log, "no session"); n > 0 {
		t.Errorf("%d times the edge was without a session", n)
	}

	s.cut()
	s.heal() // with a hub that is known by the new authority alone

	// The old authority is worth nothing any more.
	old := s.ca.Issue(t, "edge-2")
	out, err := s.run("run", "--name", "edge-2", "--hub", s.hub.sync, "--data-dir", t.TempDir(), "--serve", "127.0.0.1:0",
		"--http-addr", "", "--tls-cert", old.Cert, "--tls-key", old.Key, "--tls-ca", newCA)
	if err == nil || !bytes.Contains([]byte(out), []byte("tls")) {
		t.Errorf("a certificate of the old authority: %v %s", err, out)
	}
}

// awaitTrust waits until the edge knows hubs by so many authorities.
func (s *trustedSite) awaitTrust(count int) {
	s.t.Helper()
	eventually(s.t, func() error {
		data, err := os.ReadFile(filepath.Join(s.edge.dir, "identity", "ca.pem"))
		if n := bytes.Count(data, []byte("BEGIN CERTIFICATE")); err == nil && n != count {
			err = fmt.Errorf("the edge trusts %d authorities", n)
		}
		return err
	})
}

// awaitAuthority waits until all connections to the hub are with certificates of an authority.
func (s *trustedSite) awaitAuthority(keyID string) {
	s.t.Helper()
	eventually(s.t, func() error {
		got, err := newAPI(s.t, "hub", s.hub.http).do(s.t.Context(), "GET", "/metrics", nil)
		if err != nil {
			return err
		}
		for line := range bytes.Lines(got.body) {
			if bytes.HasPrefix(line, []byte("tombolo_hub_connections{")) && !bytes.Contains(line, []byte(keyID)) {
				return fmt.Errorf("there still is %s", line)
			}
		}
		return nil
	})
}
