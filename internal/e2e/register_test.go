//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
	inSecrets "github.com/tombolo-sync/tombolo/cloudhub/enroll/secrets"
	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
)

// newRegister returns a register in the cluster's namespace, of a client of its own.
func newRegister(t *testing.T, c *cluster.Cluster, namespace string) *inSecrets.Register {
	t.Helper()
	r, err := inSecrets.New(&rest.Config{
		Host: c.URL, BearerToken: cluster.AdminToken, TLSClientConfig: rest.TLSClientConfig{CAFile: c.CAFile},
	}, namespace)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func registerNamespace(t *testing.T, c *cluster.Cluster) string {
	t.Helper()
	name := fmt.Sprintf("register-%d", time.Now().UnixNano())
	kubeAPI(t, c).create(t, namespaces, "", named(name))
	return name
}

// TestATokenHasOneHolderAmongReplicas has two replicas claim the same tokens at the same time, on a real API server.
func TestATokenHasOneHolderAmongReplicas(t *testing.T) {
	c := sharedCluster(t)
	namespace := registerNamespace(t, c)
	replicas := []*inSecrets.Register{newRegister(t, c, namespace), newRegister(t, c, namespace)}
	for range 10 {
		token, _, err := enroll.NewToken("edge-1", time.Hour, time.Now(), time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		if err := replicas[0].Add(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		var won atomic.Int32
		var all sync.WaitGroup
		holders := make([]string, 8)
		for i := range holders {
			all.Go(func() {
				me := fmt.Sprintf("key-%d", i)
				holder, err := replicas[i%2].Claim(t.Context(), token.ID, me)
				if err != nil {
					t.Error(err)
				}
				if holders[i] = holder; holder == me {
					won.Add(1)
				}
			})
		}
		all.Wait()
		if n := won.Load(); n != 1 {
			t.Errorf("%d keys hold one token: %q", n, holders)
		}
		for _, h := range holders {
			if h != holders[0] {
				t.Errorf("the replicas name several holders: %q", holders)
			}
		}
	}
}

func TestRegisterInACluster(t *testing.T) {
	c := sharedCluster(t)
	r := newRegister(t, c, registerNamespace(t, c))
	token, _, err := enroll.NewToken("edge-1", time.Hour, time.Now(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Token(t.Context(), token.ID); !errors.Is(err, enroll.ErrNoToken) {
		t.Errorf("before it is made: %v", err)
	}
	if err := r.Add(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	if all, err := r.Tokens(t.Context()); err != nil || len(all) != 1 || all[0].ID != token.ID || all[0].Edge != "edge-1" {
		t.Errorf("the list: %v %v", all, err)
	}
	if err := r.Remove(t.Context(), token.ID); err != nil {
		t.Error(err)
	}
	for what, err := range map[string]error{
		"removing it again": r.Remove(t.Context(), token.ID), "claiming it": claim(t.Context(), r, token.ID),
	} {
		if !errors.Is(err, enroll.ErrNoToken) {
			t.Errorf("%s: %v", what, err)
		}
	}

	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	seen := make(chan []enroll.Revocation, 16)
	following.Go(func() {
		r.Follow(ctx, func(all []enroll.Revocation) { seen <- all }, func(err error) { t.Error(err) })
	})
	if all := <-seen; len(all) != 0 {
		t.Errorf("at first: %v", all)
	}
	first := enroll.NewRevocation("edge-1", "stolen", time.Now(), time.Time{})
	for _, v := range []enroll.Revocation{first, enroll.NewRevocation("edge-1", "again", time.Now(), first.Before)} {
		if err := r.Revoke(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		eventually(t, func() error {
			all := <-seen
			if len(all) != 1 || !all[0].Before.Equal(v.Before) || all[0].Reason != v.Reason {
				return fmt.Errorf("followed: %v, want %v", all, v)
			}
			return nil
		})
	}
}

func claim(ctx context.Context, r *inSecrets.Register, id string) error {
	_, err := r.Claim(ctx, id, "key")
	return err
}

// TestReplicasShareTokensAndRevocations has an edge join at one hub, go to another, be refused a second use of its token at both, and
// lose its session there when it is revoked.
func TestReplicasShareTokensAndRevocations(t *testing.T) {
	c := sharedCluster(t)
	namespace := registerNamespace(t, c)
	ca := pkitest.NewCA(t)
	files := ca.Issue(t, "hub")
	cert, key := ca.Files()
	transport := []string{"--tls-cert", files.Cert, "--tls-key", files.Key, "--tls-ca", files.CA,
		"--edge-ca-cert", cert, "--edge-ca-key", key, "--register-namespace", namespace}
	var hubs []*hub
	for _, name := range []string{"hub-a", "hub-b"} {
		h := newHub(t, hubConfig{name: name, kubeconfig: c.Kubeconfig, transport: transport})
		h.start()
		hubs = append(hubs, h)
	}
	s := &trustedSite{caFile: files.CA, site: &site{t: t, hub: hubs[0], link: newLink(t, hubs[0].sync)}}
	admin := []string{"--register-namespace", namespace, "--kubeconfig", c.Kubeconfig}
	line := s.command(append([]string{"token", "create", "--edge", "edge-1", "--hub", hubs[0].sync, "--hub-ca", files.CA}, admin...)...)
	e := s.newEdge("edge-1", t.TempDir(), "--hub", hubs[1].sync)
	args := append(strings.Fields(line)[1:], "--data-dir", e.dir)
	if out, err := s.run(args...); err != nil {
		t.Fatalf("join: %v %s", err, out)
	}
	for _, h := range hubs {
		again := strings.Fields(strings.ReplaceAll(strings.Join(args, " "), hubs[0].sync, h.sync))
		if out, err := s.run(append(again, "--data-dir", t.TempDir())...); err == nil || !strings.Contains(out, "used already") {
			t.Errorf("%s: the token is taken again: %v %s", h.name, err, out)
		}
	}
	e.start()
	e.awaitContact(true)
	s.command(append([]string{"edge", "revoke", "edge-1"}, admin...)...)
	e.awaitContact(false)
	s.hub = hubs[1]
	s.awaitLog("msg=audit", "action=disconnect", "edge=edge-1")
}
