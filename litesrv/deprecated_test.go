package litesrv

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// TestDeprecatedVersionsWarn has the warning on whatever comes of a read, as kube-apiserver does, beside the one that the
// answer may be old.
func TestDeprecatedVersionsWarn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := *configmaps
		old.Deprecated = `"v1" ConfigMap is deprecated; use less`
		const said = `299 - "\"v1\" ConfigMap is deprecated; use less"`
		w := newWorld(t, 100)
		l := w.open(&old, watchlog.Config{})
		if err := l.Load(watchlog.Content{Rev: 100, Floor: 100}); err != nil {
			t.Fatal(err)
		}
		w.load(pods)
		s := w.server()
		for path, code := range map[string]int{
			"/api/v1/configmaps": 200, "/api/v1/namespaces/ns/configmaps/a": 404, "/api/v1/configmaps?limit=x": 400,
			"/api/v1/configmaps?watch=1&timeoutSeconds=1": 200,
		} {
			if got := get(t, s, path); got.Code != code || !slices.Equal(got.Header()["Warning"], []string{said}) {
				t.Errorf("%s: %d %q", path, got.Code, got.Header()["Warning"])
			}
		}
		if got := get(t, s, "/api/v1/pods").Header()["Warning"]; got != nil {
			t.Errorf("pods warn: %q", got)
		}
		if got := get(t, s, "/api/v1/configmaps", "Accept", "text/html"); got.Code != http.StatusNotAcceptable || got.Header()["Warning"] != nil {
			t.Errorf("a request without a route: %d %q", got.Code, got.Header()["Warning"])
		}
	})
}
