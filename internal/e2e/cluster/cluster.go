package cluster

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/proc"
)

// AdminToken is the bearer token of a member of system:masters.
const AdminToken = "admintoken"

// Cluster is a running etcd and kube-apiserver. Its methods are for one
// goroutine at a time; its fields don't change after Start.
type Cluster struct {
	Config

	URL        string // of kube-apiserver: https://127.0.0.1:PORT
	EtcdURL    string // http://127.0.0.1:PORT
	CAFile     string // PEM that kube-apiserver's certificate is verified with
	Kubeconfig string // path; its user is the admin

	peerURL   string
	client    *http.Client  // trusts CAFile; nil until kube-apiserver has written it
	etcd      *proc.Process // nil before start and after Stop
	apiserver *proc.Process // nil while stopped
}

// New starts a cluster in t.TempDir unless cfg.Dir is set, and stops it when
// the test ends.
func New(t testing.TB, cfg Config) *Cluster {
	t.Helper()
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	c, err := Start(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// Start starts a cluster and returns when it serves. ctx bounds the start, not
// the cluster's life: that ends with Stop. After an error nothing is left
// running.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	ports, err := proc.FreePorts(3)
	if err != nil {
		return nil, err
	}
	c := &Cluster{
		Config:     cfg,
		EtcdURL:    fmt.Sprintf("http://127.0.0.1:%d", ports[0]),
		peerURL:    fmt.Sprintf("http://127.0.0.1:%d", ports[1]),
		URL:        fmt.Sprintf("https://127.0.0.1:%d", ports[2]),
		CAFile:     filepath.Join(cfg.Dir, "certs", "apiserver.crt"),
		Kubeconfig: filepath.Join(cfg.Dir, "kubeconfig"),
	}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) error {
	if err := c.writeFiles(); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}

// Stop ends both servers and returns when they are gone. Further calls do
// nothing.
func (c *Cluster) Stop() error {
	err := c.StopAPIServer()
	if c.etcd != nil {
		err = errors.Join(err, c.etcd.Stop(c.StopTimeout))
		c.etcd = nil
	}
	return err
}

// RestartAPIServer stops kube-apiserver and starts it on the same address.
func (c *Cluster) RestartAPIServer(ctx context.Context) error {
	if err := c.StopAPIServer(); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}

// StopAPIServer ends kube-apiserver in order and returns when it is gone, and
// its port free.
func (c *Cluster) StopAPIServer() error {
	return c.endAPIServer(func(p *proc.Process) error { return p.Stop(c.StopTimeout) })
}

// KillAPIServer ends kube-apiserver as a crash would.
func (c *Cluster) KillAPIServer() error {
	return c.endAPIServer((*proc.Process).Kill)
}

func (c *Cluster) endAPIServer(end func(*proc.Process) error) error {
	if c.apiserver == nil {
		return nil
	}
	p := c.apiserver
	c.apiserver = nil
	return end(p)
}

// StartAPIServer starts kube-apiserver where it was stopped or killed before,
// and returns when it serves.
func (c *Cluster) StartAPIServer(ctx context.Context) error {
	if c.apiserver != nil {
		return errors.New("cluster: kube-apiserver is already running")
	}
	p, err := proc.Start(c.binary("kube-apiserver"), c.path("kube-apiserver.log"), c.apiserverArgs()...)
	if err != nil {
		return err
	}
	c.apiserver = p
	ctx, cancel := context.WithTimeout(ctx, c.ReadyTimeout)
	defer cancel()
	return p.Await(ctx, c.apiserverReady)
}

func (c *Cluster) apiserverArgs() []string {
	return append([]string{
		"--etcd-servers=" + c.EtcdURL,
		"--bind-address=127.0.0.1",
		"--secure-port=" + c.URL[strings.LastIndexByte(c.URL, ':')+1:],
		"--cert-dir=" + filepath.Dir(c.CAFile),
		"--token-auth-file=" + c.path("tokens.csv"),
		"--authorization-mode=RBAC",
		"--service-account-key-file=" + c.path("sa.key"),
		"--service-account-signing-key-file=" + c.path("sa.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-cluster-ip-range=10.0.0.0/24",
		// No controller makes the default service account that pods need.
		"--disable-admission-plugins=ServiceAccount",
	}, c.APIServerArgs...)
}

// apiserverReady reports whether kube-apiserver is ready and has made the
// namespaces that every cluster has, which it does only afterwards.
func (c *Cluster) apiserverReady(ctx context.Context) error {
	if c.client == nil {
		roots, err := readRoots(c.CAFile)
		if err != nil {
			return err
		}
		c.client = newClient(roots)
	}
	for _, path := range []string{"/readyz", "/api/v1/namespaces/default", "/api/v1/namespaces/kube-system"} {
		if err := c.do(ctx, c.client, http.MethodGet, c.URL+path, nil); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) startEtcd(ctx context.Context) error {
	args := append([]string{
		"--data-dir=" + c.path("etcd"),
		"--listen-client-urls=" + c.EtcdURL,
		"--advertise-client-urls=" + c.EtcdURL,
		"--listen-peer-urls=" + c.peerURL,
		"--initial-advertise-peer-urls=" + c.peerURL,
		"--initial-cluster=default=" + c.peerURL,
		// Nothing here has to survive a power cut.
		"--unsafe-no-fsync",
	}, c.EtcdArgs...)
	p, err := proc.Start(c.binary("etcd"), c.path("etcd.log"), args...)
	if err != nil {
		return err
	}
	c.etcd = p
	ctx, cancel := context.WithTimeout(ctx, c.ReadyTimeout)
	defer cancel()
	return p.Await(ctx, func(ctx context.Context) error {
		return c.do(ctx, newClient(nil), http.MethodGet, c.EtcdURL+"/readyz", nil)
	})
}

// Compact drops etcd's history up to and including revision. kube-apiserver
// still answers from its own cache of recent events until it is restarted.
func (c *Cluster) Compact(ctx context.Context, revision int64) error {
	body, err := json.Marshal(map[string]any{"revision": strconv.FormatInt(revision, 10), "physical": true})
	if err != nil {
		return fmt.Errorf("cluster: compact: %w", err)
	}
	return c.do(ctx, newClient(nil), http.MethodPost, c.EtcdURL+"/v3/kv/compaction", body)
}

// Kubectl is a kubectl command that acts as the admin. The caller sets its
// input and output, and runs it.
func (c *Cluster) Kubectl(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, c.binary("kubectl"), args...)
	// kubectl keeps caches and preferences in the home directory.
	cmd.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig, "HOME="+c.Dir)
	return cmd
}

// do sends a request as the admin; any status but 200 is an error.
func (c *Cluster) do(ctx context.Context, client *http.Client, method, url string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+AdminToken)
	resp, err := client.Do(req)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("cluster: %s %s: %w", method, url, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("cluster: %s %s: %s: %s", method, url, resp.Status, text)
	}
	return nil
}

func (c *Cluster) path(name string) string   { return filepath.Join(c.Dir, name) }
func (c *Cluster) binary(name string) string { return filepath.Join(c.BinDir, name) }
