//go:build e2e

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/clock"
	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// TestCertificatesAreRenewedWhateverTheEdgesClockSays: an edge that thinks it is another year joins, and renews its certificate
// under load, also when its clock jumps meanwhile. No watch ends.
func TestCertificatesAreRenewedWhateverTheEdgesClockSays(t *testing.T) {
	programs := t.TempDir()
	if err := clock.Build(programs, "../../cmd/edgehub"); err != nil {
		t.Fatal(err)
	}
	own, err := clock.New(filepath.Join(t.TempDir(), "clock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Close() })
	if err := own.Set(-50 * 365 * 24 * time.Hour); err != nil {
		t.Fatal(err)
	}
	s := newTrustedSite(t, "--edge-cert-ttl", "8s", "--edge-check-interval", "1s", "--renew-grace", "1h")
	s.edge.binary, s.edge.env = filepath.Join(programs, "edgehub"), []string{own.Environment()}
	join := exec.Command(s.edge.binary, s.token("edge-1", s.edge.dir)...)
	join.Env = append(os.Environ(), own.Environment())
	if out, err := join.CombinedOutput(); err != nil {
		t.Fatalf("join: %v\n%s", err, out)
	}
	s.edge.start()
	s.edge.awaitContact(true)
	s.sources(configMaps)
	s.watch(s.local, configMaps, guarantee.ReaderConfig{NeverExpires: true}, nil)
	l := startLoad(t, s.history, s.cloud, seed(t), 50, loadKinds...)
	granted := func() int { return logged(t, s.hub.log, "action=renew", "edge=edge-1", "result=granted") }
	for _, ahead := range []time.Duration{-50 * 365 * 24 * time.Hour, 0, 20 * time.Minute} { // the hub's certificate is good for an hour
		if err := own.Set(ahead); err != nil {
			t.Fatal(err)
		}
		want := granted() + 1
		eventually(t, func() error {
			if n := granted(); n < want {
				return fmt.Errorf("%s ahead: renewed %d times, waiting for %d", ahead, n, want)
			}
			return nil
		})
		t.Logf("%s ahead: renewed", ahead)
	}
	l.stop()
	s.settle(configMaps)
	s.edge.alive()
}
