package litesrv

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
)

// healthPath is a path of the health checks: /livez, or /livez/ping for one of them.
type healthPath struct {
	root string // "healthz", "livez" or "readyz"
	name string // "" means all
}

// healthCheck is one of the checks behind a root.
type healthCheck struct {
	name string
	run  func() error
}

// healthRoots are the roots of the health checks.
var healthRoots = []string{"healthz", "livez", "readyz"}

func parseHealth(path string) (healthPath, bool) {
	root, name, below := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if !slices.Contains(healthRoots, root) {
		return healthPath{}, false
	}
	if below && name == "" {
		return healthPath{}, false
	}
	return healthPath{root: root, name: name}, true
}

// checks returns the checks of a root. A server whose first sync is under way is alive but not ready.
func (s *Server) checks(root string) []healthCheck {
	checks := []healthCheck{{"ping", func() error { return nil }}}
	if root == "readyz" {
		checks = append(checks, healthCheck{"sync", func() error {
			if s.cfg.Synced == nil {
				return nil
			}
			return s.cfg.Synced()
		}})
	}
	return checks
}

// health answers as apiserver pkg/server/healthz does: any method, plain text, the reason of a failure kept to the log.
// Whoever has credentials for the cloud and asks for the single checks means the API server's: those are passed on while
// there is nothing wrong here.
func (s *Server) health(w http.ResponseWriter, r *http.Request, p healthPath) {
	checks := s.checks(p.root)
	if p.name != "" {
		s.healthOne(w, r, checks, p)
		return
	}
	query := r.URL.Query()
	report, ok := s.runChecks(checks, p.root, query["exclude"])
	if !ok {
		http.Error(w, report+p.root+" check failed", http.StatusInternalServerError)
		return
	}
	if _, verbose := query["verbose"]; !verbose {
		healthy(w, "ok")
	} else if r.Header.Get("Authorization") == "" {
		healthy(w, report+p.root+" check passed\n")
	} else {
		s.ask(w, r, func() { healthy(w, report+p.root+" check passed\n") })
	}
}

func healthy(w http.ResponseWriter, text string) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	writeText(w, text)
}

// runChecks runs all checks but the excluded and returns a line for each. ok tells whether none failed.
func (s *Server) runChecks(checks []healthCheck, root string, exclude []string) (report string, ok bool) {
	var lines strings.Builder
	ok = true
	unknown := sets.New(exclude...)
	for _, c := range checks {
		if slices.Contains(exclude, c.name) {
			unknown.Delete(c.name)
			fmt.Fprintf(&lines, "[+]%s excluded: ok\n", c.name)
		} else if err := c.run(); err != nil {
			ok = false
			s.log.Info("health check failed", "path", root, "check", c.name, "err", err)
			fmt.Fprintf(&lines, "[-]%s failed: reason withheld\n", c.name)
		} else {
			fmt.Fprintf(&lines, "[+]%s ok\n", c.name)
		}
	}
	if len(unknown) > 0 {
		names := sets.List(unknown)
		for i := range names {
			names[i] = strconv.Quote(names[i])
		}
		fmt.Fprintf(&lines, "warn: some health checks cannot be excluded: no matches for %s\n", strings.Join(names, ","))
	}
	return lines.String(), ok
}

// healthOne answers for a single check.
func (s *Server) healthOne(w http.ResponseWriter, r *http.Request, checks []healthCheck, p healthPath) {
	i := slices.IndexFunc(checks, func(c healthCheck) bool { return c.name == p.name })
	if i < 0 {
		http.NotFound(w, r)
		return
	}
	if err := checks[i].run(); err != nil {
		http.Error(w, fmt.Sprintf("internal server error: %v", err), http.StatusInternalServerError)
		return
	}
	writeText(w, "ok")
}

func writeText(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = w.Write([]byte(text)) //nolint:gosec // plain text; and there is no one to tell of an error
}
