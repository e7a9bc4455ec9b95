package litesrv

import (
	"context"
	"errors"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// listing is which state a list is answered from and where in it the list begins.
type listing struct {
	snap  watchlog.Snapshot
	from  string // the first key
	limit int64  // 0 is none
	exact bool   // the state is of the revision that was asked for, so it can't be behind
	// latest is set when the newest state is listed from its beginning, which kube-apiserver may do by an index.
	latest bool
}

// list answers with the selected objects.
func (s *Server) list(ctx context.Context, q *read, o *listOptions, timeout time.Duration) error {
	ctx, cancel := within(ctx, timeout)
	defer cancel()
	sel := newSelection(q.res, q.target.namespace, o)
	q.part = partOf(&sel, o)
	at, err := s.listing(ctx, q, o, sel.key != "")
	if err != nil {
		return err
	}
	if !at.exact {
		s.sayStale(q, at.snap.Rev())
	}
	if err := q.form.shape.ofList(q.res); err != nil {
		return err
	}
	p := newPage(at, &sel, q.target.namespace)
	defer p.release()
	return s.writePage(q, p)
}

// writePage answers with a list. When it turns out in the midst of that that it can't be encoded, the connection is cut.
func (s *Server) writePage(q *read, p *page) error {
	b := newBody(q.w, q.r, q.form)
	w := pageWriter{page: p, res: q.res, form: q.form, body: b, proto: s.proto}
	err := w.write()
	switch {
	case err == nil:
		b.finish()
		return nil
	case b.begun:
		b.abandon()
		panic(http.ErrAbortHandler)
	default:
		b.abandon()
		return err
	}
}

// listing decides what a list is answered from: the rows of the table in the Kubernetes documentation, "Semantics for
// get and list", as implemented by apiserver pkg/storage/cacher. single is set for a list of one key, which doesn't
// know the legacy meaning of a revision together with a limit.
func (s *Server) listing(ctx context.Context, q *read, o *listOptions, single bool) (listing, error) {
	at := listing{limit: max(0, o.Limit)}
	if o.ResourceVersion == "0" && !direct(q.res) {
		at.limit = 0
	}
	if o.Continue != "" {
		return s.continued(ctx, q, o, at)
	}
	rev, err := parseRevision(o.ResourceVersion)
	if err != nil {
		return at, badListRevision(o.ResourceVersion, err)
	}
	if err := s.ready(ctx, q.log); err != nil {
		return at, err
	}
	legacy := o.ResourceVersionMatch == "" && o.Limit > 0
	exact := o.ResourceVersionMatch == metav1.ResourceVersionMatchExact
	retry := retryOf(q.res)
	if single && (legacy || exact) {
		retry = 0 // kube-apiserver reads these from etcd
	}
	at.exact = rev > 0 && (exact || legacy && !single)
	at.latest = !at.exact
	switch {
	case at.exact:
		at.snap, err = s.exactly(ctx, q, rev, retry)
	case o.ResourceVersion == "":
		at.snap, err = s.consistent(ctx, q)
	default:
		at.snap, err = s.atLeast(ctx, q, rev, retry)
	}
	return at, err
}

// continued finds the state and the beginning of a further page.
func (s *Server) continued(ctx context.Context, q *read, o *listOptions, at listing) (listing, error) {
	token, err := decodeContinue(o.Continue)
	if err != nil {
		return at, apierrors.NewBadRequest("invalid continue token: " + err.Error())
	}
	if o.ResourceVersion != "" && o.ResourceVersion != "0" {
		return at, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	if err := s.ready(ctx, q.log); err != nil {
		return at, err
	}
	at.from = token.from(q.target.namespace)
	if token.Rev < 0 {
		at.snap, err = s.consistent(ctx, q)
		return at, err
	}
	at.exact = true
	at.snap, err = s.exactly(ctx, q, uint64(token.Rev), retryOf(q.res))
	var beyond errBeyond
	if errors.As(err, &beyond) && apierrors.IsResourceExpired(err) {
		return at, errBeyond{token.expired(), beyond.live}
	}
	return at, err
}
