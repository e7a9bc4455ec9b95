//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// Faults of identities that users met in systems of this kind, and what enrolment promises.

func TestRotationKeepsStreamsAndWatches(t *testing.T) {
	s := newTrustedSite(t, "--edge-cert-ttl", "12s", "--edge-check-interval", "1s")
	s.startEdge()
	s.sources(configMaps, pods)
	for _, r := range []resource{configMaps, pods} {
		s.watch(s.local, r, guarantee.ReaderConfig{NeverExpires: true}, nil)
	}
	resyncs := func() int {
		return logged(t, s.hub.log, "msg=resource", "PLAN_CHANGES") + logged(t, s.hub.log, "msg=resource", "PLAN_RECONCILE")
	}
	before := resyncs()
	l := startLoad(t, s.history, s.cloud, seed(t), 100, loadKinds...)
	renewals(t, s.edge, 3)
	l.stop()
	s.settle(configMaps, pods)
	if n := logged(t, s.edge.log, "session left for another one"); n < 3 {
		t.Errorf("%d sessions were left for one with a new certificate", n)
	}
	if n := logged(t, s.edge.log, "no session"); n > 0 {
		t.Errorf("%d times the edge was without a session", n)
	}
	if n := resyncs() - before; n > 0 || before == 0 {
		t.Errorf("%d resources were synced anew, %d at the start", n, before)
	}
	files, err := os.ReadDir(filepath.Join(s.edge.dir, "identity", "keys"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 2 { // the one in force, and that of a renewal under way
		t.Errorf("%d keys are kept", len(files))
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", f.Name(), info.Mode(), err)
		}
	}
}

func TestCertificateThatExpiresOfflineIsRenewed(t *testing.T) {
	s := newTrustedSite(t, "--edge-cert-ttl", "6s", "--edge-check-interval", "1s", "--renew-grace", "1h")
	s.startEdge()
	s.cloud.create(t, configMaps, "default", named("before"))
	s.awaitCount(configMaps, 1)
	s.cut()
	time.Sleep(7 * time.Second) // until the certificate has expired for sure
	s.cloud.create(t, configMaps, "default", named("meanwhile"))
	if got := s.local.get(t, configMaps.object("default/before")); got.status != 200 {
		t.Errorf("offline: %d %s", got.status, got.body)
	}
	s.heal()
	s.awaitLog("action=renew", "edge=edge-1", "expired=true", "result=granted")
	s.awaitCount(configMaps, 2)

	// An edge that is started only after its certificate has expired does the same.
	s.edge.kill()
	time.Sleep(7 * time.Second)
	s.edge.start()
	s.edge.awaitContact(true)
	s.cloud.create(t, configMaps, "default", named("after"))
	s.awaitCount(configMaps, 3)
}

func TestBeyondTheGraceAnEdgeServesOnAndJoinsAnew(t *testing.T) {
	s := newTrustedSite(t, "--edge-cert-ttl", "8s", "--edge-check-interval", "1s", "--renew-grace", "1s")
	s.startEdge()
	s.cloud.create(t, configMaps, "default", named("before"))
	s.awaitCount(configMaps, 1)
	s.cut()
	time.Sleep(10 * time.Second) // until the certificate has expired, and the grace is over
	s.link.Heal()
	s.awaitLog("msg=audit", "result=refused", "expired")
	if got := s.local.get(t, configMaps.object("default/before")); got.status != 200 || got.header.Get("Warning") == "" {
		t.Errorf("an edge that is refused: %d, warning %q", got.status, got.header.Get("Warning"))
	}
	s.edge.alive()
	s.join("edge-1", s.edge.dir) // while it runs
	s.edge.awaitContact(true)
	s.cloud.create(t, configMaps, "default", named("after"))
	s.awaitCount(configMaps, 2)
}

func TestRevocationEndsStreamsWithinSeconds(t *testing.T) {
	s := newTrustedSite(t)
	s.startEdge()
	other := s.newEdge("edge-2", t.TempDir())
	s.join("edge-2", other.dir)
	other.start()
	other.awaitContact(true)
	unused := s.token("edge-1", t.TempDir())
	start := time.Now()
	s.cloudhub("edge", "revoke", "edge-1", "--reason", "stolen")
	s.edge.awaitContact(false)
	t.Logf("an edge noticed its revocation %s after the command was given", time.Since(start))
	s.awaitLog("msg=audit", "action=revoke", "edge=edge-1", "reason=stolen", "by=")
	s.awaitLog("msg=audit", "action=disconnect", "edge=edge-1")
	s.awaitLog("msg=audit", "action=connect", "edge=edge-1", "revoked")
	if out, err := s.run(unused...); err == nil || !strings.Contains(out, "revoked") {
		t.Errorf("a token of before: %v %s", err, out)
	}
	if v := mustMetric(t, other.http, "tombolo_edge_connected"); v != 1 {
		t.Error("the other edge is gone, too")
	}
	s.edge.alive() // and serves what it has
	if out := s.cloudhub("edge", "revocations"); !strings.Contains(out, "edge-1") || !strings.Contains(out, "stolen") {
		t.Errorf("the list: %s", out)
	}
	s.edge.kill()
	s.join("edge-1", s.edge.dir)
	s.edge.start()
	s.edge.awaitContact(true)
}

func TestAnotherEdgesNameIsRefusedAndClosed(t *testing.T) {
	s := newTrustedSite(t)
	s.startEdge()
	files := s.ca.Issue(t, "edge-2")
	out, err := s.run("run", "--name", "edge-1", "--hub", s.hub.sync, "--data-dir", t.TempDir(), "--serve", "127.0.0.1:0",
		"--http-addr", "", "--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-ca", s.caFile)
	if err == nil || !strings.Contains(out, `the certificate is for edge "edge-2", not for "edge-1"`) {
		t.Errorf("%v %s", err, out)
	}
	s.awaitLog("msg=audit", "action=connect", "edge=edge-2", "result=refused", "claims to be edge edge-1")
	awaitMetric(t, s.hub.http, "tombolo_hub_connections", func(v float64) bool { return v == 1 })
	if v := mustMetric(t, s.edge.http, "tombolo_edge_connected"); v != 1 {
		t.Error("the edge itself was thrown out")
	}
}

func TestOfTwoCopiesOfACertificateTheNewestWinsAndItIsReported(t *testing.T) {
	s := newTrustedSite(t)
	s.startEdge()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "identity"), os.DirFS(filepath.Join(s.edge.dir, "identity"))); err != nil {
		t.Fatal(err)
	}
	copied := s.newEdge("copy", dir)
	copied.start()
	copied.awaitContact(true)
	s.edge.awaitContact(false)
	s.awaitLog("session replaced by a newer one", "edge=edge-1")
	if v := mustMetric(t, s.hub.http, "tombolo_hub_sessions_replaced_total"); v < 1 {
		t.Errorf("%g sessions are counted as replaced", v)
	}
	eventually(t, func() error {
		if logged(t, s.edge.log, "another process has connected under this edge's name") == 0 {
			return fmt.Errorf("the edge does not say why")
		}
		return nil
	})
}

