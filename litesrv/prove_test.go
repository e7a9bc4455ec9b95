package litesrv

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// fakeProver answers as a test says, and notes what it was asked.
type fakeProver struct {
	prove func(part Part, minRev uint64) (uint64, error)
	asked []string
}

func (p *fakeProver) Prove(_ context.Context, gvr schema.GroupVersionResource, part Part, minRev uint64) (uint64, error) {
	p.asked = append(p.asked, fmt.Sprintf("%s %+v %d", gvr.Resource, part, minRev))
	return p.prove(part, minRev)
}

// take returns what was asked since the last call.
func (p *fakeProver) take() []string {
	asked := p.asked
	p.asked = nil
	return asked
}

var errNoProof = errors.New("no proof")

// provenWorld is a world of ConfigMaps with a prover that takes the log's position for proved.
func provenWorld(t *testing.T, set ...func(*Config)) (*world, *watchlog.Log, *fakeProver, *Server) {
	t.Helper()
	w := newWorld(t, 100)
	l := w.load(configmaps, thing{ns: "t1", name: "c1", labels: `"app":"a"`}, thing{ns: "t2", name: "c2"})
	p := &fakeProver{prove: func(Part, uint64) (uint64, error) { return l.Rev(), nil }}
	s := w.server(append(set, func(c *Config) { c.Prover = p })...)
	s.freshWait = 50 * time.Millisecond
	return w, l, p, s
}

