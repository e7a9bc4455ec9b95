package litesrv

import (
	"fmt"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// sayStale adds a Warning to an answer that may be behind the cloud: its log has lost the cloud, or the newest state was
// asked for and there is no proof that this is it. Clients show it: kubectl on standard error, client-go in its log. rev is
// the position that the answer is from.
func (s *Server) sayStale(q *read, rev uint64) {
	_, lost := q.log.Lost()
	if q.fresh == proved || q.fresh == asHeld && !lost {
		return
	}
	s.metrics.stale.Inc()
	since := "never"
	if last := s.lastContact(q.log); !last.IsZero() {
		since = last.UTC().Format(time.RFC3339)
	}
	q.w.Header().Add("Warning", warning(fmt.Sprintf("may be behind the cloud: last contact %s, resourceVersion %d", since, rev)))
}

// warning returns the value of a Warning header. Code 299 and agent "-" are what the Kubernetes API uses for all of them. It
// is empty for a text that can't be sent.
func warning(text string) string {
	value, err := utilnet.NewWarningHeader(299, "-", text)
	if err != nil {
		return ""
	}
	return value
}
