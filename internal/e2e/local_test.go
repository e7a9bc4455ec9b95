//go:build e2e

package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/e2e/link"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// rights are what an edge has to hold to decide who may do what.
const rights = `  - {group: rbac.authorization.k8s.io, resource: roles}
  - {group: rbac.authorization.k8s.io, resource: clusterroles}
  - {group: rbac.authorization.k8s.io, resource: rolebindings}
  - {group: rbac.authorization.k8s.io, resource: clusterrolebindings}
`

// localSite is an edge that asks who its clients are.
type localSite struct {
	t     *testing.T
	kube  *cluster.Cluster
	cloud *api
	link  *link.Link
	edge  *edge
	roots *x509.CertPool // by which the edge is known
}

// newLocalSite starts an edge that holds the ConfigMaps of a namespace, and more as the scope's rules say.
func newLocalSite(t *testing.T, namespace, rules string, args ...string) *localSite {
	t.Helper()
	c := sharedCluster(t)
	s := &localSite{t: t, kube: c, cloud: kubeAPI(t, c)}
	h := newHub(t, hubConfig{kubeconfig: c.Kubeconfig, scopes: inNamespace(t, s.cloud, namespace) + rules})
	h.start()
	s.link = newLink(t, h.sync)
	s.edge = newEdge(t, "edge-1", append([]string{"--local-auth", "rbac"}, args...), s.link.Addr)
	s.edge.start()
	s.edge.url = strings.Replace(s.edge.url, "http:", "https:", 1)
	s.edge.awaitContact(true)
	s.roots = x509.NewCertPool()
	if !s.roots.AppendCertsFromPEM(s.authority()) {
		t.Fatal("no authority in the kubeconfig")
	}
	return s
}

// authority reads the edge's from the kubeconfig that it wrote.
func (s *localSite) authority() []byte {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.edge.dir, "kubeconfig"))
	if err != nil {
		s.t.Fatal(err)
	}
	data := regexp.MustCompile(`certificate-authority-data: ([^},\s]+)`).FindSubmatch(text)
	if data == nil {
		s.t.Fatalf("%s", text)
	}
	out, err := base64.StdEncoding.DecodeString(string(data[1]))
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// as returns the edge's API for a client, with a token or a certificate or neither.
func (s *localSite) as(token string, certificates ...tls.Certificate) *api {
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: s.roots, Certificates: certificates, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	s.t.Cleanup(tr.CloseIdleConnections)
	return &api{name: "edge", base: s.edge.url, client: &http.Client{Transport: &withHeader{tr, token}}}
}

// atCloud is the same for the API server.
func (s *localSite) atCloud(token string) *api {
	s.t.Helper()
	pem, err := os.ReadFile(s.kube.CAFile)
	if err != nil {
		s.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}
	s.t.Cleanup(tr.CloseIdleConnections)
	return &api{name: "cloud", base: s.kube.URL, client: &http.Client{Transport: &withHeader{tr, token}}}
}

// withHeader sends a token.
type withHeader struct {
	*http.Transport
	token string
}

func (w *withHeader) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+w.token)
	}
	return w.Transport.RoundTrip(r)
}

// TestRefusalsAreThoseOfTheAPIServer compares whole answers to who is nobody, and to who shows what is worth nothing.
func TestRefusalsAreThoseOfTheAPIServer(t *testing.T) {
	s := newLocalSite(t, "refusals", rights)
	for _, token := range []string{"", "nonsense"} {
		edge, cloud := s.as(token), s.atCloud(token)
		for _, path := range []string{
			"/api/v1/namespaces/refusals/configmaps", "/api/v1/configmaps?watch=1", "/api/v1/namespaces/refusals/configmaps/x?pretty=1",
			"/api/v1/namespaces/refusals", "/api/v1/namespaces/refusals/pods/p/log", "/apis/apps/v1/deployments?fieldSelector=metadata.name%3Dd",
			"/api", "/apis/apps/v1", "/metrics", "/no%3Cthing%3E", "/version", "/apis/no.such/v1/things/x",
			"/api/v1/namespaces/refusals/configmaps/a%2Fb", "/api/v1/watch/pods", "/openapi/v2", "/",
		} {
			for _, method := range []string{http.MethodGet, http.MethodDelete} {
				want, err := cloud.do(t.Context(), method, path, nil)
				if err != nil {
					t.Fatal(err)
				}
				got, err := edge.do(t.Context(), method, path, nil)
				if err != nil {
					t.Fatal(err)
				}
				if path == "/version" && want.status == http.StatusOK {
					if got.status != http.StatusOK {
						t.Errorf("%s %s: %d", method, path, got.status)
					}
					continue
				}
				if got.status != want.status || string(got.body) != string(want.body) {
					t.Errorf("%s %s with token %q:\n edge: %d %s\ncloud: %d %s", method, path, token, got.status, got.body, want.status, want.body)
				}
				for _, h := range []string{"Content-Type", "Cache-Control", "X-Content-Type-Options", "Www-Authenticate", "Warning"} {
					if a, b := got.header.Values(h), want.header.Values(h); fmt.Sprint(a) != fmt.Sprint(b) {
						t.Errorf("%s %s with token %q: %s is %q, upstream %q", method, path, token, h, a, b)
					}
				}
			}
		}
	}
}

