package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"time"
)

// The server's certificate file doubles as trust bundle: kube-apiserver writes
// the certificate and the authority that signed it into one file.
const kubeconfig = `apiVersion: v1
kind: Config
current-context: admin
clusters:
- name: e2e
  cluster:
    server: %s
    certificate-authority: %s
contexts:
- name: admin
  context: {cluster: e2e, user: admin}
users:
- name: admin
  user: {token: %s}
`

// writeFiles writes what the servers and clients are pointed at.
func (c *Cluster) writeFiles() error {
	key, err := serviceAccountKey()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{
		"sa.key":     key,
		"tokens.csv": []byte(AdminToken + `,admin,1,"system:masters"` + "\n"),
		"kubeconfig": fmt.Appendf(nil, kubeconfig, c.URL, c.CAFile, AdminToken),
	} {
		if err := os.WriteFile(c.path(name), content, 0o600); err != nil {
			return fmt.Errorf("cluster: %w", err)
		}
	}
	return nil
}

// serviceAccountKey makes the key that service account tokens are signed with.
func serviceAccountKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("cluster: service account key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("cluster: service account key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// readRoots reads the certificates to trust from a PEM file.
func readRoots(file string) (*x509.CertPool, error) {
	bundle, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("cluster: no certificate in %s", file)
	}
	return roots, nil
}

// newClient keeps no idle connections: none is left over when a server
// restarts or the test ends.
func newClient(roots *x509.CertPool) *http.Client {
	return &http.Client{
		Timeout: 5 * time.Second,
		Transport: &http.Transport{
			DisableKeepAlives: true,
			TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		},
	}
}
