package obs

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestProfilesAreServedOnlyWhereAskedFor(t *testing.T) {
	plain := Handler(prometheus.NewRegistry(), func() error { return nil })
	status := func(h http.Handler, path string) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		return w.Code
	}
	with := WithProfiles(plain)
	for path, want := range map[string]int{"/debug/pprof/": 200, "/debug/pprof/heap": 200, "/readyz": 200, "/nowhere": 404} {
		if got := status(with, path); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	if got := status(plain, "/debug/pprof/"); got != http.StatusNotFound {
		t.Errorf("profiles without being asked: %d", got)
	}
}
