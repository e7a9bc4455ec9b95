package litesrv

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// ErrUnknownResource is what a Backend returns for a resource that it does not hold.
var ErrUnknownResource = apidoc.ErrUnknownResource

// Backend is what a Server answers from. It is called by any number of goroutines.
type Backend interface {
	// Log returns the log of a resource, which may not be ready yet, and which says itself (Lost) when it may be behind
	// the cloud. It is called once for each request and must be quick. An error that wraps ErrUnknownResource means that
	// the resource is not held here; one that is an apierrors.APIStatus is shown to the client as it is; any other becomes
	// a 503.
	Log(gvr schema.GroupVersionResource) (*watchlog.Log, error)
	// Documents returns the cloud's API documents. They also decide which resources exist.
	Documents() *apidoc.Set
}

// Config is what a Server needs. Only Backend is required.
type Config struct {
	Backend Backend
	// Prover proves that answers to requests without a resourceVersion are as new as these ask for. Without a proof they
	// carry a Warning. nil: what the logs have is all there is.
	Prover Prover
	// LocalReads leaves such reads without a proof, and so with the Warning. What was written through this server is seen
	// by them all the same.
	LocalReads bool
	// LastContact tells when the cloud was last heard of, for the Warning. nil: now, while the log follows it.
	LastContact func() time.Time
	// Fallback answers what the store can't: writes, subresources, resources that are not held. nil answers these with
	// 503.
	Fallback http.Handler
	// Demand brings a resource here that Backend does not hold, and returns its log once that is ready. It is called for
	// reads of resources that discovery knows with LIST and WATCH, by any number of goroutines, and any error means that
	// the read goes to Fallback. nil: what is not held can't be had.
	Demand func(ctx context.Context, gvr schema.GroupVersionResource) (*watchlog.Log, error)
	// DemandWait is how long a read waits for Demand. 0 means 3 s.
	DemandWait time.Duration
	// Online tells whether Fallback can answer at this moment. While it can, it is also asked for what does not exist
	// here: objects, resources and documents that the cloud may have. nil means always.
	Online func() bool
	// Beyond answers, while the backend is live, those reads of what is held that the store can't answer, with objects that
	// could be held here and no others: exact reads of positions that have left the window, reads of positions that
	// kube-apiserver does not wait for, and protobuf that can't be made here. It replaces headers that are set already, and
	// returns false, without having answered, when it can't. nil never can.
	Beyond func(w http.ResponseWriter, r *http.Request) bool
	// Authenticator and Authorizer decide who may do what; both or none. Without them everybody may do everything, calls to
	// the cloud with Fallback's credentials among it.
	Authenticator Authenticator
	Authorizer    Authorizer
	// Synced is the "sync" check of /readyz: nil once every resource has finished its first sync. nil means it has.
	Synced func() error
	// Logger gets one debug record for each request. nil discards.
	Logger *slog.Logger
	// Metrics gets the server's metrics. nil registers none.
	Metrics prometheus.Registerer
}

// Validate tells what is missing.
func (c *Config) Validate() error {
	if c.Backend == nil {
		return errors.New("litesrv: a Backend is required")
	}
	if (c.Authenticator == nil) != (c.Authorizer == nil) {
		return errors.New("litesrv: an Authenticator without an Authorizer, or the other way round")
	}
	return nil
}
