package litesrv

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// read is one GET, LIST or WATCH of a resource that is held here.
type read struct {
	w      http.ResponseWriter
	r      *http.Request
	target target
	query  url.Values
	log    *watchlog.Log
	res    *watchlog.Resource
	form   representation
}

// context returns the request's context with its timeout, if that is not the usual one.
func (q *read) context(timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == maxWait {
		return q.r.Context(), func() {}
	}
	return context.WithTimeout(q.r.Context(), timeout)
}

// read answers a request whose path and method have been found good. The order of the checks is kube-apiserver's.
func (s *Server) read(w http.ResponseWriter, r *http.Request, t target, l *watchlog.Log) {
	q := &read{w: w, r: r, target: t, query: r.URL.Query(), log: l, res: l.Resource()}
	if err := s.answer(q); err != nil {
		s.fail(w, r, err)
	}
}

func (s *Server) answer(q *read) error {
	collection := q.target.name == "" || q.target.watch
	watch := q.target.watch || collection && looseBool(q.query, "watch")
	timeout := maxWait
	var err error
	if !watch {
		if timeout, err = parseTimeout(q.query); err != nil {
			return err
		}
	}
	if !q.res.Custom && !hasRoute(q.r.Header.Get("Accept")) {
		return noRoute(collection)
	}
	if q.form, err = negotiate(q.r); err != nil {
		return err
	}
	if !collection {
		return s.get(q, timeout)
	}
	options, err := parseListOptions(q.query, q.res, q.target.name)
	if err != nil {
		return err
	}
	if watch {
		return s.watch(q, &options)
	}
	return s.list(q, &options, timeout)
}
