package inproc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/edgehub/demand"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	podsOnDemand = `{scopes: [{name: s, edges: ["*"], rules: [{resource: pods, onDemand: true}]}]}`
	anyOnDemand  = `{scopes: [{name: s, edges: ["*"], rules: [{group: "*", resource: "*", onDemand: true}]}]}`
	nodesOnly    = `{scopes: [{name: s, edges: ["*"], rules: [{resource: nodes, onDemand: true}]}]}`
)

var nodesGVR = schema.GroupVersionResource{Version: "v1", Resource: "nodes"}

// linked waits until the edge has a hub.
func (e *edge) linked() {
	e.t.Helper()
	e.eventually("the edge is connected", func() bool { live, _ := e.Contact(); return live })
}

// demand asks for pods, as often as it takes, and returns their log.
func (e *edge) demand() *watchlog.Log {
	e.t.Helper()
	var l *watchlog.Log
	e.eventually("pods are to be had", func() bool {
		ctx, cancel := context.WithTimeout(e.t.Context(), time.Minute)
		defer cancel()
		var err error
		l, err = e.Demand(ctx, podsGVR)
		return err == nil
	})
	return l
}

// lacks waits until the edge holds no pods.
func (e *edge) lacks() {
	e.t.Helper()
	e.eventually("pods are gone", func() bool { _, err := e.Log(podsGVR); return errors.Is(err, apidoc.ErrUnknownResource) })
}

func TestDemandBringsAResource(t *testing.T) {
	for name, yaml := range map[string]string{"named": podsOnDemand, "wildcard": anyOnDemand} {
		t.Run(name, func(t *testing.T) {
			cloud := newFakeCloud(t)
			cloud.put("a", "u-a", "n")
			src := cloud.source()
			src.load()
			addr, _ := startHub(t, src, newScopes(t, yaml), "127.0.0.1:0")
			e := startEdge(t, t.TempDir(), addr)
			e.linked()
			e.eventually("an edge that holds nothing in any case is ready", func() bool { return e.Ready() == nil })
			if _, err := e.Log(podsGVR); !errors.Is(err, apidoc.ErrUnknownResource) || src.opens.Load() != 0 {
				t.Fatalf("%v, opened %d times, before anybody asked", err, src.opens.Load())
			}
			var readers sync.WaitGroup
			for range 20 {
				readers.Go(func() {
					l, err := e.Demand(t.Context(), podsGVR)
					if err != nil || !l.IsReady() {
						t.Errorf("%v", err)
						return
					}
					if _, lost := l.Lost(); lost {
						t.Error("what has just come is said to be behind")
					}
				})
			}
			readers.Wait()
			if n := src.opens.Load(); n != 1 {
				t.Errorf("opened %d times", n)
			}
			e.waitFor(cloud.put("b", "u-b", "n"))
			e.holds(cloud)
			if _, err := e.Demand(t.Context(), podsGR.WithVersion("v9")); !errors.Is(err, apidoc.ErrUnknownResource) {
				t.Errorf("another version: %v", err)
			}
		})
	}
}

func TestDemandIsRefused(t *testing.T) {
	cloud := newFakeCloud(t)
	src := cloud.source()
	src.load()
	for name, yaml := range map[string]string{"outside the scope": podsOnDemand, "unknown to the cloud": anyOnDemand} {
		t.Run(name, func(t *testing.T) {
			addr, _ := startHub(t, src, newScopes(t, yaml), "127.0.0.1:0")
			e := startEdge(t, t.TempDir(), addr)
			e.linked()
			if _, err := e.Demand(t.Context(), nodesGVR); !errors.Is(err, demand.ErrRefused) {
				t.Fatal(err)
			}
			before := src.opens.Load()
			for range 10 {
				if _, err := e.Demand(t.Context(), nodesGVR); !errors.Is(err, demand.ErrRefused) {
					t.Fatal(err)
				}
			}
			e.demand() // the session goes on
			if n := src.opens.Load() - before; n != 1 {
				t.Errorf("the hub was asked %d times more", n-1)
			}
			e.eventually("the edge is ready", func() bool { return e.Ready() == nil })
		})
	}
}

func TestDemandFollowsTheScope(t *testing.T) {
	cloud := newFakeCloud(t)
	cloud.put("a", "u-a", "n")
	src := cloud.source()
	src.load()
	sc := newScopes(t, podsOnDemand)
	addr, _ := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), addr)
	e.linked()
	l := e.demand()
	for _, yaml := range []string{allPods, anyOnDemand} {
		sc.set(t, yaml)
		e.waitFor(cloud.put("a", "u-a", "n"))
		if e.pods() != l || src.opens.Load() != 1 {
			t.Fatalf("under %s the edge began anew", yaml)
		}
	}
	sc.set(t, nodesOnly)
	e.lacks()
	if _, err := e.Demand(t.Context(), podsGVR); !errors.Is(err, demand.ErrRefused) {
		t.Error(err)
	}
	e.eventually("the hub lets go of pods", func() bool { return src.users.Load() == 0 })
}

