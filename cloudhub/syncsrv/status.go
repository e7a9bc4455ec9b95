package syncsrv

import (
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/identity"
)

// Status is how an edge with a session does. It is a few seconds old at most.
type Status struct {
	Edge     string
	Software string    // the edgehub's version
	Since    time.Time // when the session was opened
	// CertificateNotAfter is zero without a certificate.
	CertificateNotAfter time.Time
	// Resources is how many are synced, of those that are to be.
	Resources, Wanted int
	// Position is the newest revision that is durable at the edge, as far as it has said so; 0 for none.
	Position uint64
	// Objects and Bytes are what the edge holds, and the size of its file, as it last said.
	Objects, Bytes uint64
	// Behind is since when the edge has not had all that there is for it; zero while it has.
	Behind time.Time
}

// ackPatience is how long an edge may take to acknowledge what it was not asked to acknowledge at once: see Ack.
const ackPatience = 15 * time.Second

// standing is what a session remembers for its status. It belongs to whose turn the session is.
type standing struct {
	software      string
	opened        time.Time
	certificate   time.Time
	unacked       time.Time // since when something is under way; zero while nothing is
	position      uint64
	behind        time.Time
	resources, of int
}

// Statuses calls f for each edge that has a session.
func (s *Server) Statuses(f func(Status)) {
	s.mu.Lock()
	sessions := make([]*session, 0, len(s.sessions))
	for _, sess := range s.sessions {
		sessions = append(sessions, sess)
	}
	s.mu.Unlock()
	for _, sess := range sessions {
		if st := sess.status.Load(); st != nil {
			out := *st
			if r := sess.report.Load(); r != nil {
				out.Objects, out.Bytes = r.GetObjects(), r.GetBytes()
			}
			f(out)
		}
	}
}

// takeStock brings the session's status up to date, once a tick.
func (s *session) takeStock(now time.Time) {
	w := &s.standing
	if w.opened.IsZero() {
		w.opened, w.behind = now, now
		if c, ok := identity.FromContext(s.ctx); ok {
			w.certificate = c.NotAfter()
		}
	}
	received := s.received.Load()
	switch {
	case received >= s.sent:
		w.unacked = time.Time{}
	case w.unacked.IsZero():
		w.unacked = now
	}
	w.resources, w.of = 0, len(s.subs)
	for _, u := range s.subs {
		w.position = max(w.position, u.durable)
		if u.phase == live && !u.isLost() {
			w.resources++
		}
	}
	late := !w.unacked.IsZero() && now.Sub(w.unacked) > ackPatience
	switch {
	case w.resources == w.of && !late:
		w.behind = time.Time{}
	case w.behind.IsZero():
		w.behind = now
	}
	next := Status{
		Edge: s.edge, Software: w.software, Since: w.opened, CertificateNotAfter: w.certificate,
		Resources: w.resources, Wanted: w.of, Position: w.position, Behind: w.behind,
	}
	if last := s.status.Load(); last == nil || *last != next {
		s.status.Store(&next)
	}
}
