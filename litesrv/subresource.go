package litesrv

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// statusSubresource is the subresource whose GET answers with the object itself.
const statusSubresource = "status"

// subresource answers for what is below an object: it is the cloud's, if it exists.
func (s *Server) subresource(w http.ResponseWriter, r *http.Request, t target, custom bool) {
	k, ok := s.catalog().kinds[t.gvr()]
	if ok && !k.hasSubresource(t.subresource) {
		s.ask(w, r, func() {
			if custom {
				s.fail(w, r, apierrors.NewNotFound(t.groupResource(), t.name))
			} else {
				s.fail(w, r, notServed())
			}
		})
		return
	}
	s.elsewhere(w, r, t, t.groupResource().String()+"/"+t.subresource)
}

// admitStatus tells whether a request for the status of an object of a resource that is held here is a read, which is
// answered from the store. If not it has answered it.
func (s *Server) admitStatus(w http.ResponseWriter, r *http.Request, t target, custom bool) bool {
	k := s.catalog().kinds[t.gvr()]
	switch {
	case !k.readsSubresource(statusSubresource):
		s.subresource(w, r, t, custom)
	case !custom && (t.watch || t.deeper):
		s.fail(w, r, notServed())
	case t.watch:
		s.fail(w, r, refuseMethod(t, t.verb(r.Method), custom))
	case r.Method == http.MethodGet || custom && r.Method == http.MethodHead:
		return true
	case r.Method == http.MethodPut || r.Method == http.MethodPatch:
		s.subresource(w, r, t, custom)
	default:
		s.fail(w, r, refuseMethod(t, t.verb(r.Method), custom))
	}
	return false
}