func TestWhatIsProved(t *testing.T) {
	_, _, p, s := provenWorld(t)
	const base = "/api/v1"
	for _, c := range []struct{ path, want string }{
		{"/namespaces/t1/configmaps/c1", "{Namespace:t1 Name:c1 LabelSelector: FieldSelector:}"},
		{"/namespaces/t1/configmaps/nope", "{Namespace:t1 Name:nope LabelSelector: FieldSelector:}"},
		{"/namespaces/t1/configmaps", "{Namespace:t1 Name: LabelSelector: FieldSelector:}"},
		{"/configmaps?limit=1", "{Namespace: Name: LabelSelector: FieldSelector:}"},
		{"/configmaps?labelSelector=app%3Da", "{Namespace: Name: LabelSelector:app=a FieldSelector:}"},
		{"/configmaps?fieldSelector=metadata.namespace%3Dt1", "{Namespace:t1 Name: LabelSelector: FieldSelector:metadata.namespace=t1}"},
		{"/namespaces/t1/configmaps?fieldSelector=metadata.name%3Dc1", "{Namespace:t1 Name:c1 LabelSelector: FieldSelector:}"},
		{"/configmaps?continue=" + encodeContinue(-1, "/t1/c1\x00"), "{Namespace: Name: LabelSelector: FieldSelector:}"},
		{"/configmaps?watch=1&timeoutSeconds=-1", "{Namespace: Name: LabelSelector: FieldSelector:}"},
		{"/configmaps?watch=1&timeoutSeconds=-1&sendInitialEvents=false&resourceVersionMatch=NotOlderThan", "{Namespace: Name: LabelSelector: FieldSelector:}"},
		{"/namespaces/t1/configmaps?watch=1&timeoutSeconds=-1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "{Namespace:t1 Name: LabelSelector: FieldSelector:}"},
		{"/configmaps?resourceVersion=0", ""},
		{"/configmaps?resourceVersion=100", ""},
		{"/configmaps?resourceVersion=100&resourceVersionMatch=Exact", ""},
		{"/configmaps?watch=1&timeoutSeconds=-1&resourceVersion=0", ""},
		{"/configmaps?watch=1&timeoutSeconds=-1&resourceVersion=100", ""},
		{"/namespaces/t1/configmaps/c1?resourceVersion=0", ""},
	} {
		w := get(t, s, base+c.path)
		asked := p.take()
		if c.want != "" {
			c.want = "configmaps " + c.want + " 0"
		}
		if got := strings.Join(asked, "; "); got != c.want {
			t.Errorf("%s: asked %q, want %q (%d %s)", c.path, got, c.want, w.Code, w.Body)
		}
		if h := w.Header().Get("Warning"); h != "" {
			t.Errorf("%s: %s", c.path, h)
		}
	}
}

func encodeContinue(rev int64, start string) string {
	return continueToken{Rev: rev, Start: start}.encode()
}

// TestAnswerIsOfTheProvedPosition: what the log has behind it may be half of something.
func TestAnswerIsOfTheProvedPosition(t *testing.T) {
	w, l, p, s := provenWorld(t)
	at := l.Rev()
	p.prove = func(Part, uint64) (uint64, error) { return at, nil }
	w.write(l, thing{ns: "t1", name: "brief"})
	got := get(t, s, "/api/v1/namespaces/t1/configmaps")
	if body := got.Body.String(); strings.Contains(body, "brief") || !strings.Contains(body, `"resourceVersion":"100"},"items"`) {
		t.Errorf("got %s", body)
	}
	if got := get(t, s, "/api/v1/namespaces/t1/configmaps/brief"); got.Code != http.StatusNotFound {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

func TestWarningsSayThatThereIsNoProof(t *testing.T) {
	const list = "/api/v1/configmaps"
	last := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	contact := func(c *Config) { c.LastContact = func() time.Time { return last } }
	w, l, p, s := provenWorld(t, contact)
	p.prove = func(Part, uint64) (uint64, error) { return 0, errNoProof }
	const warning = `299 - "may be behind the cloud: last contact 2026-01-02T03:04:05Z, resourceVersion 100"`
	for _, path := range []string{list, "/api/v1/namespaces/t1/configmaps/c1", list + "?watch=1&timeoutSeconds=-1"} {
		if got := get(t, s, path); got.Code != http.StatusOK || got.Header().Get("Warning") != warning {
			t.Errorf("%s without proof: %d %v", path, got.Code, got.Header())
		}
	}
	if got := get(t, s, list+"?resourceVersion=0"); got.Header().Get("Warning") != "" {
		t.Errorf("a read of any state: %v", got.Header())
	}
	p.prove = func(Part, uint64) (uint64, error) {
		l.SetLost(last)
		return l.Rev(), nil
	}
	if got := get(t, s, list); got.Header().Get("Warning") != "" {
		t.Errorf("proved, and lost since: %v", got.Header())
	}
	p.take()
	if got := get(t, s, list); got.Header().Get("Warning") != warning || len(p.take()) > 0 {
		t.Errorf("lost: %v", got.Header())
	}
	l.SetFollowing()
	local := w.server(contact, func(c *Config) { c.Prover, c.LocalReads = p, true })
	if got := get(t, local, list); got.Header().Get("Warning") != warning || len(p.take()) > 0 {
		t.Errorf("local: %v", got.Header())
	}
}

// TestRevisionSeenElsewhere: a revision ahead of the log is asked for, and refused as before when it does not come.
func TestRevisionSeenElsewhere(t *testing.T) {
	w, l, p, s := provenWorld(t)
	p.prove = func(_ Part, minRev uint64) (uint64, error) {
		for l.Rev() < minRev {
			w.bookmark(l)
		}
		return l.Rev(), nil
	}
	for i, path := range []string{
		"/configmaps?resourceVersion=%d", "/configmaps?resourceVersion=%d&resourceVersionMatch=Exact",
		"/namespaces/t1/configmaps/c1?resourceVersion=%d", "/configmaps?limit=1&resourceVersion=%d",
	} {
		rev := l.Rev() + 5
		got := get(t, s, "/api/v1"+fmt.Sprintf(path, rev))
		if asked := p.take(); got.Code != http.StatusOK || len(asked) != 1 || !strings.HasSuffix(asked[0], fmt.Sprint(" ", rev)) {
			t.Errorf("%d: %d %s, asked %v", i, got.Code, got.Body, asked)
		}
	}
	p.prove = func(Part, uint64) (uint64, error) { return 0, errNoProof }
	if got := get(t, s, fmt.Sprintf("/api/v1/configmaps?resourceVersion=%d", l.Rev()+5)); got.Code != http.StatusGatewayTimeout {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
}

// cloudOf is a Fallback that answers every request alike.
func cloudOf(code int, contentType, body string) func(*Config) {
	return func(c *Config) {
		c.Fallback = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
			_ = http.NewResponseController(w).Flush()
		})
	}
}

func configMapAt(name string, rev uint64) string {
	return thing{ns: "t1", name: name}.json(configmaps, rev)
}

func TestWritesAreAwaited(t *testing.T) {
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}}
	o := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "t1", Name: "new", ResourceVersion: "105"}}
	unknown.Raw, _ = o.Marshal()
	proto, _ := unknown.Marshal()
	const c1 = "{Namespace:t1 Name:c1 LabelSelector: FieldSelector:}"
	for name, c := range map[string]struct {
		method, path string
		code         int
		kind, body   string
		want         string // what is asked; "" for nothing
	}{
		"create":            {"POST", "/configmaps", 201, "application/json", configMapAt("new", 105), "{Namespace:t1 Name:new LabelSelector: FieldSelector:} 105"},
		"create, protobuf":  {"POST", "/configmaps", 201, "application/vnd.kubernetes.protobuf", "k8s\x00" + string(proto), "{Namespace:t1 Name:new LabelSelector: FieldSelector:} 105"},
		"update":            {"PUT", "/configmaps/c1", 200, "application/json", configMapAt("c1", 105), c1 + " 105"},
		"patch":             {"PATCH", "/configmaps/c1", 200, "application/json", configMapAt("c1", 105), c1 + " 105"},
		"nothing to do":     {"PATCH", "/configmaps/c1", 200, "application/json", configMapAt("c1", 100), ""},
		"delete":            {"DELETE", "/configmaps/c1", 200, "application/json", configMapAt("c1", 100), c1 + " 0"},
		"delete, Status":    {"DELETE", "/configmaps/c1", 200, "application/json", `{"kind":"Status","metadata":{},"status":"Success"}`, c1 + " 0"},
		"delete many":       {"DELETE", "/configmaps?labelSelector=a", 200, "application/json", `{"kind":"ConfigMapList","metadata":{"resourceVersion":"90"}}`, "{Namespace:t1 Name: LabelSelector:a FieldSelector:} 0"},
		"delete by fields":  {"DELETE", "/configmaps?fieldSelector=only.the=cloud", 200, "application/json", `{"kind":"ConfigMapList","metadata":{"resourceVersion":"90"}}`, "{Namespace:t1 Name: LabelSelector: FieldSelector:} 0"},
		"not readable":      {"POST", "/configmaps", 201, "application/json", `{`, "{Namespace:t1 Name: LabelSelector: FieldSelector:} 0"},
		"too large to hold": {"PUT", "/configmaps/c1", 200, "application/json", strings.Repeat(" ", maxWritten+1), c1 + " 0"},
		"refused":           {"PUT", "/configmaps/c1", 409, "application/json", `{"kind":"Status"}`, ""},
		"dry run":           {"PUT", "/configmaps/c1?dryRun=All", 200, "application/json", configMapAt("c1", 105), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, l, p, s := provenWorld(t, cloudOf(c.code, c.kind, c.body))
			rec := httptest.NewRecorder()
			p.prove = func(Part, uint64) (uint64, error) {
				if rec.Body.Len() > 0 || rec.Flushed {
					t.Error("the answer went out before the log had the write")
				}
				return l.Rev(), nil
			}
			s.ServeHTTP(rec, httptest.NewRequest(c.method, "/api/v1/namespaces/t1"+c.path, nil))
			want := ""
			if c.want != "" {
				want = "configmaps " + c.want
			}
			if got := strings.Join(p.take(), "; "); got != want {
				t.Errorf("asked %q, want %q", got, want)
			}
			if rec.Code != c.code || rec.Body.String() != c.body || rec.Header().Get("Content-Type") != c.kind {
				t.Errorf("answered %d %.100q %v", rec.Code, rec.Body, rec.Header())
			}
		})
	}
}

