//go:build e2e

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// tabled are the resources that tables are compared of.
var tabled = []string{
	"pods", "configmaps", "events", "secrets", "services", "persistentvolumeclaims", "limitranges", "resourcequotas",
	"endpoints", "serviceaccounts", "replicationcontrollers", "jobs.batch", "cronjobs.batch", "deployments.apps", "replicasets.apps",
	"daemonsets.apps", "statefulsets.apps", "roles.rbac.authorization.k8s.io", "rolebindings.rbac.authorization.k8s.io",
	"ingresses.networking.k8s.io", "networkpolicies.networking.k8s.io", "poddisruptionbudgets.policy",
	"horizontalpodautoscalers.autoscaling", "endpointslices.discovery.k8s.io", "widgets.ex.io",
	"nodes", "namespaces", "persistentvolumes", "ipaddresses.networking.k8s.io", "storageclasses.storage.k8s.io",
	"customresourcedefinitions.apiextensions.k8s.io", "apiservices.apiregistration.k8s.io", "plains.ex.io",
	"clusterroles.rbac.authorization.k8s.io", "priorityclasses.scheduling.k8s.io",
}

// wholeScope is the scope of an edge that holds all of some resources.
func wholeScope(resources []string) string {
	var b strings.Builder
	b.WriteString("scopes:\n- name: tables\n  edges: [\"edge-*\"]\n  rules:\n")
	for _, r := range resources {
		name, group, _ := strings.Cut(r, ".")
		fmt.Fprintf(&b, "  - {group: %q, resource: %s}\n", group, name)
	}
	return b.String()
}

// printed is an object of testdata/tables.json: in every state that has something else to print.
type printed struct {
	Path   string
	Object json.RawMessage
	Status json.RawMessage
}

// timed fills in the times of testdata/tables.json, which are so many seconds ago.
func timed(raw []byte, now time.Time) []byte {
	pattern := regexp.MustCompile(`\{\{ago(Micro)? (-?\d+)\}\}`)
	return pattern.ReplaceAllFunc(raw, func(m []byte) []byte {
		parts := pattern.FindSubmatch(m)
		seconds, _ := strconv.Atoi(string(parts[2]))
		at := now.Add(-time.Duration(seconds) * time.Second).UTC()
		if len(parts[1]) > 0 {
			return []byte(at.Format("2006-01-02T15:04:05") + ".123456Z")
		}
		return []byte(at.Format(time.RFC3339))
	})
}

// fillTables creates the objects of testdata/tables.json.
func fillTables(t *testing.T, cloud *api) {
	t.Helper()
	raw, err := os.ReadFile("testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []printed
	if err := json.Unmarshal(timed(raw, time.Now()), &all); err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		eventually(t, func() error { // a kind that was just defined is served a moment later
			got, err := cloud.do(t.Context(), http.MethodPost, p.Path, p.Object)
			if err == nil && got.status != http.StatusCreated {
				err = fmt.Errorf("%s: %d %s", p.Path, got.status, got.body)
			}
			return err
		})
		if p.Status != nil {
			setStatus(t, cloud, p)
		}
	}
}

func setStatus(t *testing.T, cloud *api, p printed) {
	t.Helper()
	var o struct{ Metadata struct{ Name string } }
	if err := json.Unmarshal(p.Object, &o); err != nil {
		t.Fatal(err)
	}
	body := fmt.Appendf(nil, `{"status":%s}`, p.Status)
	got, err := cloud.patch(t.Context(), p.Path+"/"+o.Metadata.Name+"/status", body)
	if err != nil || got.status != http.StatusOK {
		t.Fatalf("status of %s %s: %d %s (%v)", p.Path, o.Metadata.Name, got.status, got.body, err)
	}
}

// TestTablesAreTheClouds compares what kubectl prints at an edge with what it prints at the cloud, online and offline.
func TestTablesAreTheClouds(t *testing.T) {
	c := cluster.New(t, cluster.Config{})
	cloud := kubeAPI(t, c)
	fillTables(t, cloud)
	h := newHub(t, hubConfig{kubeconfig: c.Kubeconfig, scopes: wholeScope(tabled)})
	h.start()
	s := joinSite(t, h, cloud)
	t.Run("online", func(t *testing.T) { compareTables(t, s, c) })
	t.Run("the bytes", func(t *testing.T) { compareTableBytes(t, s) })
	t.Run("watched", func(t *testing.T) { compareTableWatches(t, s, c) })
	t.Run("a CRD gets other columns", func(t *testing.T) { changeColumns(t, s, c) })
	s.link.Cut()
	s.edge.awaitContact(false)
	t.Run("offline", func(t *testing.T) { compareTables(t, s, c) })
	s.edge.stop()
	s.edge.check()
	s.edge.start()
	t.Run("offline after a restart", func(t *testing.T) { compareTables(t, s, c) })
	s.edge.stop()
	s.edge.check()
}

