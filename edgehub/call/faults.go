package call

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// retrySeconds is when a client may try again. Clients of Kubernetes do so by themselves, ten times, before they report
// the error.
const retrySeconds = 1

// nothingSent is the key of a trailer by which the hub says that nothing of a request has reached the API server.
const nothingSent = "tombolo-nothing-sent"

// fault returns an error that is shown to the client as a Status.
func fault(code int32, reason metav1.StatusReason, message string, retry int32) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message,
		Details: &metav1.StatusDetails{RetryAfterSeconds: retry},
	}}
}

func unavailable(message string) error {
	return fault(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, message, retrySeconds)
}

// offline is for requests that can't be carried because there is no hub.
func (c *Client) offline() error {
	c.metrics.offline.Inc()
	_, last := c.cfg.Link.Contact()
	if last.IsZero() {
		return unavailable("this edge has not reached the cloud yet, and the request needs it")
	}
	return unavailable(fmt.Sprintf("this edge has not reached the cloud since %s, and the request needs it",
		last.UTC().Format(time.RFC3339)))
}

// explain turns the error of a call that has brought no answer into one for the client.
func (c *Client) explain(r *http.Request, err error, x *exchange) error {
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		return err
	}
	said := status.Convert(err).Message()
	switch code := status.Code(err); {
	case x.bodyErr() != nil:
		return apierrors.NewBadRequest("the request's body can't be read: " + x.bodyErr().Error())
	case x.nothingSent():
		return unavailable("the hub can't reach the API server: " + said)
	case code == codes.ResourceExhausted:
		return fault(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "the hub refuses the request: "+said, retrySeconds)
	case code == codes.PermissionDenied, code == codes.Unauthenticated:
		return fault(http.StatusForbidden, metav1.StatusReasonForbidden, "the hub refuses this edge: "+said, 0)
	case code == codes.InvalidArgument:
		return apierrors.NewBadRequest("the hub refuses the request: " + said)
	case code == codes.Unimplemented:
		return unavailable("the hub does not carry requests to the API server")
	case harmless(r.Method):
		return unavailable("the connection to the cloud broke before there was an answer: " + said)
	default:
		c.metrics.unknown.Inc()
		return fault(http.StatusGatewayTimeout, metav1.StatusReasonTimeout, fmt.Sprintf(
			"the connection to the cloud broke before there was an answer, and it is not known whether the %s has taken effect: %s",
			r.Method, said), 0)
	}
}

// harmless tells whether a request may be repeated whatever has become of it.
func harmless(method string) bool {
	return method == http.MethodGet || method == http.MethodHead || method == http.MethodOptions
}

// fail answers with a Status.
func (c *Client) fail(w http.ResponseWriter, r *http.Request, err error) {
	var api apierrors.APIStatus
	if !errors.As(err, &api) {
		api = apierrors.NewInternalError(err)
	}
	s := api.Status()
	s.Kind, s.APIVersion = "Status", "v1"
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a Status has nothing that can't be encoded
	}
	h := w.Header()
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		h.Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	if id := r.Header.Get("Audit-Id"); id != "" {
		h.Set("Audit-Id", id)
	}
	h.Set("Cache-Control", "no-cache, private")
	h.Set("Content-Type", "application/json")
	w.WriteHeader(int(s.Code))
	_, _ = w.Write(append(raw, '\n')) // there is no one to tell
}
