//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
	"github.com/tombolo-sync/tombolo/internal/pki"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// trustedSite is a site whose edge has joined by a token: nothing in it is insecure.
type trustedSite struct {
	*site
	ca       *pkitest.CA
	caFile   string // that hubs and edges are known by
	hubFiles pki.Files
	signer   [2]string // the files of who signs edges' certificates: certificate and key
	register string
}

// newTrustedSite starts a hub that gives certificates, and prepares an edge that does not run yet.
func newTrustedSite(t *testing.T, args ...string) *trustedSite {
	t.Helper()
	return newTrustedSiteOf(t, hubConfig{args: args})
}

// newTrustedSiteOf is newTrustedSite with another cloud or other scopes.
func newTrustedSiteOf(t *testing.T, cfg hubConfig) *trustedSite {
	t.Helper()
	s := &trustedSite{ca: pkitest.NewCA(t), register: t.TempDir()}
	s.hubFiles = s.ca.Issue(t, "hub")
	s.caFile = s.hubFiles.CA
	cert, key := s.ca.Files()
	s.signer = [2]string{copyFile(t, cert), copyFile(t, key)} // the bundle of authorities is another file
	cfg.transport = []string{
		"--tls-cert", s.hubFiles.Cert, "--tls-key", s.hubFiles.Key, "--tls-ca", s.caFile,
		"--edge-ca-cert", s.signer[0], "--edge-ca-key", s.signer[1], "--register", s.register,
	}
	h := newHub(t, cfg)
	h.start()
	s.site = &site{t: t, history: guarantee.NewHistory(), hub: h, cloud: newAPI(t, "cloud", h.api), link: newLink(t, h.sync)}
	if cfg.kubeconfig != "" {
		s.cloud = kubeAPI(t, sharedCluster(t))
	}
	s.edge = s.newEdge("edge-1", t.TempDir())
	s.local = newAPI(t, "edge", s.edge.url)
	return s
}

func copyFile(t *testing.T, from string) string {
	t.Helper()
	to := filepath.Join(t.TempDir(), filepath.Base(from))
	replaceFile(t, to, from)
	return to
}

// replaceFile makes a file hold what others do, at once.
func replaceFile(t *testing.T, to string, from ...string) {
	t.Helper()
	var all []byte
	for _, f := range from {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	if err := os.WriteFile(to+".new", all, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(to+".new", to); err != nil {
		t.Fatal(err)
	}
}

// newEdge prepares an edge that is what it joined as.
func (s *trustedSite) newEdge(name, dir string, args ...string) *edge {
	s.t.Helper()
	ports := freePorts(s.t, 2)
	e := &edge{url: "http://" + ports[0], http: "http://" + ports[1], dir: dir}
	args = append([]string{"run", "--data-dir", dir, "--serve", ports[0], "--serve-plain", "--http-addr", ports[1]}, args...)
	e.server = newServer(s.t, name, "edgehub", e.http+"/readyz", args...)
	return e
}

// cloudhub runs a command of the hub's binary on the register.
func (s *trustedSite) cloudhub(args ...string) string {
	s.t.Helper()
	return s.command(append(args, "--register", s.register)...)
}

// command runs a command of the hub's binary.
func (s *trustedSite) command(args ...string) string {
	s.t.Helper()
	out, err := exec.Command(filepath.Join(binaries, "cloudhub"), args...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("cloudhub %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// token makes a token for an edge and returns the arguments of edgehub that join it, into a directory.
func (s *trustedSite) token(edge, dir string) []string {
	s.t.Helper()
	line := s.cloudhub("token", "create", "--edge", edge, "--hub", s.link.Addr, "--hub-ca", s.caFile)
	args := strings.Fields(line)
	if len(args) < 2 || args[0] != "edgehub" {
		s.t.Fatalf("not a command of edgehub: %s", line)
	}
	return append(args[1:], "--data-dir", dir)
}

// run runs edgehub with arguments to its end.
func (s *trustedSite) run(args ...string) (string, error) {
	out, err := exec.Command(filepath.Join(binaries, "edgehub"), args...).CombinedOutput()
	return string(out), err
}

// join has an edge join with a new token.
func (s *trustedSite) join(edge, dir string) {
	s.t.Helper()
	if out, err := s.run(s.token(edge, dir)...); err != nil {
		s.t.Fatalf("edgehub join: %v\n%s", err, out)
	}
}

// startEdge joins the site's edge and waits until it follows the cloud.
func (s *trustedSite) startEdge() {
	s.t.Helper()
	s.join("edge-1", s.edge.dir)
	s.edge.start()
	s.edge.awaitContact(true)
}

// awaitLog waits until the hub has logged a line that has all the parts.
func (s *trustedSite) awaitLog(parts ...string) {
	s.t.Helper()
	eventually(s.t, func() error {
		if logged(s.t, s.hub.log, parts...) == 0 {
			return fmt.Errorf("no line of the hub's log has %q", parts)
		}
		return nil
	})
}

// logged counts the lines of a log that have all the parts.
func logged(t testing.TB, file string, parts ...string) (count int) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		all := true
		for _, p := range parts {
			all = all && strings.Contains(line, p)
		}
		if all {
			count++
		}
	}
	return count
}

// renewals waits until an edge has renewed its certificate so often.
func renewals(t testing.TB, e *edge, count float64) {
	t.Helper()
	awaitMetric(t, e.http, "tombolo_edge_certificate_renewals_total", func(v float64) bool { return v >= count })
}
