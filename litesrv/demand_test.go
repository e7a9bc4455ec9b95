package litesrv

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// supply is where a server gets what its backend does not hold.
type supply struct {
	asked atomic.Int32
	give  func(ctx context.Context, gvr schema.GroupVersionResource) (*watchlog.Log, error)
}

func (u *supply) demand(ctx context.Context, gvr schema.GroupVersionResource) (*watchlog.Log, error) {
	u.asked.Add(1)
	return u.give(ctx, gvr)
}

// passed answers for the cloud.
var passed = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })

// demanding is a server over the described world that gets what is missing from give.
func demanding(w *world, give func(context.Context, schema.GroupVersionResource) (*watchlog.Log, error)) (*Server, *supply) {
	u := &supply{give: give}
	return w.server(func(c *Config) { c.Demand, c.Fallback = u.demand, passed }), u
}

// brought returns a log that is not in the world's backend, as if it had been brought by demand.
func brought(w *world, r *watchlog.Resource, things ...thing) *watchlog.Log {
	l := w.load(r, things...)
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.logs, r.GroupVersionResource())
	return l
}

func TestReadsOfWhatCanBeHadOnDemand(t *testing.T) {
	w := described(t)
	d := thing{ns: "t1", name: "d1"}
	logs := map[schema.GroupVersionResource]*watchlog.Log{
		deployments.GroupVersionResource(): brought(w, deployments, d),
		gizmos.GroupVersionResource():      brought(w, gizmos, thing{name: "g1"}),
	}
	s, u := demanding(w, func(_ context.Context, gvr schema.GroupVersionResource) (*watchlog.Log, error) { return logs[gvr], nil })
	want(t, get(t, s, "/apis/apps/v1/deployments"), 200, list(deployments, 100, "", d.item(deployments, 100)))
	want(t, get(t, s, "/apis/apps/v1/namespaces/t1/deployments/d1"), 200, d.json(deployments, 100)+"\n")
	want(t, get(t, s, "/apis/ex.io/v1/gizmos"), 200, list(gizmos, 100, "", thing{name: "g1"}.item(gizmos, 100)))
	if got := get(t, s, "/apis/apps/v1/deployments?watch=1&timeoutSeconds=-1"); got.Code != 200 {
		t.Errorf("watch: %d %s", got.Code, got.Body)
	}
	if n := u.asked.Load(); n != 4 {
		t.Errorf("asked %d times", n)
	}
}

// TestOnlyReadsOfWatchableResourcesAreDemands: all else is answered as if there were nothing to be had.
func TestOnlyReadsOfWatchableResourcesAreDemands(t *testing.T) {
	s, u := demanding(described(t), func(context.Context, schema.GroupVersionResource) (*watchlog.Log, error) {
		return nil, errors.New("nobody asks for this")
	})
	for _, c := range []struct {
		method, path string
		code         int
	}{
		{http.MethodPost, "/apis/apps/v1/namespaces/t1/deployments", http.StatusTeapot},
		{http.MethodGet, "/apis/apps/v1/namespaces/t1/deployments/d1/scale", http.StatusTeapot},
		{http.MethodGet, "/api/v1/namespaces/t1/bindings", http.StatusMethodNotAllowed},
		{http.MethodGet, "/apis/apps/v1/nothings", http.StatusTeapot},
		{http.MethodGet, "/apis/apps/v2/deployments", http.StatusTeapot},
		{http.MethodGet, "/apis/no.io/v1/nothings", http.StatusTeapot},
		{http.MethodGet, "/api/v1/configmaps", http.StatusOK},
	} {
		if got := call(t, s, c.method, c.path); got.Code != c.code {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.Code, got.Body)
		}
	}
	if n := u.asked.Load(); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

func TestWhatIsNotToBeHadIsPassedOn(t *testing.T) {
	s, _ := demanding(described(t), func(context.Context, schema.GroupVersionResource) (*watchlog.Log, error) {
		return nil, errors.New("refused")
	})
	for _, path := range []string{
		"/api/v1/secrets", "/api/v1/namespaces/t1/secrets/a", "/api/v1/secrets?watch=1", "/apis/apps/v1/deployments",
	} {
		if got := get(t, s, path); got.Code != http.StatusTeapot || got.Header().Get("Audit-Id") != "" {
			t.Errorf("%s: %d %v", path, got.Code, got.Header())
		}
	}
}

func TestWaitForWhatIsDemandedIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := described(t)
		s, _ := demanding(w, func(ctx context.Context, _ schema.GroupVersionResource) (*watchlog.Log, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		began := time.Now()
		if got := get(t, s, "/apis/apps/v1/deployments"); got.Code != http.StatusTeapot || time.Since(began) != demandWait {
			t.Errorf("%d after %s", got.Code, time.Since(began))
		}
	})
}
