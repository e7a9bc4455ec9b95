package litesrv

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// TestWhatIsNotHereIsAskedForInTheCloud is about objects, resources and documents that the edge does not know: the cloud
// may.
func TestWhatIsNotHereIsAskedForInTheCloud(t *testing.T) {
	world := described(t)
	online, code := true, http.StatusTeapot
	s := world.server(func(c *Config) {
		c.Online = func() bool { return online }
		c.Fallback = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Audit-Id", r.Header.Get("Audit-Id"))
			w.Header().Set("X-Of", "the cloud")
			w.WriteHeader(code)
			_, _ = w.Write([]byte("of the cloud"))
			_ = http.NewResponseController(w).Flush()
		})
	})
	local := world.server()
	for _, path := range []string{
		"/api/v1/namespaces/t1/configmaps/nope", "/api/v1/nope", "/apis/brand.new/v1", "/apis/brand.new/v1/things",
		"/api/v1/namespaces/t1/configmaps/c1/nope", "/apis/brand.new/v1/namespaces/a/things/b/status",
	} {
		here := get(t, local, path)
		for _, c := range []struct {
			what, token string
			online      bool
			code, want  int
		}{
			{"the cloud knows it", "", true, 200, 200},
			{"the cloud doesn't know it either", "", true, 404, 404},
			{"the edge's user may not", "", true, 403, here.Code},
			{"the edge's user is not known", "", true, 401, here.Code},
			{"the caller may not", "Bearer x", true, 403, 403},
			{"the caller is not known", "Bearer x", true, 401, 401},
			{"no link", "", false, 200, here.Code},
			{"no link for the caller", "Bearer x", false, 200, here.Code},
		} {
			online, code = c.online, c.code
			var header []string
			if c.token != "" {
				header = []string{"Authorization", c.token}
			}
			answer := get(t, s, path, header...)
			fromCloud := c.online && (c.want == c.code || c.token != "")
			if answer.Code != c.want || (answer.Header().Get("X-Of") != "") != fromCloud {
				t.Errorf("%s: %s: %d %v", path, c.what, answer.Code, answer.Header())
			}
			if n := len(answer.Header()["Audit-Id"]); n != 1 {
				t.Errorf("%s: %s: %d audit ids", path, c.what, n)
			}
			if !fromCloud && answer.Body.String() != here.Body.String() {
				t.Errorf("%s: %s: %s", path, c.what, answer.Body)
			}
		}
	}
	online, code = true, 200
	world.cut(time.Time{})
	if answer := get(t, s, "/api/v1/namespaces/t1/configmaps/nope"); answer.Code != 404 || !strings.Contains(answer.Header().Get("Warning"), "may be behind") {
		t.Errorf("behind the cloud: %d %v", answer.Code, answer.Header())
	}
}
