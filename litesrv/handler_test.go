package litesrv

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// counted returns the value of a counter or gauge.
func counted(t *testing.T, m prometheus.Metric) float64 {
	t.Helper()
	var d dto.Metric
	if err := m.Write(&d); err != nil {
		t.Fatal(err)
	}
	return d.GetCounter().GetValue() + d.GetGauge().GetValue()
}

func TestHeadersOfEveryAnswer(t *testing.T) {
	w := described(t)
	s := w.server()
	uuid := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for _, path := range []string{"/api/v1/configmaps", "/api/v1/nope", "/nope", "/livez", "/api"} {
		h := get(t, s, path).Header()
		id := h.Get("Audit-Id")
		if !uuid.MatchString(id) || seen[id] {
			t.Errorf("%s: Audit-Id %q", path, id)
		}
		seen[id] = true
		if h.Get("Cache-Control") != "no-cache, private" {
			t.Errorf("%s: %v", path, h)
		}
		if id = get(t, s, path, "Audit-Id", "mine").Header().Get("Audit-Id"); id != "mine" {
			t.Errorf("%s: Audit-Id %q, not echoed", path, id)
		}
	}
}

func TestAnswersThatMayBeBehindSaySo(t *testing.T) {
	w := newWorld(t, 100)
	l := w.load(configmaps, thing{ns: "t1", name: "c1"})
	s := w.server()
	states := []string{
		"/api/v1/configmaps", "/api/v1/configmaps?resourceVersion=0", "/api/v1/configmaps?resourceVersion=100",
		"/api/v1/configmaps?limit=1", "/api/v1/namespaces/t1/configmaps/c1", "/api/v1/namespaces/t1/configmaps/nope",
		"/api/v1/configmaps?watch=1&timeoutSeconds=-1",
	}
	for _, path := range states {
		if h := get(t, s, path).Header()["Warning"]; h != nil {
			t.Errorf("live: %s has %q", path, h)
		}
	}
	w.bookmark(l)
	exact := "/api/v1/configmaps?resourceVersion=100&resourceVersionMatch=Exact"
	w.cut(time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600)))
	const warning = `299 - "may be behind the cloud: last contact 2026-01-02T02:04:05Z, resourceVersion 101"`
	for _, path := range states {
		if h := get(t, s, path).Header()["Warning"]; len(h) != 1 || h[0] != warning {
			t.Errorf("cut off: %s has %q", path, h)
		}
	}
	for _, path := range []string{exact, "/api/v1/configmaps?continue=" + token(100, "/t1/c1\x00")} {
		if h := get(t, s, path).Header()["Warning"]; h != nil {
			t.Errorf("exact: %s has %q", path, h)
		}
	}
	if got := counted(t, s.metrics.stale); got != float64(len(states)) {
		t.Errorf("%v stale answers are counted", got)
	}
	w.cut(time.Time{})
	if h := get(t, s, states[0]).Header().Get("Warning"); !strings.Contains(h, "last contact never,") {
		t.Errorf("before the first contact: %q", h)
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	w := described(t)
	var logs bytes.Buffer
	s := w.server(func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&logs, nil))
		c.Fallback = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodDelete {
				w.WriteHeader(200)
			}
			panic("boom")
		})
	})
	want(t, call(t, s, http.MethodPost, "/api/v1/namespaces/t1/configmaps"), 500,
		failure(500, "InternalError", "Internal error occurred: boom", `{"causes":[{"message":"boom"}]}`))
	if !strings.Contains(logs.String(), "boom") || !strings.Contains(logs.String(), "handler_test.go") {
		t.Errorf("the log has no stack: %s", logs.String())
	}
	// Behind a header there is nothing to say: the connection ends.
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler { //nolint:errorlint // it is compared by net/http too
				t.Errorf("panic with %v", v)
			}
		}()
		call(t, s, http.MethodDelete, "/api/v1/namespaces/t1/configmaps/c1")
	}()
	if got := counted(t, s.metrics.panics); got != 2 {
		t.Errorf("%v panics are counted", got)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	w := described(t)
	reg := prometheus.NewRegistry()
	s := w.server(func(c *Config) { c.Metrics = reg })
	for _, path := range []string{"/api/v1/configmaps", "/api/v1/configmaps?limit=x", "/api/v1/configmaps?watch=1&timeoutSeconds=-1", "/nope"} {
		get(t, s, path)
	}
	for labels, n := range map[[2]string]float64{
		{"list", "200"}: 1, {"list", "400"}: 1, {"watch", "200"}: 1, {"other", "404"}: 1,
	} {
		if got := counted(t, s.metrics.requests.WithLabelValues(labels[0], labels[1])); got != n {
			t.Errorf("%v: %v, want %v", labels, got, n)
		}
	}
	if got := counted(t, s.metrics.watches.WithLabelValues("configmaps")); got != 0 {
		t.Errorf("%v watches are open", got)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "tombolo_litesrv_") || f.GetHelp() == "" {
			t.Errorf("%s: %q", f.GetName(), f.GetHelp())
		}
	}
	if _, err := New(Config{Backend: w, Metrics: reg}); err == nil {
		t.Error("the same metrics were registered twice")
	}
}

func TestRequestsAreLogged(t *testing.T) {
	w := described(t)
	var logs bytes.Buffer
	s := w.server(func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(&logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	get(t, s, "/api/v1/configmaps?limit=1", "Audit-Id", "mine")
	for _, part := range []string{"verb=list", `uri="/api/v1/configmaps?limit=1"`, "code=200", "audit=mine"} {
		if !strings.Contains(logs.String(), part) {
			t.Errorf("%s is not in %s", part, logs.String())
		}
	}
}

func TestABackendIsRequired(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("a server of nothing")
	}
}

// flushless is a writer that can neither flush nor set deadlines.
type flushless struct{ http.ResponseWriter }

func TestRecorderPassesOnWhatTheConnectionCanDo(t *testing.T) {
	inner := httptest.NewRecorder()
	rec := &recorder{ResponseWriter: inner}
	rec.WriteHeader(http.StatusEarlyHints)
	if rec.code != 0 {
		t.Errorf("an early hint is noted as %d", rec.code)
	}
	inner = httptest.NewRecorder() // which takes an early hint for an answer
	rec.ResponseWriter = inner
	rec.WriteHeader(http.StatusTeapot)
	rec.WriteHeader(http.StatusOK)
	_, _ = rec.Write([]byte("abc"))
	rec.Flush()
	if rec.code != http.StatusTeapot || rec.bytes != 3 || !inner.Flushed {
		t.Errorf("%+v, flushed %v", rec, inner.Flushed)
	}
	if err := http.NewResponseController(&recorder{ResponseWriter: flushless{inner}}).SetWriteDeadline(time.Time{}); !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("deadline: %v", err)
	}
}