// TestSubresourcesAreAwaited: those that change an object, and not those that are streams.
func TestSubresourcesAreAwaited(t *testing.T) {
	for sub, want := range map[string]bool{
		"status": true, "eviction": true, "binding": true, "exec": false, "attach": false, "portforward": false, "proxy": false,
	} {
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		if got := isWrite(r, target{subresource: sub}); got != want {
			t.Errorf("%s: %t", sub, got)
		}
	}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	r.Header.Set("Upgrade", "SPDY/3.1")
	if isWrite(r, target{}) || isWrite(httptest.NewRequest(http.MethodGet, "/", nil), target{}) {
		t.Error("an upgrade or a GET is no write")
	}
}

// TestUnprovedWriteIsADebt: when the log could not be shown to have a write, the next read has to see to that, whatever
// revision it asks for, until one could.
func TestUnprovedWriteIsADebt(t *testing.T) {
	const anyState = "/api/v1/namespaces/t1/configmaps?resourceVersion=0"
	w, l, p, s := provenWorld(t, cloudOf(200, "application/json", configMapAt("c1", 101)), func(c *Config) { c.LocalReads = true })
	p.prove = func(Part, uint64) (uint64, error) { return 0, errNoProof }
	if got := call(t, s, http.MethodPut, "/api/v1/namespaces/t1/configmaps/c1"); got.Code != http.StatusOK {
		t.Fatalf("got %d", got.Code)
	}
	p.take()
	for range 2 {
		if got := get(t, s, anyState); got.Header().Get("Warning") == "" || len(p.take()) != 1 {
			t.Errorf("no Warning, or no attempt: %v", got.Header())
		}
	}
	call(t, s, http.MethodDelete, "/api/v1/namespaces/t1/configmaps/c2")
	p.take()
	p.prove = func(Part, uint64) (uint64, error) {
		return w.write(l, thing{ns: "t1", name: "c1", rest: `,"data":{"a":"b"}`}), nil
	}
	got := get(t, s, anyState)
	if asked := p.take(); len(asked) != 1 || asked[0] != "configmaps {Namespace:t1 Name: LabelSelector: FieldSelector:} 0" {
		t.Errorf("asked %v", asked)
	}
	if got.Header().Get("Warning") != "" || !strings.Contains(got.Body.String(), `"a":"b"`) {
		t.Errorf("got %s %v", got.Body, got.Header())
	}
	if get(t, s, anyState); len(p.take()) != 0 {
		t.Error("the debt stays")
	}
}

