package litesrv

import (
	"context"
	"net/http"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// demandWait is how long a read waits for a resource to be brought here, when Config does not say.
const demandWait = 3 * time.Second

// demand answers a read of a resource that is not held here but can be had; false when it is to be answered elsewhere.
func (s *Server) demand(w http.ResponseWriter, r *http.Request, t target, k *kind) bool {
	if s.cfg.Demand == nil || r.Method != http.MethodGet && r.Method != http.MethodHead || !k.has("list") || !k.has("watch") {
		return false
	}
	l := s.fetch(r.Context(), t)
	if l == nil {
		return false
	}
	if s.admit(w, r, t, l.Resource()) {
		s.read(w, r, t, l)
	}
	return true
}

// fetch has a resource brought here and returns its log, nil when it does not come in time.
func (s *Server) fetch(ctx context.Context, t target) *watchlog.Log {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.DemandWait)
	defer cancel()
	l, err := s.cfg.Demand(ctx, t.gvr())
	if err != nil {
		s.log.Debug("not to be had on demand", "resource", t.groupResource(), "version", t.version, "err", err)
		return nil
	}
	return l
}
