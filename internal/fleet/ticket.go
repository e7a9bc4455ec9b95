package fleet

import "crypto/tls"

// ticket keeps the last TLS session of an edge, so that it resumes it when it comes back to the same hub. It is an edge's
// tls.ClientSessionCache, and belongs to the edge's goroutine.
type ticket struct {
	key   string
	state *tls.ClientSessionState // nil for none
}

// Get returns the session of a server.
func (t *ticket) Get(key string) (*tls.ClientSessionState, bool) {
	return t.state, t.state != nil && t.key == key
}

// Put keeps a session, or forgets a server's.
func (t *ticket) Put(key string, state *tls.ClientSessionState) {
	if state != nil || t.key == key {
		t.key, t.state = key, state
	}
}
