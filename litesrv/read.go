package litesrv

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

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
	part   Part // what it is about
	fresh  freshness
	alone  bool // the cloud has been asked in vain
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
	s.respond(r.Context(), q)
}

// respond answers, or has the cloud answer what can't be encoded here or is of a position that is not here, with no more
// than could be held here. When that can't be had, it is the client's next choice that is encoded, or an error.
func (s *Server) respond(ctx context.Context, q *read) {
	err := s.answer(ctx, q)
	for errors.Is(err, errUnproducible) {
		// Nothing was written, and it is known now: each round leaves fewer representations.
		q.w.Header().Del("Warning")
		err = s.answer(ctx, q)
	}
	var behind errBeyond
	switch {
	case errors.Is(err, errElsewhere), errors.As(err, &behind) && behind.live:
		q.w.Header().Del("Warning") // the cloud has its own
		if !s.beyond(q.w, q.r) {
			q.alone = true
			s.respond(ctx, q)
		}
	case err != nil:
		s.fail(q.w, q.r, err)
	}
}

// represent chooses the representation.
func (s *Server) represent(q *read) error {
	form, err := s.producible(q)
	if form.shape.kind != "" {
		form.shape.derived = derivedOf(q.res)
	}
	if form.shape.kind == kindTable {
		form.shape.table = newTableForm(q.query, q.res)
	}
	q.form = form
	return err
}

// producible chooses the representation of those that can be had. What would be protobuf with kube-apiserver but can't be
// produced here is the cloud's to answer while it is followed, which errElsewhere says, else the client's next choice, as
// it is at once for a table that the cloud has none of either.
func (s *Server) producible(q *read) (representation, error) {
	all := offer{object: true, protobuf: !q.res.Custom, partial: true, table: true}
	form, err := negotiate(q.r, all)
	if err != nil || s.can(q.res, form) {
		return form, err
	}
	if _, lost := q.log.Lost(); form.encoding == encodeProtobuf && !lost && !q.alone && s.cfg.Beyond != nil {
		return form, errElsewhere
	}
	all.protobuf = all.protobuf && s.proto.can(q.res, shape{})
	all.partial = s.proto.can(q.res, shape{kind: kindPartial})
	all.table = q.res.Columns != ""
	return negotiate(q.r, all)
}

// can tells whether what a client wants can be produced: tables only of what the cloud gives tables of.
func (s *Server) can(r *watchlog.Resource, p representation) bool {
	if p.shape.kind == kindTable {
		return r.Columns != ""
	}
	return p.encoding != encodeProtobuf || s.proto.can(r, p.shape)
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
	if !q.res.Custom && !hasRoute(q.r.Header.Get("Accept"), routed) {
		types := mediaTypes("")
		if collection {
			types = append(types, streamTypes()...)
		}
		return noRoute(types)
	}
	if q.res.Deprecated != "" {
		q.w.Header().Add("Warning", warning(q.res.Deprecated))
	}
	if q.target.blank && !collection && !q.res.Custom {
		return apierrors.NewBadRequest("Namespace parameter required.")
	}
	if err = s.represent(q); err != nil {
		return err
	}
	s.repay(ctx, q)
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
