//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/proc"
)

// gaugeDefinition defines what the manager of the tests works on.
const gaugeDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gauges.ex.io"},
"spec":{"group":"ex.io","scope":"Namespaced","names":{"plural":"gauges","singular":"gauge","kind":"Gauge","listKind":"GaugeList"},
"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{}},
"schema":{"openAPIV3Schema":{"type":"object","properties":{
"spec":{"type":"object","properties":{"value":{"type":"string"}}},"status":{"type":"object","properties":{"value":{"type":"string"}}}}}}}]}}`

var gauges = resource{"gauges.ex.io", "/apis/ex.io/v1", "gauges"}

const (
	managerNamespace = "gauges"
	managerScopes    = `scopes:
- name: manager
  edges: ["edge-*"]
  rules:
  - {group: ex.io, resource: gauges, namespaces: [gauges]}
  - {resource: configmaps, namespaces: [gauges]}
  - {group: coordination.k8s.io, resource: leases, namespaces: [gauges]}
`
)

// soakTime is how long the manager works: TOMBOLO_E2E_SOAK, or what is enough for a few cuts.
func soakTime(t *testing.T) time.Duration {
	text := os.Getenv("TOMBOLO_E2E_SOAK")
	if text == "" {
		return 45 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("TOMBOLO_E2E_SOAK: %v", err)
	}
	return d
}

// manager runs bin/e2e/manager, again whenever it ends, as a Deployment would: a manager that can't renew its lease ends.
type manager struct {
	t          *testing.T
	p          *proc.Process
	kubeconfig string
	log        string
	starts     int
}

func newManager(t *testing.T, server string) *manager {
	t.Helper()
	m := &manager{t: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig"), log: filepath.Join(artifacts(t), "manager.log")}
	config := fmt.Sprintf(`{"kind":"Config","apiVersion":"v1","clusters":[{"name":"edge","cluster":{"server":%q}}],`+
		`"contexts":[{"name":"edge","context":{"cluster":"edge","user":"nobody"}}],"current-context":"edge","users":[{"name":"nobody","user":{}}]}`, server)
	if err := os.WriteFile(m.kubeconfig, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.p.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("end of the manager's log:\n%s", tail(m.log))
		}
	})
	m.start()
	return m
}

func (m *manager) start() {
	m.t.Helper()
	var err error
	m.starts++
	m.p, err = proc.Start(filepath.Join("..", "..", "bin", "e2e", "manager"), m.log, "--kubeconfig", m.kubeconfig, "--namespace", managerNamespace)
	if err != nil {
		m.t.Fatal(err)
	}
}

// tend starts the manager again when it has ended.
func (m *manager) tend() {
	m.t.Helper()
	select {
	case <-m.p.Exited():
		m.start()
	default:
	}
}

// TestManagerConvergesThroughCuts has a controller-runtime manager (cache, leader election, status updates) work through
// an edge whose link is cut again and again. Once nothing happens any more, every Gauge has what belongs to it.
func TestManagerConvergesThroughCuts(t *testing.T) {
	c := sharedCluster(t)
	define(t, c, gaugeDefinition, "gauges.ex.io")
	cloud := kubeAPI(t, c)
	cloud.create(t, namespaces, "", fmt.Sprintf(`{"kind":"Namespace","apiVersion":"v1","metadata":{"name":%q}}`, managerNamespace))
	letEdgesDoAll(t, c)
	s, _ := newKubeSite(t, managerScopes)
	m := newManager(t, s.local.base)
	rng := rand.New(rand.NewPCG(seed(t), 3))
	end := time.Now().Add(soakTime(t))
	writes, cuts := 0, 0
	nextCut := time.Now().Add(8 * time.Second)
	for time.Now().Before(end) {
		writes += writeGauge(t, cloud, rng)
		m.tend()
		if time.Now().After(nextCut) {
			cuts++
			cutFor(t, s, m, cloud, rng, cuts)
			nextCut = time.Now().Add(time.Duration(6+rng.IntN(6)) * time.Second)
		}
		time.Sleep(150 * time.Millisecond)
	}
	eventually(t, func() error {
		m.tend()
		return converged(t, cloud)
	})
	t.Logf("%d writes, %d cuts, the manager was started %d times", writes, cuts, m.starts)
}

// cutFor cuts the link while writing goes on: mostly for less time than leases last, every third time for longer.
func cutFor(t *testing.T, s *site, m *manager, cloud *api, rng *rand.Rand, n int) {
	t.Helper()
	away := 3 * time.Second
	if n%3 == 0 {
		away = 14 * time.Second
	}
	if rng.IntN(2) == 0 {
		s.link.BlackHole()
	} else {
		s.link.Cut()
	}
	for end := time.Now().Add(away); time.Now().Before(end); time.Sleep(150 * time.Millisecond) {
		writeGauge(t, cloud, rng)
		m.tend()
	}
	s.link.Reset()
}

// writeGauge creates, changes or deletes one Gauge in the cloud.
func writeGauge(t *testing.T, cloud *api, rng *rand.Rand) int {
	t.Helper()
	name := fmt.Sprintf("g-%d", rng.IntN(12))
	body := fmt.Sprintf(`{"apiVersion":"ex.io/v1","kind":"Gauge","metadata":{"name":%q,"namespace":%q},"spec":{"value":"%d"}}`,
		name, managerNamespace, rng.IntN(1000))
	got, err := cloud.do(t.Context(), http.MethodPost, gauges.path(managerNamespace), []byte(body))
	if err == nil && got.status == http.StatusConflict && rng.IntN(4) == 0 {
		got, err = cloud.do(t.Context(), http.MethodDelete, gauges.object(managerNamespace+"/"+name), nil)
	} else if err == nil && got.status == http.StatusConflict {
		patch := fmt.Sprintf(`{"spec":{"value":"%d"}}`, rng.IntN(1000))
		got, err = cloud.patch(t.Context(), gauges.object(managerNamespace+"/"+name), []byte(patch))
	}
	if err != nil || got.status >= 300 {
		t.Fatalf("write of %s: %d %v %s", name, got.status, err, got.body)
	}
	return 1
}

// converged compares what the manager has made of the Gauges with what it should be.
func converged(t *testing.T, cloud *api) error {
	type gauge struct {
		Metadata     struct{ Name string }
		Spec, Status struct{ Value string }
		Data         struct{ Value string }
	}
	shown := map[string]string{}
	for _, item := range cloud.list(t, configMaps.path(managerNamespace)).Items {
		var o gauge
		if err := json.Unmarshal(item, &o); err != nil {
			return err
		}
		shown[o.Metadata.Name] = o.Data.Value
	}
	delete(shown, "kube-root-ca.crt")
	for _, item := range cloud.list(t, gauges.path(managerNamespace)).Items {
		var o gauge
		if err := json.Unmarshal(item, &o); err != nil {
			return err
		}
		value, found := shown[o.Metadata.Name]
		if !found || value != o.Spec.Value || o.Status.Value != o.Spec.Value {
			return fmt.Errorf("%s is %q, its status says %q, its ConfigMap %q (%t)", o.Metadata.Name, o.Spec.Value, o.Status.Value, value, found)
		}
		delete(shown, o.Metadata.Name)
	}
	if len(shown) > 0 {
		return fmt.Errorf("ConfigMaps of Gauges that are gone: %v", shown)
	}
	return nil
}
