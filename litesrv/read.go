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

// within returns a context that ends with a timeout, if that is not the usual one, which no answer takes.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == maxWait {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// read answers a request whose path and method have been found good. The order of the checks is kube-apiserver's.
func (s *Server) read(w http.ResponseWriter, r *http.Request, t target, l *watchlog.Log) {
	q := &read{w: w, r: r, target: t, query: r.URL.Query(), log: l, res: l.Resource()}
	if err := s.answer(r.Context(), q); err != nil {
		s.fail(w, r, err)
	}
}

func (s *Server) answer(ctx context.Context, q *read) error {
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
		types := mediaTypes("")
		if collection {
			types = append(types, streamTypes()...)
		}
		return noRoute(types)
	}
	if q.form, err = negotiate(q.r); err != nil {
		return err
	}
	if !collection {
		return s.get(ctx, q, timeout)
	}
	options, err := parseListOptions(q.query, q.res, q.target.name)
	if err != nil {
		return err
	}
	if watch {
		return s.watch(ctx, q, &options)
	}
	return s.list(ctx, q, &options, timeout)
}
