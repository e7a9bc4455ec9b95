//go:build e2e

package syncbench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/proc"
	"github.com/tombolo-sync/tombolo/internal/pki"
)

// patience bounds the wait for what has to happen. It is no measure of speed.
const patience = 5 * time.Minute

// hub is a cloudhub process with an embedded cloud.
type hub struct {
	p     *proc.Process
	sync  string // host:port for edges
	cloud *cloud
	ca    pki.Files // of the CA: certificate and key
}

// scopes returns a scopes file with one scope of all edges.
func scopes(rules string) string {
	return "scopes:\n- name: bench\n  edges: [\"edge-*\"]\n  rules:\n" + rules
}

// startHub starts a hub that lets edges have what rules say. The end of the test stops it.
func startHub(t testing.TB, rules string, args ...string) *hub {
	t.Helper()
	ports, err := proc.FreePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "scopes.yaml"), []byte(scopes(rules)), 0o600); err != nil {
		t.Fatal(err)
	}
	ca, server := certificates(t, dir)
	addr := func(i int) string { return fmt.Sprintf("127.0.0.1:%d", ports[i]) }
	h := &hub{sync: addr(0), cloud: newCloud(t, "http://"+addr(2)), ca: ca}
	h.p, err = proc.Start(filepath.Join(binaries, "cloudhub"), filepath.Join(dir, "hub.log"), append([]string{
		"run", "--embedded", filepath.Join(dir, "cloud"), "--scopes", filepath.Join(dir, "scopes.yaml"), "--log-level", "warn",
		"--sync-addr", addr(0), "--http-addr", addr(1), "--api-addr", addr(2),
		"--tls-cert", server.Cert, "--tls-key", server.Key, "--tls-ca", server.CA,
	}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.p.Stop(time.Minute); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("end of the hub's log:\n%s", h.p.LogTail())
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := h.p.Await(ctx, func(ctx context.Context) error { return ready(ctx, "http://"+addr(1)+"/readyz") }); err != nil {
		t.Fatal(err)
	}
	return h
}

func ready(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, resp.Status)
	}
	return nil
}

func (h *hub) cpu(t testing.TB) time.Duration { return cpu(t, h.p.PID()) }

func (h *hub) resident(t testing.TB) float64 { return resident(t, h.p.PID()) }

// certificates makes a CA and a hub's certificate.
func certificates(t testing.TB, dir string) (ca, server pki.Files) {
	t.Helper()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "bench CA"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	ca = pki.Files{Cert: filepath.Join(dir, "ca.pem"), Key: filepath.Join(dir, "ca-key.pem")}
	rootKey := newKey(t)
	save(t, ca, sign(t, root, root, rootKey, rootKey), rootKey)
	server = pki.Files{Cert: filepath.Join(dir, "hub.pem"), Key: filepath.Join(dir, "hub-key.pem"), CA: ca.Cert}
	key := newKey(t)
	save(t, server, sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "hub"}, NotBefore: root.NotBefore, NotAfter: root.NotAfter,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}, root, key, rootKey), key)
	return ca, server
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, c, parent *x509.Certificate, key, by *ecdsa.PrivateKey) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func save(t testing.TB, f pki.Files, cert []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{
		f.Cert: {Type: "CERTIFICATE", Bytes: cert}, f.Key: {Type: "EC PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
