package syncsrv

// watchChanges starts to tell all sessions when scopes or API documents have changed. Sessions that are admitted later look at
// both by themselves.
func (s *Server) watchChanges() {
	docs, scopes := s.cfg.Source.Documents(), s.cfg.Scopes
	docsChanged, scopesChanged := docs.Changed(), scopes.Changed()
	s.wg.Go(func() {
		for {
			select {
			case <-s.stop:
				return
			case <-docsChanged:
				docsChanged = docs.Changed() // before anybody looks
				s.each(func(sess *session) { s.queue.later(&sess.job) })
			case <-scopesChanged:
				scopesChanged = scopes.Changed()
				s.each(func(sess *session) {
					sess.rescoped.Store(true)
					sess.Wake()
				})
			}
		}
	})
}

// each calls f for the newest session of each edge.
func (s *Server) each(f func(*session)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sess := range s.sessions {
		f(sess)
	}
}
