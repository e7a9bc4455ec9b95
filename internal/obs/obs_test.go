package obs

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	return w.Code, w.Body.String()
}

func TestHandler(t *testing.T) {
	var reason error
	h := Handler(NewRegistry(), func() error { return reason })
	if code, _ := get(t, h, "/readyz"); code != http.StatusOK {
		t.Errorf("ready: %d", code)
	}
	reason = errors.New("no first state")
	if code, text := get(t, h, "/readyz"); code != http.StatusServiceUnavailable || text != "no first state\n" {
		t.Errorf("not ready: %d %q", code, text)
	}
	if code, _ := get(t, h, "/healthz"); code != http.StatusOK {
		t.Errorf("healthy: %d", code)
	}
	if code, text := get(t, h, "/metrics"); code != http.StatusOK || !strings.Contains(text, "go_goroutines") {
		t.Errorf("metrics: %d", code)
	}
}

func TestNewLoggerRefuses(t *testing.T) {
	var sb strings.Builder
	if _, err := NewLogger(&sb, "loud", "text"); err == nil {
		t.Error("level loud")
	}
	if _, err := NewLogger(&sb, "info", "xml"); err == nil {
		t.Error("format xml")
	}
	l, err := NewLogger(&sb, "warn", "json")
	if err != nil {
		t.Fatal(err)
	}
	l.Info("quiet")
	l.Warn("said")
	if strings.Contains(sb.String(), "quiet") || !strings.Contains(sb.String(), `"msg":"said"`) {
		t.Error(sb.String())
	}
}