func TestTokensOnTheCommandLine(t *testing.T) {
	s := newTrustedSite(t)
	dir := t.TempDir()
	args := s.token("edge-1", dir)
	if out, err := s.run(append(args, "--ca-hash", "sha256:"+strings.Repeat("0", 64))...); err != nil {
		t.Errorf("one hash of two is right: %v %s", err, out)
	}
	if out, err := s.run(args...); err != nil {
		t.Errorf("the same edge again: %v %s", err, out)
	}
	stolen := append(args[:len(args):len(args)], "--data-dir", t.TempDir())
	if out, err := s.run(stolen...); err == nil || !strings.Contains(out, "used already") {
		t.Errorf("another edge with the same token: %v %s", err, out)
	}
	wrong := s.token("edge-1", t.TempDir())
	for i, a := range wrong {
		if strings.HasPrefix(a, "sha256:") {
			wrong[i] = "sha256:" + strings.Repeat("0", 64)
		}
	}
	if out, err := s.run(wrong...); err == nil || !strings.Contains(out, "authority") {
		t.Errorf("a hub of another authority: %v %s", err, out)
	}
	if out := s.cloudhub("token", "list"); strings.Count(out, "unused") != 1 || strings.Count(out, "used by key") != 1 {
		t.Errorf("the list: %s", out)
	}
	secret := args[4]
	for _, file := range []string{s.hub.log, filepath.Join(s.register, "tokens", strings.SplitN(secret, ".", 2)[0]+".json")} {
		if data, err := os.ReadFile(file); err != nil || strings.Contains(string(data), strings.SplitN(secret, ".", 2)[1]) {
			t.Errorf("%s: %v; the secret is in it", file, err)
		}
	}
}

func named(name string) string { return fmt.Sprintf(`{"metadata":{"name":%q}}`, name) }
