package embedded

import (
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// API is the writable part of the cloud's REST API: creating, replacing, patching and deleting objects, their status and
// scale subresources. Everything else is left to another handler.
type API struct {
	cloud *Cloud
	reads http.Handler
}

// NewAPI returns the API of a cloud. reads answers what is no write: GET, LIST, WATCH and discovery, over the same logs.
// It also says what a deletion of many deletes.
func NewAPI(cloud *Cloud, reads http.Handler) http.Handler { return &API{cloud, reads} }

// ServeHTTP answers one request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, ok := parseTarget(r.URL.Path)
	switch {
	case !ok:
		a.reads.ServeHTTP(w, r)
	case r.Method == http.MethodGet && t.sub != "":
		a.readPart(w, r, t)
	case r.Method == http.MethodGet, r.Method == http.MethodHead, r.Method == http.MethodOptions:
		a.reads.ServeHTTP(w, r)
	default:
		a.write(w, r, t)
	}
}

// write answers a request that changes something.
func (a *API) write(w http.ResponseWriter, r *http.Request, t target) {
	f, ok := a.cloud.resources.Load().byGVR[t.resource]
	if !ok || f.kind.Namespaced() && t.namespace == "" || !f.kind.Namespaced() && t.namespace != "" {
		a.unknown(w, r, t, ok)
		return
	}
	handle, err := route(r.Method, f, t)
	if err != nil {
		writeError(w, r, err)
		return
	}
	form, err := negotiate(r, f)
	if err != nil {
		writeError(w, r, err)
		return
	}
	body, err := readBody(w, r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	ans, err := handle(a.cloud, &request{http: r, target: t, face: f, body: body, reads: a.reads})
	if err != nil {
		writeError(w, r, err)
		return
	}
	form.write(w, ans)
}

// handler carries out one kind of request.
type handler func(*Cloud, *request) (answer, error)

// route returns the handler for a method on what a path names.
func route(method string, f face, t target) (handler, error) {
	d := f.def()
	switch {
	case t.sub == "scale" && d.Scale != nil:
		return pick(method, nil, (*Cloud).putScale, (*Cloud).patchScale, nil)
	case t.sub != "" && d.Updatable(t.sub):
		if t.sub == "finalize" {
			return pick(method, nil, (*Cloud).put, nil, nil)
		}
		return pick(method, nil, (*Cloud).put, (*Cloud).patch, nil)
	case t.sub != "":
		return nil, noSubresource(f, t)
	case t.name != "":
		return pick(method, nil, (*Cloud).put, (*Cloud).patch, (*Cloud).deleteOne)
	case f.kind.Single:
		return pick(method, (*Cloud).post, nil, nil, nil)
	default:
		return pick(method, (*Cloud).post, nil, nil, (*Cloud).deleteMany)
	}
}

func pick(method string, post, put, patch, del handler) (handler, error) {
	h := map[string]handler{
		http.MethodPost: post, http.MethodPut: put, http.MethodPatch: patch, http.MethodDelete: del,
	}[method]
	if h == nil {
		return nil, notAllowed()
	}
	return h, nil
}

// noSubresource returns the 404 about a subresource: a custom resource without it is itself not found.
func noSubresource(f face, t target) error {
	if f.kind.Custom() {
		return apierrors.NewNotFound(f.group(), t.name)
	}
	return noResource()
}

// unknown answers a request for a resource that is not served, or not at this path. Paths that no group has get the text
// of an HTTP server.
func (a *API) unknown(w http.ResponseWriter, r *http.Request, t target, served bool) {
	builtin, known := a.cloud.resources.Load().groups[t.resource.Group]
	switch {
	case served && t.namespace == "" && t.name == "":
		writeError(w, r, notAllowed()) // a cluster-wide list is all that may stand there
	case known && builtin:
		writeError(w, r, noResource())
	default:
		http.NotFound(w, r)
	}
}

func notAllowed() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
		Message: "the server does not allow this method on the requested resource", Details: &metav1.StatusDetails{},
	}}
}

func noResource() error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound,
		Message: "the server could not find the requested resource", Details: &metav1.StatusDetails{},
	}}
}
