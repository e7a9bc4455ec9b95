//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

const (
	// inquiriesInCI is how many inquiries are sent unless TOMBOLO_E2E_INQUIRIES says otherwise.
	inquiriesInCI = 3000
	// inquirers is how many inquiries are under way at once. Most of them wait: watches for their end, reads of the future.
	inquirers = 48
	// watchFor is how long watches last. What is written in the first watchMark of that has to be in the stream.
	watchFor, watchMark = 6 * time.Second, 2 * time.Second
	// shownDifferences is how many differences are reported before the test gives up.
	shownDifferences = 25
)

// everythingOf lets an edge hold all objects of the subjects, so that the cloud's answers need no narrowing.
func everythingOf(all []subject) string {
	scopes := "scopes:\n- name: all\n  edges: [\"edge-*\"]\n  rules:\n"
	for _, s := range all {
		group := ""
		if s.prefix != "/api/v1" {
			group = fmt.Sprintf("group: %s, ", s.name[len(s.plural)+1:])
		}
		scopes += fmt.Sprintf("  - {%sresource: %s}\n", group, s.plural)
	}
	return scopes
}

// differ sends inquiries to a cloud and an edge, and compares.
type differ struct {
	*inquirer
	cloud, edge *api
	written     atomic.Uint64 // the newest revision that a write was answered with

	inquiries, events, gone atomic.Int64
}

// TestSameAnswersAsTheCloud sends generated reads to the kube-apiserver and to an edge while objects change, and
// compares status, headers and bodies.
func TestSameAnswersAsTheCloud(t *testing.T) {
	c := sharedCluster(t)
	cloud := kubeAPI(t, c)
	fillDifferential(t, cloud, c)
	s, _ := newKubeSite(t, everythingOf(subjects))
	d := &differ{
		inquirer: &inquirer{rng: rand.New(rand.NewPCG(seed(t), 1)), tokens: map[string][]string{}},
		cloud:    raw(t, cloud), edge: raw(t, &api{name: "edge", base: s.local.base, client: &http.Client{Transport: asAdmin{}}}),
	}
	for _, r := range subjects {
		awaitSameItems(t, s.local, r.path(""), cloud, r.path(""))
		rev, err := strconv.ParseUint(s.local.list(t, r.path("")+"?resourceVersion=0").Metadata.ResourceVersion, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		d.base = max(d.base, rev)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var writer sync.WaitGroup
	writer.Go(func() { d.write(ctx, t) })
	d.run(t, inquiryCount(t))
	cancel()
	writer.Wait()
	t.Logf("%d inquiries, %d events of watches, %d answers that could not be checked because their revision was compacted",
		d.inquiries.Load(), d.events.Load(), d.gone.Load())
	if d.events.Load() == 0 || d.gone.Load() > d.inquiries.Load()/100 {
		t.Error("too little was compared")
	}
}

func inquiryCount(t *testing.T) int {
	text := os.Getenv("TOMBOLO_E2E_INQUIRIES")
	if text == "" {
		return inquiriesInCI
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("TOMBOLO_E2E_INQUIRIES: %v", err)
	}
	return n
}

// asAdmin sends requests to an edge as the admin of the cloud.
type asAdmin struct{}

var plainTransport = &http.Transport{MaxIdleConnsPerHost: 2 * inquirers, DisableCompression: true}

// RoundTrip adds the admin's token.
func (asAdmin) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+cluster.AdminToken)
	return plainTransport.RoundTrip(r)
}

// raw is the API with answers as they come: not decompressed, no redirect followed.
func raw(t *testing.T, a *api) *api {
	client := *a.client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	t.Cleanup(plainTransport.CloseIdleConnections)
	return &api{name: a.name, base: a.base, client: &client}
}

// run sends n inquiries.
func (d *differ) run(t *testing.T, n int) {
	jobs := make(chan inquiry)
	var wg sync.WaitGroup
	var bad atomic.Int64
	for range inquirers {
		wg.Go(func() {
			for p := range jobs {
				d.inquiries.Add(1)
				if err := d.compare(t.Context(), p); err != nil && bad.Add(1) <= shownDifferences {
					t.Errorf("%s\n%v", p, err)
				}
			}
		})
	}
	for range n {
		if bad.Load() >= shownDifferences {
			break
		}
		jobs <- d.next()
	}
	close(jobs)
	wg.Wait()
	if n := bad.Load(); n > 0 {
		t.Errorf("%d of %d answers differ", n, d.inquiries.Load())
	}
}

