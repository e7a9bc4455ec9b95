//go:build e2e && conformance

package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tombolo-sync/tombolo/internal/e2e/proc"
)

// suite runs upstream's specs against one API server. What they print, and their reports, are artifacts.
type suite struct {
	t          *testing.T
	kubeconfig string
	args       []string // flags of upstream's e2e.test, beside those that every run has
	dir        string   // of logs and reports
}

// spec is one of upstream's, as Ginkgo's JSON report tells of it.
type spec struct {
	ContainerHierarchyTexts []string
	LeafNodeText            string
	LeafNodeType            string // "It" for specs; the others are steps of the suite
	State                   string // "passed", "failed", "skipped", …
	RunTime                 time.Duration
	Failure                 struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
}

func (s spec) name() string {
	return strings.Join(append(slices.Clone(s.ContainerHierarchyTexts), s.LeafNodeText), " ")
}

func (s spec) String() string {
	where := fmt.Sprintf("%s:%d", filepath.Base(s.Failure.Location.FileName), s.Failure.Location.LineNumber)
	return fmt.Sprintf("%s: %s\n  %s: %.1500s", s.State, cmp.Or(s.name(), s.LeafNodeType), where, s.Failure.Message)
}

// suiteFlags make specs do without what a kube-apiserver alone has not: nodes, pods and controllers.
var suiteFlags = []string{
	"--provider=skeleton", "--allowed-not-ready-nodes=-1", "--minStartupPods=-1", "--num-nodes=1",
	"--e2e-verify-service-account=false", "--dump-logs-on-failure=false", "--delete-namespace=false",
	"--ginkgo.v", "--ginkgo.no-color", "--ginkgo.timeout=30m",
}

// named runs specs, in as many processes as are told: they spend most of their time waiting.
func (s *suite) named(names []string, processes int) []spec {
	s.t.Helper()
	parts := make([][]spec, processes)
	g, ctx := errgroup.WithContext(s.t.Context())
	for i := range parts {
		var focus []string
		for k := i; k < len(names); k += processes {
			focus = append(focus, "--ginkgo.focus="+regexp.QuoteMeta(names[k])+"$")
		}
		g.Go(func() (err error) {
			parts[i], err = s.run(ctx, fmt.Sprintf("part-%d", i+1), focus...)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		s.t.Fatal(err)
	}
	return slices.Concat(parts...)
}

// run runs the specs that the flags select, and returns those that were not skipped. That some failed is no error.
func (s *suite) run(ctx context.Context, name string, flags ...string) ([]spec, error) {
	report := filepath.Join(s.dir, name+".json")
	args := slices.Concat(suiteFlags, s.args, flags, []string{"--kubeconfig=" + s.kubeconfig, "--ginkgo.json-report=" + report})
	p, err := proc.Start(suiteBinary(), filepath.Join(s.dir, name+".log"), args...)
	if err != nil {
		return nil, err
	}
	select {
	case <-p.Exited():
	case <-ctx.Done():
		return nil, p.Kill()
	}
	specs, err := readReport(report)
	if err != nil {
		return nil, fmt.Errorf("%w; the log ends in:\n%s", err, p.LogTail())
	}
	return specs, nil
}

func suiteBinary() string { return filepath.Join("..", "..", "bin", "e2e", "conformance") }

// readReport returns the specs that ran, and steps of the suite that failed.
func readReport(file string) ([]spec, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var reports []struct{ SpecReports []spec }
	if err := json.Unmarshal(text, &reports); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var specs []spec
	for _, r := range reports {
		for _, s := range r.SpecReports {
			if s.LeafNodeType == "It" && s.State != "skipped" || s.LeafNodeType != "It" && s.State != "passed" {
				specs = append(specs, s)
			}
		}
	}
	return specs, nil
}
