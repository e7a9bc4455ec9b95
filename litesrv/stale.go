package litesrv

import (
	"fmt"
	"net/http"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// sayStale adds a Warning to an answer that may be behind the cloud. Clients show it: kubectl on standard error,
// client-go in its log. rev is the position of l that the answer is from.
func (s *Server) sayStale(w http.ResponseWriter, l *watchlog.Log, rev uint64) {
	last, lost := l.Lost()
	if !lost {
		return
	}
	s.metrics.stale.Inc()
	since := "never"
	if !last.IsZero() {
		since = last.UTC().Format(time.RFC3339)
	}
	// Code 299 and agent "-" are what the Kubernetes API uses for all its warnings.
	w.Header().Add("Warning", fmt.Sprintf(`299 - "may be behind the cloud: last contact %s, resourceVersion %d"`, since, rev))
}
