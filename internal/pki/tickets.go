package pki

import (
	"crypto/tls"
	"sync"
)

// tickets are the TLS sessions that a client may resume: they save both sides the certificates, their proofs and what it
// takes to verify them, which is most of a handshake. They are kept in memory alone, and go when the client's certificate
// is replaced: a session that is resumed is that of the certificate which began it.
//
// What still holds of a session that is resumed, by crypto/tls: keys are exchanged anew; no side goes on with a
// certificate of the other that has expired, or whose CA it does not trust any more; Config.VerifyConnection is called,
// with the certificates of then.
type tickets struct {
	pair *keyPair

	mu    sync.Mutex // guards all below
	of    *tls.Certificate
	cache tls.ClientSessionCache
}

// maxTickets is how many hubs' tickets are kept.
const maxTickets = 16

// Get returns the session to resume with a server.
func (t *tickets) Get(server string) (*tls.ClientSessionState, bool) {
	cert, err := t.pair.get()
	if err != nil {
		return nil, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of != cert {
		t.of, t.cache = cert, tls.NewLRUClientSessionCache(maxTickets)
	}
	return t.cache.Get(server)
}

// Put keeps a session, unless the certificate was replaced since the handshake began.
func (t *tickets) Put(server string, s *tls.ClientSessionState) {
	cert, err := t.pair.get()
	t.mu.Lock()
	defer t.mu.Unlock()
	if err == nil && t.of == cert {
		t.cache.Put(server, s)
	}
}
