//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// edge is an edgehub process.
type edge struct {
	*server
	url  string // of the Kubernetes API
	http string // URL of health and metrics
	dir  string // its data
}

// newEdge prepares an edge that connects to the hubs. It isn't started.
func newEdge(t testing.TB, name string, args []string, hubs ...string) *edge {
	t.Helper()
	ports := freePorts(t, 2)
	e := &edge{url: "http://" + ports[0], http: "http://" + ports[1], dir: t.TempDir()}
	if !slices.Contains(args, "--local-auth") { // nearly all tests are of other things
		args = append(args, "--serve-plain")
	}
	args = append([]string{"run", "--name", name, "--hub", strings.Join(hubs, ","), "--data-dir", e.dir,
		"--serve", ports[0], "--http-addr", ports[1], "--insecure-dev"}, args...)
	e.server = newServer(t, name, "edgehub", e.http+"/readyz", args...)
	return e
}

// check verifies the data of an edge that is down.
func (e *edge) check() {
	e.t.Helper()
	out, err := exec.Command(e.binary, "check", "--data-dir", e.dir).CombinedOutput()
	if err != nil {
		e.t.Fatalf("edgehub check: %v\n%s", err, out)
	}
}

// fillDisk makes the edge's writes fail, or succeed again.
func (e *edge) fillDisk(full bool) {
	e.t.Helper()
	if err := e.p.FillDisk(full); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		e.t.Fatal(err)
	}
}

// awaitContact waits until the edge follows the cloud, or has noticed that it doesn't.
func (e *edge) awaitContact(connected bool) {
	e.t.Helper()
	want := 0.0
	if connected {
		want = 1
	}
	awaitMetric(e.t, e.http, "tombolo_edge_connected", func(v float64) bool { return v == want })
}

// metric reads a metric; all series of it are added up, unless the name goes on with the labels of one. An absent one is 0.
func metric(ctx context.Context, base, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	response, err := oneShot.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s/metrics: %s", base, response.Status)
	}
	sum := 0.0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		series, value, found := strings.Cut(lines.Text(), " ")
		if short, _, _ := strings.Cut(series, "{"); !found || short != name && series != name {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
		sum += v
	}
	return sum, nil
}

// mustMetric reads a metric of a server that has to be up.
func mustMetric(t testing.TB, base, name string) float64 {
	t.Helper()
	v, err := metric(t.Context(), base, name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// awaitMetric waits until a metric is as wanted.
func awaitMetric(t testing.TB, base, name string, wanted func(float64) bool) {
	t.Helper()
	var last float64
	eventually(t, func() error {
		v, err := metric(t.Context(), base, name)
		if err != nil {
			return err
		}
		if last = v; !wanted(v) {
			return fmt.Errorf("%s is %g", name, last)
		}
		return nil
	})
}

// eventually polls until done returns nil, and fails the test with its last error otherwise.
func eventually(t testing.TB, done func() error) {
	t.Helper()
	if err := within(t, done); err != nil {
		t.Fatal(err)
	}
}

// within polls until done returns nil, and returns its last error otherwise.
func within(t testing.TB, done func() error) error {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		err := done()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) || t.Context().Err() != nil {
			return fmt.Errorf("still not after %s: %w", patience, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}