// ages are what kubectl prints of durations.
var ages = regexp.MustCompile(`\b(\d+[smhdy])+\b`)

// ageless is what was printed but for the ages, which change its width too.
func ageless(printed string) string {
	lines := strings.Split(ages.ReplaceAllString(printed, "AGE"), "\n")
	for i := range lines {
		lines[i] = strings.Join(strings.Fields(lines[i]), " ")
	}
	return strings.Join(lines, "\n")
}

// seconds returns how long a printed age is, and what its smallest unit is.
func seconds(printed string) (total, unit int) {
	n := 0
	for _, c := range printed {
		if c >= '0' && c <= '9' {
			n = 10*n + int(c-'0')
			continue
		}
		unit = map[rune]int{'s': 1, 'm': 60, 'h': 3600, 'd': 24 * 3600, 'y': 365 * 24 * 3600}[c]
		total, n = total+n*unit, 0
	}
	return total, unit
}

// samePrinted compares two printouts of which the second was made within some time after the first: the same text, and
// ages that are no further apart.
func samePrinted(first, second string, within time.Duration) error {
	if a, b := ageless(first), ageless(second); a != b {
		return fmt.Errorf("%s", firstDifference(b, a))
	}
	before, after := ages.FindAllString(first, -1), ages.FindAllString(second, -1)
	for i := range before {
		a, unit := seconds(before[i])
		b, other := seconds(after[i])
		if d := b - a; d < 0 && -d > max(unit, other) || d > int(within/time.Second)+1+max(unit, other) {
			return fmt.Errorf("%s became %s within %s", before[i], after[i], within)
		}
	}
	return nil
}

// compareTables compares what kubectl prints.
func compareTables(t *testing.T, s *site, c *cluster.Cluster) {
	all := strings.Join(tabled, ",")
	for _, line := range []string{
		"get " + all + " -A",
		"get " + all + " -A -o wide",
		"get all -n tables",
		"get pod/restarted pod/sidecar job/running cronjob/ran widget/full event/series pvc/pvc node/n2 -n tables -o wide",
		"get pod future -n tables",
		"get pods -n tables --sort-by=.metadata.uid -L app --show-labels",
		"get pods -n tables -l app!=crash --chunk-size=3",
		"get widgets -n tables -o wide --show-kind",
		"get plains,pods -A --no-headers",
		"get events -n tables --field-selector reason=R -o wide",
	} {
		args := strings.Fields(line)
		eventually(t, func() error {
			start := time.Now()
			want, wantErr := tryKubectl(t, c, "", args...)
			got, gotErr := tryKubectl(t, c, "", append([]string{"--server", s.local.base}, args...)...)
			if wantErr != nil || gotErr != nil {
				return fmt.Errorf("%.60s: %w\n%.500s\n%w\n%.500s", line, gotErr, got, wantErr, want)
			}
			if err := samePrinted(want, got, time.Since(start)); err != nil {
				return fmt.Errorf("%.60s: %w", line, err)
			}
			return nil
		})
	}
}

// tableOf asks for a table and returns what of it does not depend on how far the server is.
func tableOf(t *testing.T, a *api, path, accept string) (string, error) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, a.base+path, nil)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", accept)
	response, err := a.client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(response.Body); err != nil {
		return "", err
	}
	rev := regexp.MustCompile(`^(\{"kind":"Table","apiVersion":"[^"]*","metadata":\{"resourceVersion":")\d+`)
	return fmt.Sprint(response.StatusCode, response.Header.Get("Content-Type"), rev.ReplaceAllString(b.String(), "${1}0")), nil
}