// TestDemandOutlivesHubs: what was asked for once goes on with another hub, which knows nothing of it.
func TestDemandOutlivesHubs(t *testing.T) {
	cloud := newFakeCloud(t)
	cloud.put("a", "u-a", "n")
	src := cloud.source()
	src.load()
	sc := newScopes(t, podsOnDemand)
	addr, stop := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), addr)
	e.linked()
	l := e.demand()
	e.waitFor(cloud.put("b", "u-b", "n"))
	stop()
	cloud.remove("a")
	e.eventually("the edge is cut off", func() bool { live, _ := e.Contact(); return !live })
	if _, err := e.Demand(t.Context(), nodesGVR); !errors.Is(err, demand.ErrOffline) {
		t.Errorf("without a hub: %v", err)
	}
	again := cloud.source()
	startHub(t, again, sc, addr)
	again.load()
	e.waitFor(cloud.put("c", "u-c", "n"))
	e.holds(cloud)
	if e.pods() != l {
		t.Error("the edge began anew")
	}
}

func TestDemandOutlivesTheEdge(t *testing.T) {
	cloud := newFakeCloud(t)
	cloud.put("a", "u-a", "n")
	src := cloud.source()
	src.load()
	sc, dir := newScopes(t, podsOnDemand), t.TempDir()
	addr, stop := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, dir, addr)
	e.linked()
	e.demand()
	e.stop()
	stop()
	e = startEdge(t, dir, addr)
	e.holds(cloud) // there is no hub
	rev := cloud.put("b", "u-b", "n")
	startHub(t, src, sc, addr)
	e.waitFor(rev)
	e.holds(cloud)
}

// TestDemandIsDurableBeforeItIsMet: what was wanted comes after a restart although nobody asks again.
func TestDemandIsDurableBeforeItIsMet(t *testing.T) {
	cloud := newFakeCloud(t)
	cloud.put("a", "u-a", "n")
	src := cloud.source() // it is loading
	sc, dir := newScopes(t, podsOnDemand), t.TempDir()
	addr, _ := startHub(t, src, sc, "127.0.0.1:0")
	e := startEdge(t, dir, addr)
	e.linked()
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := e.Demand(short, podsGVR); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if _, err := e.Demand(t.Context(), podsGVR); !errors.Is(err, demand.ErrPending) {
		t.Errorf("after somebody has waited in vain: %v", err)
	}
	e.eventually("an edge is ready without what is on its way", func() bool { return e.Ready() == nil })
	e.stop()
	e = startEdge(t, dir, addr)
	src.load()
	e.holds(cloud)
}

// TestDemandEndsWithTheResource: a resource that the cloud has no more goes, and comes back when it does.
func TestDemandEndsWithTheResource(t *testing.T) {
	cloud := newFakeCloud(t)
	cloud.put("a", "u-a", "n")
	src := cloud.source()
	src.load()
	addr, _ := startHub(t, src, newScopes(t, anyOnDemand), "127.0.0.1:0")
	e := startEdge(t, t.TempDir(), addr)
	e.linked()
	l := e.demand()
	cloud.mu.Lock()
	cloud.known = false
	src.log.Close(source.ErrUnknownResource)
	cloud.mu.Unlock()
	<-l.Done()
	e.lacks()
	if _, err := e.Demand(t.Context(), podsGVR); !errors.Is(err, demand.ErrRefused) {
		t.Error(err)
	}
	cloud.mu.Lock()
	cloud.known = true
	src.log = watchlog.New(pods(), watchlog.Config{})
	cloud.mu.Unlock()
	src.load()
	changed := time.Now()
	src.docs.Replace([]apidoc.Document{{Path: "/apis", Body: apidoc.Pack([]byte("{}"))}}) // as discovery does
	e.demand()
	if time.Since(changed) >= 30*time.Second { // as long as a refusal stands otherwise
		t.Error("the documents have changed, and still it was refused")
	}
	e.holds(cloud)
}

// TestWhatTheEdgeHasInAnyCaseDoesNotExpire: a wish that was overtaken by the scope is forgotten, its resource is not.
func TestWhatTheEdgeHasInAnyCaseDoesNotExpire(t *testing.T) {
	cloud := newFakeCloud(t)
	cloud.put("a", "u-a", "n")
	src := cloud.source()
	src.load()
	sc := newScopes(t, podsOnDemand)
	addr, _ := startHub(t, src, sc, "127.0.0.1:0")
	reg := prometheus.NewRegistry()
	e := startEdgeWith(t, edgehub.Config{
		DataDir: t.TempDir(), Hubs: []string{addr}, OnDemandExpiry: 400 * time.Millisecond, Metrics: reg,
	})
	e.linked()
	l := e.demand()
	sc.set(t, allPods)
	e.eventually("the wish is forgotten", func() bool { return gauge(t, reg, "tombolo_edge_resources_on_demand") == 0 })
	e.waitFor(cloud.put("b", "u-b", "n")) // behind all that the wish's end has led to
	e.waitFor(cloud.put("c", "u-c", "n"))
	e.holds(cloud)
	if e.pods() != l || src.opens.Load() != 1 {
		t.Error("the edge began anew")
	}
}

