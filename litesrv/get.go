package litesrv

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// get answers with one object: without a resourceVersion the newest, with 0 any, else one at least that new.
func (s *Server) get(ctx context.Context, q *read, timeout time.Duration) error {
	if looseBool(q.query, "export") {
		return apierrors.NewBadRequest("the export parameter, deprecated since v1.14, is no longer supported")
	}
	name := q.target.name
	if msgs := content.IsPathSegmentName(name); len(msgs) > 0 {
		return apierrors.NewBadRequest(fmt.Sprintf("Name parameter invalid: %q: %s", name, strings.Join(msgs, ";")))
	}
	ctx, cancel := within(ctx, timeout)
	defer cancel()
	if err := s.ready(ctx, q.log); err != nil {
		return err
	}
	q.part = Part{Namespace: q.target.namespace, Name: name}
	snap, err := s.getSnapshot(ctx, q)
	if err != nil {
		return err
	}
	s.sayStale(q, snap.Rev())
	o := snap.Get(watchlog.KeyOf(q.target.namespace, name))
	if o == nil {
		return s.missing(q, apierrors.NewNotFound(q.res.GroupResource(), name))
	}
	if err := q.form.shape.ofObject(q.res); err != nil {
		return err
	}
	return s.writeObject(q, o)
}

// missing answers for an object that is not here. The cloud may have it: outside the scope, or since a moment ago.
func (s *Server) missing(q *read, notFound error) error {
	if _, lost := q.log.Lost(); lost {
		return notFound
	}
	s.ask(q.w, q.r, func() { s.fail(q.w, q.r, notFound) })
	return nil
}

// writeObject answers with an object.
func (s *Server) writeObject(q *read, o *watchlog.Object) error {
	b := newBody(q.w, q.r, q.form)
	out, err := s.appendObject(b.buf, q, o)
	if err != nil {
		b.abandon()
		return err
	}
	b.buf = out
	b.finish()
	return nil
}

// appendObject appends an object in the representation that the client wants.
func (s *Server) appendObject(dst []byte, q *read, o *watchlog.Object) ([]byte, error) {
	switch q.form.encoding {
	case encodeYAML:
		return appendYAML(dst, q.form.shape.appendObject(nil, o, o.Rev()))
	case encodeProtobuf:
		message, err := s.proto.message(q.res, q.form.shape, o, o.Rev())
		if err != nil {
			return dst, err
		}
		return q.form.shape.typeMeta(q.res).appendMessage(dst, message), nil
	default:
		return append(q.form.shape.appendObject(dst, o, o.Rev()), '\n'), nil
	}
}

func (s *Server) getSnapshot(ctx context.Context, q *read) (watchlog.Snapshot, error) {
	text := q.query.Get("resourceVersion")
	rev, err := parseRevision(text)
	switch {
	case err != nil && direct(q.res):
		return watchlog.Snapshot{}, badListRevision(text, err)
	case err != nil:
		return watchlog.Snapshot{}, badRevision(text, err)
	case text == "":
		return s.consistent(ctx, q)
	default:
		return s.atLeast(ctx, q, rev, retryOf(q.res))
	}
}

// retryOf returns after how many seconds a client may ask again for a revision ahead of the store.
func retryOf(r *watchlog.Resource) int32 {
	if direct(r) {
		return 0
	}
	return tooLargeRetry
}
