package litesrv

import (
	"fmt"
	"math"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// direct tells whether kube-apiserver reads the resource from etcd instead of a cache: it has a watch cache of size 0
// for events. Lists of these honour limit at resourceVersion 0, a future revision is refused at once and without a time
// to come back, and watches get no bookmark but the one that ends the initial events.
func direct(r *watchlog.Resource) bool {
	return r.Name == "events" && (r.Group == "" || r.Group == "events.k8s.io")
}

// wraps tells whether kube-apiserver takes rev for a negative revision when it asks etcd for it.
func wraps(rev uint64) bool { return rev > math.MaxInt64 }

// wrapped is the answer to a list at such a revision (apiserver pkg/storage/etcd3/store.go).
func wrapped(rev, current uint64) *apierrors.StatusError {
	return fault(http.StatusInternalServerError, "",
		fmt.Sprintf("etcd returned revision %d for a list read at revision %d", current, int64(rev)), nil) //nolint:gosec // see wraps
}
