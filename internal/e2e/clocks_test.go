//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/clock"
)

// TestSilenceIsNoticedWhateverTheClockSays: an edge whose wall clock is set back, or forth, still finds out that its hub is
// silent, says so, and follows again; nothing ends because of the jump.
func TestSilenceIsNoticedWhateverTheClockSays(t *testing.T) {
	s := newSite(t, hubConfig{})
	programs := t.TempDir()
	if err := clock.Build(programs, "../../cmd/edgehub"); err != nil {
		t.Fatal(err)
	}
	own, err := clock.New(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	s.edge.kill()
	s.edge.binary, s.edge.env = filepath.Join(programs, "edgehub"), []string{own.Environment()}
	s.edge.start()
	s.edge.awaitContact(true)
	for i, ahead := range []time.Duration{-time.Hour, -400 * 24 * time.Hour, time.Hour, 400 * 24 * time.Hour} {
		sessions := mustMetric(t, s.edge.http, "tombolo_edge_sessions_total")
		if err := own.Set(ahead); err != nil {
			t.Fatal(err)
		}
		created := s.cloud.create(t, configMaps, "default", configMap("default", fmt.Sprintf("after-%d", i), "a", "x"))
		eventually(t, func() error {
			got, err := s.local.do(t.Context(), http.MethodGet, configMaps.object(created.Key), nil)
			if err == nil && got.status != http.StatusOK {
				err = fmt.Errorf("%d %s", got.status, got.body)
			}
			return err
		})
		time.Sleep(2 * time.Second) // two progress intervals
		if n := mustMetric(t, s.edge.http, "tombolo_edge_sessions_total"); n != sessions {
			t.Errorf("the jump to %s ended the session", ahead)
		}
		s.link.BlackHole()
		s.edge.awaitContact(false)
		if got := s.local.get(t, configMaps.path("")+"?resourceVersion=0"); got.header.Get("Warning") == "" {
			t.Errorf("%s ahead: an answer does not say that it may be behind", ahead)
		}
		s.link.Reset()
		s.edge.awaitContact(true)
	}
	s.edge.alive()
}
