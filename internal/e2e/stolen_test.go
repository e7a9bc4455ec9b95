//go:build e2e

package e2e

import (
	"context"
	"crypto"
	"crypto/x509"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// barred is an edge that somebody else drives, with a session that is open.
type barred struct {
	*adversary
	session *talk
	ended   chan error // how the session ended
}

// drive opens a session and has it read.
func (a *adversary) drive() *barred {
	a.t.Helper()
	b := &barred{a, a.talk(sayHello(greeting("thief"))), make(chan error, 1)}
	if _, err := b.session.until(func(m *tombolov1.SyncResponse) bool { return m.GetWelcome() != nil }); err != nil {
		a.t.Fatal(err)
	}
	go func() { b.ended <- b.session.end() }() // ends with the session
	return b
}

// thrownOut waits for the end of the session and its connection.
func (b *barred) thrownOut(what string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	select {
	case err := <-b.ended:
		if err == nil {
			b.t.Errorf("%s: the session ended as if nothing were", what)
		}
	case <-ctx.Done():
		b.t.Errorf("%s: the session goes on", what)
	}
	b.session.line.awaitClosed(what)
}

// refusedEverything tries all that a certificate is good for.
func (b *barred) refusedEverything(what string) {
	b.t.Helper()
	for _, method := range []string{syncMethod, callMethod, renewMethod, checkMethod, healthMethod} {
		l := b.dial()
		wantCode(b.t, what+": "+method, l.bytes(method, nil), codes.PermissionDenied)
		defer l.awaitClosed(what + ": " + method)
	}
}

// TestWhatAStolenEdgeIsWorth takes the whole data directory of an edge.
func TestWhatAStolenEdgeIsWorth(t *testing.T) {
	s := newTrustedSiteOf(t, hubConfig{scopes: thiefScopes, args: []string{"--log-format", "json"}})
	c := plant(t, s.cloud)
	s.startEdge()
	victim := s.newEdge("thief", t.TempDir())
	unused := s.tokenText("thief")
	s.join("thief", victim.dir)
	victim.start()
	victim.awaitContact(true)
	eventually(t, func() error {
		got, err := newAPI(t, "thief", victim.url).do(t.Context(), http.MethodGet, secrets.object("thief/own"), nil)
		if err == nil && got.status != http.StatusOK {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		return err
	})
	victim.stop()
	all := everythingIn(t, victim.dir)
	if !carries(all, c.own) {
		t.Error("the search finds not even what the edge holds")
	}
	key, err := os.ReadFile(s.signer[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{c.sameNamespace, c.foreign, c.foreignMap, c.foreignPod, strings.Split(string(key), "\n")[1], strings.SplitN(unused, ".", 2)[1]} {
		if carries(all, secret) {
			t.Errorf("the edge's disk has %.40q", secret)
		}
	}

	a := &adversary{t: t, site: s, cert: stolenCertificate(t, victim.dir), roots: s.rootsOf(), heard: &ear{}}
	b := a.drive()
	s.cloudhub("edge", "revoke", "thief", "--reason", "stolen")
	b.thrownOut("revoked")
	a.awaitRefusal("disconnect", "thief", "revoked")
	b.refusedEverything("revoked")
	a.awaitRefusal("connect", "thief", "revoked")
	request := signingRequest(t, a.cert.PrivateKey.(crypto.Signer), x509.CertificateRequest{})
	_, _, err = a.as(nil).join(unused, request)
	wantCode(t, "a token of before", err, codes.PermissionDenied)
	a.nothingLeaked("", c.sameNamespace, c.foreign, c.foreignMap, c.foreignPod)
	if v := mustMetric(t, s.edge.http, "tombolo_edge_connected"); v != 1 {
		t.Error("the other edge is gone, too")
	}
}

// everythingIn reads all files of a directory.
func everythingIn(t *testing.T, dir string) (all []byte) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, data...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// thiefEdgeScope and testsEdgeScope are thiefScopes as objects.
const (
	thiefEdgeScope = `{"apiVersion":"tombolo.dev/v1alpha1","kind":"EdgeScope","metadata":{"name":"thief"},"spec":{"rules":[
		{"resource":"configmaps","namespaces":["thief"]}]}}`
	testsEdgeScope = `{"apiVersion":"tombolo.dev/v1alpha1","kind":"EdgeScope","metadata":{"name":"tests"},"spec":{"rules":[
		{"resource":"pods","boundToNode":"spec.nodeName"},{"resource":"configmaps","namespaces":["default"]}]}}`
)

// TestEdgeSitesBarEdgesUnderLoad bars an edge in each way that an EdgeSite has, while another one is held to all guarantees.
func TestEdgeSitesBarEdgesUnderLoad(t *testing.T) {
	s := newTrustedSiteOf(t, hubConfig{sites: true, args: []string{"--log-format", "json"}})
	s.cloud.create(t, edgeScopes, "", testsEdgeScope)
	s.cloud.create(t, edgeScopes, "", thiefEdgeScope)
	s.cloud.create(t, edgeSites, "", edgeSite("edge-1", `{"scopes":["tests"],"nodes":["node-1"]}`))
	s.cloud.create(t, edgeSites, "", edgeSite("thief", `{"scopes":["thief"]}`))
	s.startEdge()
	s.sources(configMaps, pods)
	s.watch(s.local, configMaps, guarantee.ReaderConfig{NeverExpires: true}, nil)
	s.watch(s.local, pods, guarantee.ReaderConfig{NeverExpires: true}, nil)
	sessions := mustMetric(t, s.edge.http, "tombolo_edge_sessions_total")
	l := startLoad(t, s.history, s.cloud, seed(t), 50, loadKinds...)
	a := newAdversary(s, "thief")
	spec := func(patch string) {
		t.Helper()
		got, err := s.cloud.patch(t.Context(), edgeSites.object("thief"), []byte(patch))
		if err != nil || got.status != http.StatusOK {
			t.Fatalf("%s: %d %s %v", patch, got.status, got.body, err)
		}
	}

	b := a.drive()
	spec(`{"spec":{"suspended":true}}`)
	b.thrownOut("suspended")
	b.refusedEverything("suspended")
	a.awaitRefusal("disconnect", "thief", "suspended")
	a.refusedToJoin("suspended")
	spec(`{"spec":{"suspended":false}}`)
	eventually(t, a.letIn)

	b = a.drive()
	spec(fmt.Sprintf(`{"spec":{"certificatesNotBefore":%q}}`, time.Now().UTC().Format(time.RFC3339)))
	b.thrownOut("an old certificate")
	b.refusedEverything("an old certificate")
	eventually(t, func() error { // a new certificate is good, once this second is over
		fresh := newAdversary(s, "thief")
		if err := fresh.letIn(); err != nil {
			return err
		}
		a.cert = fresh.cert
		return nil
	})

	b = a.drive()
	got, err := s.cloud.do(t.Context(), http.MethodDelete, edgeSites.object("thief"), nil)
	if err != nil || got.status != http.StatusOK {
		t.Fatal(got.status, err)
	}
	b.thrownOut("deleted")
	b.refusedEverything("deleted")
	a.refusedToJoin("deleted")

	l.awaitCount(50)
	l.stop()
	s.settle(configMaps, pods)
	if n := mustMetric(t, s.edge.http, "tombolo_edge_sessions_total"); n != sessions {
		t.Errorf("the other edge had %g sessions meanwhile", n-sessions)
	}
}

// letIn tells why there is no session to be had.
func (a *adversary) letIn() error {
	_, err := a.talk(sayHello(greeting("thief"))).until(func(m *tombolov1.SyncResponse) bool { return m.GetWelcome() != nil })
	return err
}

func (a *adversary) refusedToJoin(what string) {
	a.t.Helper()
	request := signingRequest(a.t, a.cert.PrivateKey.(crypto.Signer), x509.CertificateRequest{})
	_, l, err := a.as(nil).join(a.site.tokenText("thief"), request)
	wantCode(a.t, what+": to join", err, codes.PermissionDenied)
	l.awaitClosed(what + ": to join")
}
