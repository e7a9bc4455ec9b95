package litesrv

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The errors of this file have the texts and shapes of kube-apiserver 1.37; where one comes from is said beside it.

// expiredList is apiserver pkg/storage/etcd3/errors.go, as are the two below.
const (
	expiredList     = "The resourceVersion for the provided list is too old."
	expiredWatch    = "The resourceVersion for the provided watch is too old."
	expiredContinue = "The provided continue parameter is too old to display a consistent list result. You can start a new " +
		"list without the continue parameter, or use the continue token in this response to retrieve the remainder of the " +
		"results. Continuing with the provided token results in an inconsistent list - objects that were created, " +
		"modified, or deleted between the time the first chunk was returned and now may show up in the list."
)

// tooLargeRetry is the number of seconds after which a client may ask again for a revision that isn't there yet.
const tooLargeRetry = 1

// fault returns an error that is shown to the client as a Status.
func fault(code int32, reason metav1.StatusReason, message string, details *metav1.StatusDetails) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: details,
	}}
}

// notServed is the answer of go-restful for a path below a group that has none for it.
func notServed() *apierrors.StatusError {
	return fault(http.StatusNotFound, metav1.StatusReasonNotFound,
		"the server could not find the requested resource", &metav1.StatusDetails{})
}

// notAllowed is the answer of go-restful for a method that a path has no route for.
func notAllowed() *apierrors.StatusError {
	return fault(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource", &metav1.StatusDetails{})
}

// tooLarge is apiserver pkg/storage/errors.go, NewTooLargeResourceVersionError. Clients recognise it by its cause.
func tooLarge(wanted, current uint64, retrySeconds int32) *apierrors.StatusError {
	return fault(http.StatusGatewayTimeout, metav1.StatusReasonTimeout,
		fmt.Sprintf("Timeout: Too large resource version: %d, current: %d", wanted, current),
		&metav1.StatusDetails{
			Causes: []metav1.StatusCause{{
				Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
			}},
			RetryAfterSeconds: retrySeconds,
		})
}

// initializing is apiserver pkg/storage/cacher/ready.go.
func initializing() *apierrors.StatusError {
	return apierrors.NewTooManyRequests("storage is (re)initializing", 1)
}

// stopping is for requests that were waiting when the server was told to stop.
func stopping() *apierrors.StatusError {
	return fault(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
		"apiserver is shutting down", &metav1.StatusDetails{RetryAfterSeconds: 1})
}

// starting is apiserver pkg/server/config.go for requests before all paths are known.
func starting() *apierrors.StatusError {
	return fault(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
		"the request has been made before all known HTTP paths have been installed, please try again",
		&metav1.StatusDetails{RetryAfterSeconds: 5})
}

// unavailable is for what only the cloud can do while there is no way to it. It has no Retry-After: clients would
// repeat the request for seconds before they report it.
func unavailable(gr schema.GroupResource, name, what string) *apierrors.StatusError {
	return fault(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
		what+" is not available at this edge", &metav1.StatusDetails{Name: name, Group: gr.Group, Kind: gr.Resource})
}

// noOpenAPI is for the OpenAPI documents of a cloud that were not brought to this edge: they do exist, and a client that
// is told otherwise takes the cloud for one that describes nothing.
func noOpenAPI() *apierrors.StatusError {
	return fault(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable,
		"OpenAPI documents are not available at this edge", nil)
}

// badRevision is apiserver pkg/storage/api_object_versioner.go, which GET and WATCH wrap in nothing: a 500 without a
// reason.
func badRevision(value string, cause error) *apierrors.StatusError {
	return fault(http.StatusInternalServerError, "", badRevisionText(value, cause), nil)
}

// badListRevision is how LIST wraps the same (apiserver pkg/storage/interfaces.go).
func badListRevision(value string, cause error) *apierrors.StatusError {
	return apierrors.NewBadRequest("invalid resource version: " + badRevisionText(value, cause))
}

func badRevisionText(value string, cause error) string {
	return fmt.Sprintf("resourceVersion: Invalid value: %q: %v", value, cause)
}

// parseRevision reads a resourceVersion; "" is 0.
func parseRevision(value string) (uint64, error) {
	if value == "" {
		return 0, nil
	}
	return strconv.ParseUint(value, 10, 64)
}

// statusOf returns the Status that an error is shown as. One that isn't meant for clients becomes a 500.
func statusOf(err error) *metav1.Status {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	status := api.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	if status.Status == "" {
		status.Status = metav1.StatusFailure
	}
	if status.Code == 0 {
		status.Code = http.StatusInternalServerError
	}
	return &status
}
