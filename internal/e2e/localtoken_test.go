//go:build e2e

package e2e

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// TestTokensOfTheCloudAtTheEdge uses those that a real kube-apiserver gives out: with a link the cloud's word counts, without
// one their signature does.
func TestTokensOfTheCloudAtTheEdge(t *testing.T) {
	s := newLocalSite(t, "local-tokens", rights+"  - {resource: serviceaccounts, namespaces: [local-tokens]}\n")
	kubectl := func(args ...string) string {
		return runKubectl(t, s.kube, "", append([]string{"-n", "local-tokens"}, args...)...)
	}
	for _, account := range []string{"reader", "fired", "late"} {
		kubectl("create", "serviceaccount", account)
	}
	kubectl("create", "role", "reader", "--verb=get,list,watch", "--resource=configmaps")
	kubectl("create", "rolebinding", "reader", "--role=reader", "--group=system:serviceaccounts:local-tokens")
	s.cloud.create(t, configMaps, "local-tokens", configMap("local-tokens", "c", "a", "1"))
	token := func(args ...string) string { return kubectl(append([]string{"create", "token"}, args...)...) }
	good, other, fired, late := token("reader"), token("reader", "--audience=vault"), token("fired"), token("late")
	expect := func(token string, want int) {
		t.Helper()
		eventually(t, func() error {
			got, err := s.as(token).do(t.Context(), http.MethodGet, configMaps.object("local-tokens/c"), nil)
			if err != nil || got.status != want {
				return fmt.Errorf("%d, want %d: %w\n%s", got.status, want, err, got.body)
			}
			return nil
		})
	}
	forged := good[:len(good)-8] + "AAAAAAAA"
	expect(good, http.StatusOK)
	expect(late, http.StatusOK)
	expect(other, http.StatusUnauthorized)
	expect(forged, http.StatusUnauthorized)
	got, err := s.as(good).do(t.Context(), http.MethodPost, configMaps.path("local-tokens"), []byte(configMap("local-tokens", "d", "a", "1")))
	if err != nil || got.status != http.StatusForbidden { // with its own rights, not the edge's
		t.Errorf("a write: %d %v", got.status, err)
	}
	kubectl("delete", "serviceaccount", "fired")
	expect(fired, http.StatusUnauthorized)
	awaitKeys(t, s)

	s.link.Cut()
	s.edge.awaitContact(false)
	fresh := token("reader") // the edge has never seen it
	expect(fresh, http.StatusOK)
	expect(other, http.StatusUnauthorized)
	expect(forged, http.StatusUnauthorized)
	expect(fired, http.StatusUnauthorized)
	kubectl("delete", "serviceaccount", "late") // which the edge can't know
	expect(token("reader", "--duration=10m"), http.StatusOK)
	s.edge.kill()
	s.edge.start()
	expect(fresh, http.StatusOK)
	expect(late, http.StatusOK)

	s.link.Heal()
	s.edge.awaitContact(true)
	expect(late, http.StatusUnauthorized)
}

// awaitKeys waits until the edge has what tokens are verified with.
func awaitKeys(t *testing.T, s *localSite) {
	t.Helper()
	eventually(t, func() error {
		got, err := s.as(cluster.AdminToken).do(t.Context(), http.MethodGet, "/openid/v1/jwks", nil)
		if err == nil && got.status != http.StatusOK {
			err = fmt.Errorf("%d %s", got.status, got.body)
		}
		return err
	})
}
