package kube

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// listWatch lists and watches one resource for a reflector. It is immutable.
type listWatch struct {
	client      rest.Interface
	resource    *watchlog.Resource
	dec         *watchlog.Decoder
	listAccept  string
	watchAccept string
	printer     *printer // what to make of tables; nil when they are not asked for
	health      health
	relist      *relist
	past        *past                       // nil when nothing depends on it
	cluster     func(context.Context) error // fails when another cluster answers; nil when that does not matter
}

// health hears how requests went.
type health interface {
	requestFailed(err error)  // a list or watch could not be opened, or a watch ended with an error
	resuming(context.Context) // a watch from where the last one ended was answered, and lasts as long as the context
	resumed()                 // it goes on from there
	rewound(err error)        // the cloud was restored from a backup
	redefined()               // the table has other columns than the resource had
}

// lister returns lw in the form that reflectors take. A reflector uses WatchList with anything that does not say that it
// can't, and a cache.ListWatch does not.
func (lw *listWatch) lister() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			err := lw.sameCluster(ctx)
			var list runtime.Object
			if err == nil {
				list, err = lw.list(ctx, o)
			}
			if err != nil {
				lw.health.requestFailed(err)
				return nil, err
			}
			return list, nil
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			w, err := lw.watch(ctx, o)
			if err != nil {
				lw.health.requestFailed(err)
				return nil, lw.inPlace(o, err)
			}
			return w, nil
		},
	}
}

func (lw *listWatch) request(o *metav1.ListOptions, accept string) *rest.Request {
	r := lw.client.Get().Resource(lw.resource.Name).
		SpecificallyVersionedParams(o, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).
		SetHeader("Accept", accept)
	if lw.printer != nil {
		r.Param("includeObject", string(metav1.IncludeObject))
	}
	return r
}

// consistent returns the revision to read the whole state at, which a reflector asks for at rv or later: as it is now. A
// reflector's rv may be behind the log's position, and an older state would look like a cloud that was restored.
func consistent(rv string) string {
	if rv == "0" {
		return rv // the first one
	}
	return ""
}

func (lw *listWatch) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	if o.ResourceVersionMatch == "" {
		o.ResourceVersion = consistent(o.ResourceVersion)
	}
	result := lw.request(&o, lw.listAccept).Do(ctx)
	if err := result.Error(); err != nil {
		return nil, err
	}
	body, err := result.Raw()
	if err != nil {
		return nil, err
	}
	if lw.printer == nil {
		return parseList(body, lw.dec, lw.resource)
	}
	return lw.tableList(body)
}

// tableList decodes a list that was asked for as a table into items for the reflector.
func (lw *listWatch) tableList(body []byte) (runtime.Object, error) {
	if !isTable(body) {
		return nil, lw.otherTable()
	}
	t, err := parseTable(body)
	if err != nil {
		return nil, fmt.Errorf("list of %s: %w", lw.resource.GroupResource(), err)
	}
	if !definedAs(t.Columns, lw.resource) {
		return nil, lw.otherTable()
	}
	list := &internalversion.List{ListMeta: t.Metadata, Items: make([]runtime.Object, len(t.Rows))}
	j := lw.joiner()
	for i := range t.Rows {
		o, err := j.join(t.Rows[i])
		if err != nil {
			return nil, fmt.Errorf("list of %s: %w", lw.resource.GroupResource(), err)
		}
		list.Items[i] = newItem(o)
	}
	return list, nil
}

func (lw *listWatch) joiner() *rowJoiner { return &rowJoiner{printer: lw.printer, dec: lw.dec} }

// otherTable ends the following of a resource that is not printed as it was: it has to be described anew.
func (lw *listWatch) otherTable() error {
	lw.health.redefined()
	return errOtherTable
}

// errOtherTable is an answer that is no table, or one of other columns than before.
var errOtherTable = errors.New("the table has other columns than before")

func (lw *listWatch) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	if err := lw.sameCluster(ctx); err != nil {
		return nil, err
	}
	if !isWatchList(o) {
		from, err := lw.resumeFrom(ctx, o.ResourceVersion)
		if err != nil {
			return nil, err
		}
		o.ResourceVersion = from
	}
	if isWatchList(o) {
		o.ResourceVersion = consistent(o.ResourceVersion)
	}
	o.Watch = true
	reqCtx, cancel := context.WithCancel(ctx)
	body, err := lw.request(&o, lw.watchAccept).Stream(reqCtx)
	if err != nil {
		cancel()
		return nil, err
	}
	lw.relist.onAsk(cancel)
	f := newFrames(reqCtx, cancel, body, lw)
	if f.initial = isWatchList(o); !f.initial {
		f.resuming = true
		lw.health.resuming(reqCtx)
	}
	if o.TimeoutSeconds != nil {
		f.due = time.Now().Add(time.Duration(*o.TimeoutSeconds-1) * time.Second)
	}
	return watch.NewStreamWatcherWithLogger(klog.FromContext(ctx), f, statusReporter{}), nil
}

func isWatchList(o metav1.ListOptions) bool {
	return o.SendInitialEvents != nil && *o.SendInitialEvents
}

// sameCluster fails when another cluster answers now.
func (lw *listWatch) sameCluster(ctx context.Context) error {
	if lw.cluster == nil {
		return nil
	}
	return lw.cluster(ctx)
}

// resumeFrom returns where a plain watch whose position is rv may start. A watch from a revision that the cloud does not have is not
// refused: it is silent until the cloud gets there, and skips all that happens meanwhile. So an etcd restored from a
// backup would never be noticed.
func (lw *listWatch) resumeFrom(ctx context.Context, rv string) (string, error) {
	if lw.relist.wanted() {
		return "", apierrors.NewResourceExpired("everything is read again")
	}
	want, err := parseRev(rv)
	if err != nil {
		return rv, nil //nolint:nilerr // "" and "0" start with a list
	}
	p, err := newProbe(ctx, lw.client, lw.resource.Name, lw.resource.Namespaced)
	if err != nil {
		return "", err
	}
	if p.rev < want {
		return "", apierrors.NewResourceExpired(fmt.Sprintf("the cloud is at revision %d, before %d", p.rev, want))
	}
	return lw.since(ctx, rv)
}

// inPlace returns the error that a reflector gets for err. It tries again in place after a 429 only; after anything
// else it lists, which leaves a gap in the log. A watch that is merely refused for a while can do without: its position
// stays good until the server says that it is not.
func (lw *listWatch) inPlace(o metav1.ListOptions, err error) error {
	if isWatchList(o) || isFinal(err) {
		return err
	}
	return apierrors.FromObject(retryInPlace(err.Error()))
}

// retryInPlace returns the one Status after which a reflector resumes its watch, when it has backed off.
func retryInPlace(reason string) *metav1.Status {
	return &apierrors.NewTooManyRequests(reason, 0).ErrStatus
}

// isFinal tells whether trying the same watch again can't help.
func isFinal(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return errors.Is(err, context.Canceled) // otherwise the network's
	}
	switch status.Status().Code {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	default:
		return status.Status().Code < http.StatusInternalServerError
	}
}

// statusReporter turns an error that ended a watch into the event that the reflector gets.
type statusReporter struct{}

// AsObject returns a Status that makes the reflector list again.
func (statusReporter) AsObject(err error) runtime.Object {
	return apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding").AsObject(err)
}