// TestNeighboursCantBorrowTheEdge is case 43: whoever reaches the local port without credentials reads nothing and has nothing
// done in the edge's name, and an API that asks nobody is not opened to the network at all.
func TestNeighboursCantBorrowTheEdge(t *testing.T) {
	s := newLocalSite(t, "neighbours", rights)
	runKubectl(t, s.kube, "", "create", "clusterrolebinding", "neighbours", "--clusterrole=cluster-admin", "--group=tombolo:edges")
	t.Cleanup(func() {
		_ = s.kube.Kubectl(context.Background(), "delete", "clusterrolebinding", "neighbours").Run()
	})
	s.cloud.create(t, configMaps, "neighbours", configMap("neighbours", "treasure", "a", "1"))
	path := configMaps.object("neighbours/treasure")
	admin := func(args ...string) ([]byte, error) {
		cmd := exec.Command(filepath.Join(s.kube.BinDir, "kubectl"), append([]string{"--kubeconfig", filepath.Join(s.edge.dir, "kubeconfig")}, args...)...)
		cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
		return cmd.CombinedOutput()
	}
	eventually(t, func() error { // the edge has it, its administrator reads it, and acts as the edge
		out, err := admin("-n", "neighbours", "get", "configmap", "treasure")
		if err != nil {
			return fmt.Errorf("%w\n%s", err, out)
		}
		return nil
	})
	if out, err := admin("-n", "neighbours", "annotate", "configmap", "treasure", "by=admin"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	stranger := pkitest.NewCA(t).Issue(t, "tombolo:local-admin")
	forged, err := tls.LoadX509KeyPair(stranger.Cert, stranger.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		api  *api
		want int
	}{
		"nobody": {s.as(""), http.StatusForbidden}, "a token of nobody": {s.as("x.y.z"), http.StatusUnauthorized},
		"a certificate of another authority": {s.as("", forged), http.StatusUnauthorized},
	} {
		for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
			for _, p := range []string{path, configMaps.path("neighbours"), "/api/v1/namespaces/neighbours/pods", "/apis/no.such/v1/x"} {
				got, err := c.api.do(t.Context(), method, p, []byte(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				if got.status != c.want || strings.Contains(string(got.body), `"data"`) {
					t.Errorf("%s: %s %s: %d %s", name, method, p, got.status, got.body)
				}
			}
		}
	}
	s.cloud.get(t, path)
	for _, args := range [][]string{{"--serve-plain"}, {"--local-auth", "none"}} {
		args = append([]string{"run", "--name", "x", "--hub", "127.0.0.1:1", "--insecure-dev", "--data-dir", t.TempDir(), "--serve", "0.0.0.0:0"}, args...)
		out, err := exec.Command(s.edge.binary, args...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "loopback addresses only") || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%q: %v\n%s", args, err, out)
		}
	}
}

// TestLocalUsersHaveTheirRights: by a certificate, as the cloud's roles say, with a link and without; on the socket, all of it.
func TestLocalUsersHaveTheirRights(t *testing.T) {
	ca := pkitest.NewCA(t).Issue(t, "ann")
	socket := filepath.Join(t.TempDir(), "api.sock")
	s := newLocalSite(t, "rights", rights, "--client-ca-file", ca.CA, "--serve-socket", socket)
	cert, err := tls.LoadX509KeyPair(ca.Cert, ca.Key)
	if err != nil {
		t.Fatal(err)
	}
	ann := s.as("", cert)
	expect := func(method, path string, want int) {
		t.Helper()
		eventually(t, func() error {
			got, err := ann.do(t.Context(), method, path, nil)
			if err != nil || got.status != want {
				return fmt.Errorf("%s %s: %d, %w\n%s", method, path, got.status, err, got.body)
			}
			return nil
		})
	}
	expect("GET", configMaps.path("rights"), http.StatusForbidden)
	runKubectl(t, s.kube, "", "-n", "rights", "create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps")
	runKubectl(t, s.kube, "", "-n", "rights", "create", "rolebinding", "reader", "--role=reader", "--user=ann")
	expect("GET", configMaps.path("rights"), http.StatusOK)
	expect("DELETE", configMaps.object("rights/x"), http.StatusForbidden)
	s.link.Cut()
	s.edge.awaitContact(false)
	expect("GET", configMaps.path("rights"), http.StatusOK)
	expect("GET", secrets.path("rights"), http.StatusForbidden)
	s.link.Heal()
	s.edge.awaitContact(true)
	runKubectl(t, s.kube, "", "-n", "rights", "delete", "rolebinding", "reader")
	expect("GET", configMaps.path("rights"), http.StatusForbidden)

	info, err := os.Stat(socket)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the socket: %v, %v", info, err)
	}
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	defer tr.CloseIdleConnections()
	(&api{name: "socket", base: "http://edge", client: &http.Client{Transport: tr}}).get(t, configMaps.path("rights"))
}

// TestAnEdgeThatHoldsNoRolesRefuses and says what is missing.
func TestAnEdgeThatHoldsNoRolesRefuses(t *testing.T) {
	ca := pkitest.NewCA(t).Issue(t, "ann")
	s := newLocalSite(t, "no-roles", "", "--client-ca-file", ca.CA)
	cert, err := tls.LoadX509KeyPair(ca.Cert, ca.Key)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.as("", cert).do(t.Context(), http.MethodGet, configMaps.path("no-roles"), nil)
	if err != nil || got.status != http.StatusForbidden || !strings.Contains(string(got.body), "does not hold clusterroles, roles") {
		t.Errorf("%d %v\n%s", got.status, err, got.body)
	}
	s.as("", cert).get(t, "/apis")
}
