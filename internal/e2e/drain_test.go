//go:build e2e

package e2e

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// logSource stands for a kubelet that has a container's log, which goes on until it is ended.
type logSource struct {
	*httptest.Server
	end chan struct{}
}

func newLogSource(t *testing.T) *logSource {
	t.Helper()
	k := &logSource{end: make(chan struct{})}
	k.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for n := 0; ; n++ {
			fmt.Fprintln(w, "line", n)
			_ = http.NewResponseController(w).Flush()
			select {
			case <-k.end:
				fmt.Fprintln(w, "the end")
				return
			case <-r.Context().Done():
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}))
	t.Cleanup(k.Close)
	return k
}

// node is a node of the cluster whose kubelet this is.
func (k *logSource) node(t *testing.T, name string) string {
	t.Helper()
	u, err := url.Parse(k.URL)
	if err != nil {
		t.Fatal(err)
	}
	host, port, err := net.SplitHostPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf(`{"kind":"Node","apiVersion":"v1","metadata":{"name":%q},"status":{"addresses":[{"type":"InternalIP","address":%q}],`+
		`"daemonEndpoints":{"kubeletEndpoint":{"Port":%s}}}}`, name, host, port)
}

// TestLogsGoOnWhileTheHubDrains: an edge whose hub is told to end goes to another one, a log that is followed over the old
// connection is not cut, and the old hub ends when that does.
func TestLogsGoOnWhileTheHubDrains(t *testing.T) {
	const ns = "drain"
	c := sharedCluster(t)
	cloud := kubeAPI(t, c)
	scopes := inNamespace(t, cloud, ns)
	kubelet := newLogSource(t)
	for _, create := range []throughCall{
		{"POST /api/v1/nodes", "", kubelet.node(t, "drain-node")},
		{"POST " + core + "/serviceaccounts", "", `{"metadata":{"name":"of-pod"}}`},
		{"POST " + core + "/pods", "", `{"metadata":{"name":"p"},"spec":{"nodeName":"drain-node","serviceAccountName":"of-pod",` +
			`"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i"}]}}`},
	} {
		if code, body := create.ask(t, cloud, ns, cluster.AdminToken); code != http.StatusCreated {
			t.Fatalf("%s: %d %s", create.request, code, body)
		}
	}
	hubs := [2]*hub{}
	for i := range hubs {
		hubs[i] = newHub(t, hubConfig{name: fmt.Sprint("cloudhub-", i), kubeconfig: c.Kubeconfig, scopes: scopes})
		hubs[i].start()
	}
	e := newEdge(t, "edge-1", nil, hubs[0].sync, hubs[1].sync)
	e.start()
	e.awaitContact(true)
	first, second := sessionsAt(t, hubs)

	lines := followLog(t, e.url+"/api/v1/namespaces/"+ns+"/pods/p/log?follow=true")
	next := 0
	follow := func(n int) {
		t.Helper()
		for range n {
			if !lines.Scan() || lines.Text() != fmt.Sprint("line ", next) {
				t.Fatalf("%q (%v) instead of line %d", lines.Text(), lines.Err(), next)
			}
			next++
		}
	}
	follow(10)
	first.signal(syscall.SIGTERM)
	awaitMetric(t, second.http, "tombolo_hub_sessions", func(v float64) bool { return v == 1 })
	follow(200) // long after the moment that calls had without another hub
	first.alive()
	e.awaitContact(true)
	close(kubelet.end)
	for lines.Scan() && lines.Text() != "the end" {
		next++
	}
	if lines.Text() != "the end" || lines.Scan() || lines.Err() != nil {
		t.Errorf("the log ends with %q, %v", lines.Text(), lines.Err())
	}
	select {
	case <-first.p.Exited():
		if code := first.p.ExitCode(); code != 0 {
			t.Errorf("the hub that was drained has exit code %d", code)
		}
		first.p = nil
	case <-time.After(patience):
		t.Error("the hub that was drained does not end")
	}
}

// sessionsAt returns the hub that the one edge is at, and the other one.
func sessionsAt(t *testing.T, hubs [2]*hub) (with, without *hub) {
	t.Helper()
	if mustMetric(t, hubs[0].http, "tombolo_hub_sessions") == 1 {
		return hubs[0], hubs[1]
	}
	return hubs[1], hubs[0]
}

func followLog(t *testing.T, url string) *bufio.Scanner {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+cluster.AdminToken)
	resp, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	return bufio.NewScanner(resp.Body)
}