func gauge(t *testing.T, reg *prometheus.Registry, name string) float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("no metric %s", name)
	return 0
}

// TestHostileDemands: whatever an edge asks for, it is told no, or its session ends.
func TestHostileDemands(t *testing.T) {
	cloud := newFakeCloud(t)
	src := cloud.source()
	src.load()
	addr, _ := startHub(t, src, newScopes(t, anyOnDemand), "127.0.0.1:0")
	named := func(names ...string) (all []*tombolov1.Resource) {
		for _, n := range names {
			all = append(all, &tombolov1.Resource{Resource: n})
		}
		return all
	}
	t.Run("names that are none", func(t *testing.T) {
		stream := openStream(t, addr, nil)
		ask := named("", "*", "pods/status", "../secrets", "secrets", "Pods")
		mustSend(t, stream, ask)
		for range ask {
			if u := nextUnsubscription(t, stream); u.GetReason() == "" {
				t.Errorf("%v", u)
			}
		}
		if n := src.opens.Load(); n != 0 {
			t.Errorf("%d of them were looked for", n)
		}
	})
	t.Run("the same twice", func(t *testing.T) {
		stream := openStream(t, addr, named("nodes", "nodes"))
		if u := nextUnsubscription(t, stream); u.GetResource().GetResource() != "nodes" {
			t.Errorf("%v", u)
		}
		mustSend(t, stream, named("secrets", "secrets"))
		if u := nextUnsubscription(t, stream); u.GetResource().GetResource() != "secrets" {
			t.Errorf("%v", u)
		}
	})
	for name, first := range map[string]bool{"too many at first": true, "too many later": false} {
		t.Run(name, func(t *testing.T) {
			many := make([]string, 501)
			for i := range many {
				many[i] = fmt.Sprint("r", i)
			}
			var stream tombolov1.SyncService_SyncClient
			if first {
				stream = openStream(t, addr, named(many...))
			} else {
				stream = openStream(t, addr, nil)
				mustSend(t, stream, named(many...))
			}
			for {
				if _, err := stream.Recv(); err != nil {
					if status.Code(err) != codes.InvalidArgument {
						t.Error(err)
					}
					return
				}
			}
		})
	}
}

// openStream opens a session as an edge that wants resources.
func openStream(t *testing.T, addr string, want []*tombolov1.Resource) tombolov1.SyncService_SyncClient {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+addr, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	stream, err := tombolov1.NewSyncServiceClient(conn).Sync(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{
		Hello: &tombolov1.Hello{Version: 1, Edge: "edge-1", Demand: want},
	}}); err != nil {
		t.Fatal(err)
	}
	return stream
}

func mustSend(t *testing.T, stream tombolov1.SyncService_SyncClient, want []*tombolov1.Resource) {
	t.Helper()
	if err := stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Demand{
		Demand: &tombolov1.Demand{Resources: want},
	}}); err != nil {
		t.Fatal(err)
	}
}

func nextUnsubscription(t *testing.T, stream tombolov1.SyncService_SyncClient) *tombolov1.Unsubscription {
	t.Helper()
	for {
		m, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if u := m.GetUnsubscription(); u != nil {
			return u
		}
	}
}

// TestRefusalIsDurable: what was refused is not asked for by the next session.
func TestRefusalIsDurable(t *testing.T) {
	cloud := newFakeCloud(t)
	src := cloud.source()
	src.load()
	dir := t.TempDir()
	addr, _ := startHub(t, src, newScopes(t, anyOnDemand), "127.0.0.1:0")
	e := startEdge(t, dir, addr)
	e.linked()
	if _, err := e.Demand(t.Context(), nodesGVR); !errors.Is(err, demand.ErrRefused) {
		t.Fatal(err)
	}
	e.stop()
	before := src.opens.Load()
	e = startEdge(t, dir, addr)
	e.linked()
	e.demand()
	if n := src.opens.Load() - before; n != 1 {
		t.Errorf("the hub opened %d resources", n)
	}
}

func TestDemandExpires(t *testing.T) {
	t.Parallel()
	cloud := newFakeCloud(t)
	cloud.put("a", "u-a", "n")
	src := cloud.source()
	src.load()
	addr, _ := startHub(t, src, newScopes(t, podsOnDemand), "127.0.0.1:0")
	e := startEdgeWith(t, edgehub.Config{DataDir: t.TempDir(), Hubs: []string{addr}, OnDemandExpiry: 400 * time.Millisecond})
	e.linked()
	l := e.demand()
	reader, err := l.Snapshot().NewReader(make(watchlog.Signal, 1))
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-l.Done():
		t.Fatal("it went although it is watched")
	case <-time.After(3 * time.Second): // an edge looks once a second
	}
	reader.Close()
	<-l.Done()
	e.lacks()
	e.eventually("the hub lets go of pods", func() bool { return src.users.Load() == 0 })
	e.demand()
	e.holds(cloud)
}
