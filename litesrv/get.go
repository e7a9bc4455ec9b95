package litesrv

import (
	"context"
	"fmt"
	"net/http"
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
	snap, err := s.getSnapshot(ctx, q)
	if err != nil {
		return err
	}
	s.sayStale(q.w, q.log, snap.Rev())
	o := snap.Get(watchlog.KeyOf(q.target.namespace, name))
	if o == nil {
		return apierrors.NewNotFound(q.res.GroupResource(), name)
	}
	if err := q.form.shape.ofObject(q.res); err != nil {
		return err
	}
	return q.writeObject(o)
}

// writeObject answers with an object.
func (q *read) writeObject(o *watchlog.Object) error {
	b := newBody(q.w, q.r, http.StatusOK, q.form)
	b.buf = append(q.form.shape.appendObject(b.buf, o, o.Rev()), '\n')
	if q.form.encoding == encodeYAML {
		out, err := appendYAML(nil, b.buf)
		if err != nil {
			b.abandon()
			return err
		}
		b.buf = append(b.buf[:0], out...)
	}
	b.finish()
	return nil
}

func (s *Server) getSnapshot(ctx context.Context, q *read) (watchlog.Snapshot, error) {
	text := q.query.Get("resourceVersion")
	rev, err := parseRevision(text)
	switch {
	case err != nil:
		return watchlog.Snapshot{}, badRevision(text, err)
	case text == "":
		return s.consistent(ctx, q.log)
	default:
		return s.atLeast(ctx, q.log, rev, retryOf(q.res))
	}
}

// retryOf returns after how many seconds a client may ask again for a revision ahead of the store.
func retryOf(r *watchlog.Resource) int32 {
	if direct(r) {
		return 0
	}
	return tooLargeRetry
}
