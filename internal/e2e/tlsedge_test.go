//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// tlsEdge is an edge that serves HTTPS, so that clients send it their tokens.
type tlsEdge struct {
	*edge
	ca string // file of the CA that its certificate is signed by
}

// newTLSEdge prepares an edge as newEdge does.
func newTLSEdge(t testing.TB, name string, args []string, hubs ...string) *tlsEdge {
	t.Helper()
	files := pkitest.NewCA(t).Issue(t, name)
	args = append([]string{"--serve-tls-cert", files.Cert, "--serve-tls-key", files.Key, "--local-auth", "none"}, args...)
	e := &tlsEdge{edge: newEdge(t, name, args, hubs...), ca: files.CA}
	e.url = strings.Replace(e.url, "http:", "https:", 1)
	return e
}

// kubeconfig writes a file that points clients with the token at the edge, and returns its path.
func (e *tlsEdge) kubeconfig(token string) string {
	e.t.Helper()
	file := filepath.Join(e.t.TempDir(), "kubeconfig")
	text := fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: edge
clusters: [{name: edge, cluster: {server: %q, certificate-authority: %q}}]
contexts: [{name: edge, context: {cluster: edge, user: user}}]
users: [{name: user, user: {token: %q}}]
`, e.url, e.ca, token)
	if err := os.WriteFile(file, text, 0o600); err != nil {
		e.t.Fatal(err)
	}
	return file
}