// compareTableBytes compares answers byte for byte.
func compareTableBytes(t *testing.T, s *site) {
	paths := []string{
		"/api/v1/pods", "/api/v1/nodes", "/apis/ex.io/v1/widgets", "/apis/ex.io/v1/plains", "/apis/batch/v1/jobs",
		"/apis/apiregistration.k8s.io/v1/apiservices", "/api/v1/namespaces/tables/pods/failed",
		"/apis/ex.io/v1/namespaces/tables/widgets/full", "/api/v1/namespaces/tables/events?fieldSelector=reason%3DR",
		"/apis/apps/v1/daemonsets",
	}
	for _, path := range paths {
		for _, include := range []string{"None", "Metadata", "Object", "wrong"} {
			for _, version := range []string{"v1", "v1beta1"} {
				full := path + map[bool]string{true: "&", false: "?"}[strings.Contains(path, "?")] + "includeObject=" + include
				accept := "application/json;as=Table;v=" + version + ";g=meta.k8s.io"
				eventually(t, func() error {
					want, err := tableOf(t, s.cloud, full, accept)
					if err != nil {
						return err
					}
					got, err := tableOf(t, s.local, full, accept)
					if err == nil && got != want {
						err = fmt.Errorf("%s: %s", full, firstDifference(got, want))
					}
					return err
				})
			}
		}
	}
}

// compareTableWatches follows the same changes with kubectl at both. The ages are those of the moment.
func compareTableWatches(t *testing.T, s *site, c *cluster.Cluster) {
	shown := func(k *kubectlWatch, mark string) string {
		_, behind, _ := strings.Cut(k.output(), mark)
		return ageless(behind)
	}
	for _, w := range []struct {
		args   []string
		create string
		path   string
	}{
		{[]string{"pods"}, pod("tables", "%s", "n1", "web"), "/api/v1/namespaces/tables/pods"},
		{[]string{"widgets", "-o", "wide"}, `{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{"name":%q},"spec":{"text":"t"}}`, "/apis/ex.io/v1/namespaces/tables/widgets"},
		{[]string{"configmaps"}, `{"metadata":{"name":%q},"data":{"a":"b"}}`, "/api/v1/namespaces/tables/configmaps"},
	} {
		args := append([]string{"get", "-n", "tables", "--watch-only", "--output-watch-events"}, w.args...)
		atCloud := startKubectl(t, c, args...)
		atEdge := startKubectl(t, c, append([]string{"--server", s.local.base}, args...)...)
		do := func(name string) {
			body := strings.Replace(strings.Replace(w.create, "%q", strconv.Quote(name), 1), "%s", name, 1)
			for _, step := range []func() (answer, error){
				func() (answer, error) { return s.cloud.do(t.Context(), http.MethodPost, w.path, []byte(body)) },
				func() (answer, error) {
					return s.cloud.patch(t.Context(), w.path+"/"+name, []byte(`{"metadata":{"labels":{"changed":"yes"}}}`))
				},
				func() (answer, error) {
					return s.cloud.do(t.Context(), http.MethodDelete, w.path+"/"+name, []byte(`{"gracePeriodSeconds":0}`))
				},
			} {
				if got, err := step(); err != nil || got.status >= 300 {
					t.Fatalf("%s: %d %s (%v)", name, got.status, got.body, err)
				}
			}
		}
		marks := 0
		mark := ""
		eventually(t, func() error { // until both watch
			marks++
			mark = fmt.Sprintf("mark-%d-end", marks)
			do(mark)
			time.Sleep(300 * time.Millisecond)
			if !strings.Contains(atCloud.output(), mark) || !strings.Contains(atEdge.output(), mark) {
				return fmt.Errorf("kubectl printed %s and %s", atCloud.tail(), atEdge.tail())
			}
			return nil
		})
		do("first")
		do("last")
		eventually(t, func() error {
			cloud, edge := shown(atCloud, mark), shown(atEdge, mark)
			if !strings.Contains(cloud, "DELETED last") || cloud != edge {
				return fmt.Errorf("%v: %s", w.args, firstDifference(edge, cloud))
			}
			return nil
		})
	}
}

// changeColumns gives a CRD other columns while the edge follows.
func changeColumns(t *testing.T, s *site, c *cluster.Cluster) {
	got, err := s.cloud.patch(t.Context(), "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/plains.ex.io",
		[]byte(`{"spec":{"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",`+
			`"x-kubernetes-preserve-unknown-fields":true}},"additionalPrinterColumns":[{"name":"Kind of","type":"string","jsonPath":".kind"},`+
			`{"name":"Born","type":"date","jsonPath":".metadata.creationTimestamp"}]}]}}`))
	if err != nil || got.status != http.StatusOK {
		t.Fatalf("%d %s (%v)", got.status, got.body, err)
	}
	eventually(t, func() error {
		start := time.Now()
		want := runKubectl(t, c, "", "get", "plains")
		if !strings.Contains(want, "KIND OF") {
			return fmt.Errorf("the cloud prints %s", want)
		}
		got := runKubectl(t, c, "", "--server", s.local.base, "get", "plains")
		return samePrinted(want, got, time.Since(start))
	})
}
