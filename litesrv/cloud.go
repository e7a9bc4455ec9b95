package litesrv

import "net/http"

// elsewhere answers with what only the cloud can do.
func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request, t target, what string) {
	if s.cfg.Fallback == nil {
		s.fail(w, r, unavailable(t.groupResource(), t.name, what))
		return
	}
	if s.cfg.Prover != nil && isWrite(r, t) {
		s.passWrite(w, r, t, func(w http.ResponseWriter) { s.fallBack(w, r) })
		return
	}
	s.fallBack(w, r)
}

// fallBack passes a request on, without the headers that the other side will set. The request has the same Audit-Id
// there as here.
func (s *Server) fallBack(w http.ResponseWriter, r *http.Request) {
	if id := w.Header()["Audit-Id"]; len(id) > 0 && r.Header.Get("Audit-Id") == "" {
		r = r.WithContext(r.Context())
		r.Header = r.Header.Clone()
		r.Header["Audit-Id"] = id
	}
	w.Header().Del("Audit-Id")
	w.Header().Del("Cache-Control")
	s.cfg.Fallback.ServeHTTP(w, r)
}

// online tells whether the cloud can be asked.
func (s *Server) online() bool {
	return s.cfg.Fallback != nil && (s.cfg.Online == nil || s.cfg.Online())
}

// ask answers from the cloud what does not exist here, or with local when the cloud can't be asked. For a client without
// credentials of its own the same goes when the cloud refuses: to the edge's own user, what its scope does not have does
// not exist.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, local func()) {
	switch {
	case !s.online():
		local()
	case r.Header.Get("Authorization") != "":
		s.fallBack(w, r)
	default:
		t := &trial{ResponseWriter: w, header: w.Header().Clone()}
		if s.fallBack(t, r); t.refused {
			local()
		}
	}
}

// askUnknown is ask for a resource that discovery does not name here, which may be because it is so new.
func (s *Server) askUnknown(w http.ResponseWriter, r *http.Request, t target, local func(http.ResponseWriter)) {
	pass := func(w http.ResponseWriter) { s.ask(w, r, func() { local(w) }) }
	if s.cfg.Prover != nil && isWrite(r, t) {
		s.passWrite(w, r, t, pass)
		return
	}
	pass(w)
}

// beyond has the cloud answer a read of what is held here with no more than could be held here. It returns false, and
// nothing is answered, when that can't be had or the cloud refuses.
func (s *Server) beyond(w http.ResponseWriter, r *http.Request) bool {
	if s.cfg.Beyond == nil {
		return false
	}
	t := &trial{ResponseWriter: w, header: w.Header().Clone()}
	return s.cfg.Beyond(t, r) && !t.refused
}