// fillDifferential creates what the inquiries are about.
func fillDifferential(t *testing.T, cloud *api, c *cluster.Cluster) {
	t.Helper()
	if got, err := cloud.do(t.Context(), http.MethodPost, definitions.path(""), []byte(widgetDefinition)); err != nil ||
		got.status != http.StatusCreated && got.status != http.StatusConflict {
		t.Fatal(got.status, err)
	}
	runKubectl(t, c, "", "wait", "--for=condition=Established", "crd/widgets.ex.io")
	for _, ns := range []string{"diff-a", "diff-b"} {
		cloud.create(t, namespaces, "", fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q,"labels":{"team":"a"}}}`, ns))
	}
	for _, n := range []string{"n-1", "n-2", "n-3"} {
		cloud.create(t, nodes, "", node(n))
	}
	for _, s := range subjects {
		if !s.namespaced {
			continue
		}
		for i := range 12 {
			cloud.create(t, s.resource, "diff-a", differentialBody(s, "diff-a", fmt.Sprintf("s-%d", i), i))
			cloud.create(t, s.resource, "diff-b", differentialBody(s, "diff-b", fmt.Sprintf("s-%d", i), i+1))
		}
	}
}

// differentialBody is an object of a subject. What n is decides about its labels and fields.
func differentialBody(s subject, namespace, name string, n int) string {
	meta := fmt.Sprintf(`"metadata":{"name":%q,"namespace":%q,"labels":{"team":%q,"n":"%d"}}`, name, namespace, []string{"a", "b", "c"}[n%3], n%5)
	switch s.plural {
	case "configmaps":
		return fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1",%s,"data":{"text":"<%d> & ünïcode"}}`, meta, n)
	case "secrets":
		return fmt.Sprintf(`{"kind":"Secret","apiVersion":"v1",%s,"type":%q,"stringData":{"k":"%d"}}`, meta, []string{"Opaque", "ex.io/x"}[n%2], n)
	case "pods":
		return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1",%s,"spec":{"nodeName":"n-%d","automountServiceAccountToken":false,`+
			`"terminationGracePeriodSeconds":0,"containers":[{"name":"c","image":"i:%d","resources":{"limits":{"cpu":"1500m","memory":"1Gi"}}}]}}`, meta, 1+n%3, n)
	case "deployments":
		return fmt.Sprintf(`{"kind":"Deployment","apiVersion":"apps/v1",%s,"spec":{"replicas":%d,"selector":{"matchLabels":{"x":"y"}},`+
			`"template":{"metadata":{"labels":{"x":"y"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, meta, n)
	case "events":
		return fmt.Sprintf(`{"kind":"Event","apiVersion":"v1",%s,"involvedObject":{"kind":"Pod","namespace":%q,"name":"s-%d"},"reason":%q,"type":%q,`+
			`"source":{"component":"kubelet"},"firstTimestamp":"2026-01-02T03:04:05Z","lastTimestamp":"2026-01-02T03:05:05Z","count":%d}`,
			meta, namespace, n, []string{"Pulled", "Failed"}[n%2], []string{"Normal", "Warning"}[n%2], n+1)
	case "leases":
		return fmt.Sprintf(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1",%s,"spec":{"holderIdentity":"h%d","renewTime":"2026-01-02T03:04:05.678901Z"}}`, meta, n)
	case "services":
		return fmt.Sprintf(`{"kind":"Service","apiVersion":"v1",%s,"spec":{"clusterIP":"None","ports":[{"port":%d,"name":"p"}]}}`, meta, 80+n)
	default:
		return fmt.Sprintf(`{"kind":"Widget","apiVersion":"ex.io/v1",%s,"spec":{"color":%q,"size":%d}}`, meta, []string{"red", "blue"}[n%2], n)
	}
}

// write creates, changes and deletes objects until ctx ends.
func (d *differ) write(ctx context.Context, t *testing.T) {
	rng := rand.New(rand.NewPCG(seed(t), 2))
	for n := 0; ctx.Err() == nil; n++ {
		s := pick(rng, subjects)
		if !s.namespaced {
			continue
		}
		ns, name := pick(rng, []string{"diff-a", "diff-b"}), fmt.Sprintf("w-%d", rng.IntN(4))
		d.writeOne(ctx, t, s, ns, name, n)
		select {
		case <-ctx.Done():
		case <-time.After(40 * time.Millisecond):
		}
	}
}

// writeOne creates an object, or deletes it when it is there.
func (d *differ) writeOne(ctx context.Context, t *testing.T, s subject, ns, name string, n int) {
	body := []byte(differentialBody(s, ns, name, n))
	got, err := d.cloud.do(ctx, http.MethodPost, s.path(ns), body)
	if err == nil && got.status == http.StatusConflict {
		got, err = d.cloud.do(ctx, http.MethodDelete, s.object(ns+"/"+name)+"?gracePeriodSeconds=0", nil)
	}
	switch {
	case ctx.Err() != nil:
	case err != nil:
		t.Error(err)
	case got.status >= 300:
		t.Errorf("write of %s %s/%s: %d %s", s.name, ns, name, got.status, got.body)
	default:
		if rev := bodyRevision(got.body); rev > d.written.Load() {
			d.written.Store(rev)
			d.saw(rev)
		}
	}
}