// TestDebtIsPaidByTheLog: a log that has come to a write by itself needs no proof.
func TestDebtIsPaidByTheLog(t *testing.T) {
	w, l, p, s := provenWorld(t, cloudOf(200, "application/json", configMapAt("c1", 101)))
	p.prove = func(Part, uint64) (uint64, error) { return 0, errNoProof }
	call(t, s, http.MethodPut, "/api/v1/namespaces/t1/configmaps/c1")
	w.write(l, thing{ns: "t1", name: "c1"})
	p.take()
	if got := get(t, s, "/api/v1/configmaps?resourceVersion=0"); got.Header().Get("Warning") != "" || len(p.take()) != 0 {
		t.Errorf("got %v", got.Header())
	}
	if s.debts.count.Load() != 0 {
		t.Error("the debt stays")
	}
}

// TestWriteOfWhatIsNotHeldIsADebt: a resource that comes here after it was written may come in an older state, and so may one
// that was written in another version. Its first read has to find the proof.
func TestWriteOfWhatIsNotHeldIsADebt(t *testing.T) {
	for name, written := range map[string]string{"on demand": "/apis/apps/v1", "in another version": "/apis/apps/v1beta9"} {
		t.Run(name, func(t *testing.T) {
			w := described(t)
			l := brought(w, deployments, thing{ns: "t1", name: "d0"})
			p := &fakeProver{prove: func(Part, uint64) (uint64, error) { return 0, errNoProof }}
			s := w.server(cloudOf(201, "application/json", thing{ns: "t1", name: "d1"}.json(deployments, 101)), func(c *Config) {
				c.Prover = p
				c.Demand = func(context.Context, schema.GroupVersionResource) (*watchlog.Log, error) { return l, nil }
			})
			if got := call(t, s, http.MethodPost, written+"/namespaces/t1/deployments"); got.Code != http.StatusCreated {
				t.Fatalf("got %d %s", got.Code, got.Body)
			}
			const anyState = "/apis/apps/v1/namespaces/t1/deployments?resourceVersion=0"
			if got := get(t, s, anyState); got.Header().Get("Warning") == "" || len(p.take()) != 1 {
				t.Errorf("no Warning, or no attempt: %v", got.Header())
			}
			p.prove = func(Part, uint64) (uint64, error) { return w.write(l, thing{ns: "t1", name: "d1"}), nil }
			got := get(t, s, anyState)
			if asked := p.take(); len(asked) != 1 || !strings.Contains(got.Body.String(), `"d1"`) || got.Header().Get("Warning") != "" {
				t.Errorf("asked %v, got %s %v", asked, got.Body, got.Header())
			}
			if get(t, s, anyState); len(p.take()) != 0 || s.debts.count.Load() != 0 {
				t.Error("the debt stays")
			}
		})
	}
}

// TestDebtsOfWhatIsNotHeldAreBounded: they don't grow with the resources that are written.
func TestDebtsOfWhatIsNotHeldAreBounded(t *testing.T) {
	var d debts
	for i := range 2 * maxUnheld {
		d.await(schema.GroupResource{Resource: strconv.Itoa(i)})
	}
	if n := d.count.Load(); n != maxUnheld {
		t.Errorf("%d are kept", n)
	}
}
