//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
)

// TestFirstCommandOfTheReadme runs the demo as the README tells.
func TestFirstCommandOfTheReadme(t *testing.T) {
	addrs := freePorts(t, 2)
	demo := newServer(t, "tombolo", "tombolo", "", "demo", "--cloud-addr", addrs[0], "--edge-addr", addrs[1])
	demo.launch()
	eventually(t, func() error {
		demo.alive()
		text, err := os.ReadFile(demo.log)
		if err == nil && !strings.Contains(string(text), "ready") {
			err = fmt.Errorf("it prints %q", text)
		}
		return err
	})
	cloud, local := newAPI(t, "cloud", "http://"+addrs[0]), newAPI(t, "edge", "http://"+addrs[1])
	created := cloud.create(t, configMaps, "shop", configMap("shop", "greeting", "a", "hello"))
	eventually(t, func() error {
		got, err := local.do(t.Context(), http.MethodGet, configMaps.object(created.Key), nil)
		if err == nil && strings.TrimSpace(string(got.body)) != created.Body {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		return err
	})
	demo.stop()
}
