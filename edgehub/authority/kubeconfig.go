package authority

import (
	"context"
	"crypto/ecdsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"log/slog"
	"time"

	"github.com/tombolo-sync/tombolo/internal/access"
	"github.com/tombolo-sync/tombolo/internal/pki"
)

// Admin is the user whose kubeconfig the edge writes. At the edge it may do everything; towards the cloud it is the edge.
const Admin = "tombolo:local-admin"

// AdminUser returns that user.
func AdminUser() *access.User {
	return &access.User{Name: Admin, Groups: []string{access.Masters, access.Authenticated}}
}

// Kubeconfig is a file that lets its owner use the local API, with the name and the authority that it is known by.
type Kubeconfig struct {
	Authority *Authority
	Path      string
	URL       string // of the local API
	Edge      string // the edge's name
}

// Write writes the file, for its owner alone, with a new certificate.
func (k *Kubeconfig) Write() error {
	t := template(Admin, life, access.Masters)
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	cert, err := k.Authority.issue(t)
	if err != nil {
		return err
	}
	key, err := encodeKey(cert.PrivateKey.(*ecdsa.PrivateKey))
	if err != nil {
		return err
	}
	text := fmt.Sprintf(`# Written by edgehub, which keeps it current. Who can read it may read all that the edge holds, and act as the edge.
apiVersion: v1
kind: Config
current-context: %[1]q
clusters:
- name: %[1]q
  cluster: {server: %[2]q, tls-server-name: %[3]q, certificate-authority-data: %[4]s}
contexts:
- name: %[1]q
  context: {cluster: %[1]q, user: %[5]q}
users:
- name: %[5]q
  user: {client-certificate-data: %[6]s, client-key-data: %[7]s}
`, k.Edge, k.URL, ServerName, base64.StdEncoding.EncodeToString(pki.EncodeCertificates([]*x509.Certificate{k.Authority.cert})), Admin,
		base64.StdEncoding.EncodeToString(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Leaf.Raw})),
		base64.StdEncoding.EncodeToString(key))
	if err := writeFile(k.Path, []byte(text)); err != nil {
		return fmt.Errorf("kubeconfig: %w", err)
	}
	return nil
}

// Keep writes the file again whenever a third of the time of its certificate has passed, until ctx ends.
func (k *Kubeconfig) Keep(ctx context.Context, logger *slog.Logger) {
	t := time.NewTicker(life / 3)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if err := k.Write(); err != nil {
			logger.Error("the local kubeconfig could not be renewed", "err", err)
		}
	}
}
