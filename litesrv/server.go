package litesrv

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Server answers the Kubernetes API from a Backend. It is an http.Handler for any number of connections, HTTP/1.1 and
// HTTP/2, and starts no goroutines of its own. Watches end when the contexts of their requests do, so a process that
// stops ends the http.Server's BaseContext first; they also end when their log is closed.
type Server struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	known   atomic.Pointer[catalog]
	proto   *protobufs
	debts   debts

	freshWait time.Duration // see the constant; tests shorten it
}

// New returns a server. It fails when the configuration is incomplete or its metrics are registered already.
func New(c Config) (*Server, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.DemandWait == 0 {
		c.DemandWait = demandWait
	}
	m, err := newMetrics(c.Metrics)
	if err != nil {
		return nil, fmt.Errorf("litesrv: register metrics: %w", err)
	}
	return &Server{cfg: c, log: c.Logger, metrics: m, proto: newProtobufs(c.Logger), freshWait: freshWait}, nil
}

// nonResource answers for every other path.
func (s *Server) nonResource(w http.ResponseWriter, r *http.Request) {
	switch check, ok := parseHealth(r.URL.Path); {
	case strings.HasPrefix(r.URL.Path, "//"):
		http.NotFound(w, r)
	case ok:
		s.health(w, r, check)
	default:
		s.document(w, r)
	}
}

// resource answers for a path of the resource API.
func (s *Server) resource(w http.ResponseWriter, r *http.Request, t target) {
	if t.bare {
		w.Header().Del("Cache-Control")
		http.Error(w, fmt.Sprintf("Internal Server Error: %q: failed to create RequestInfo: unable to determine kind "+
			"and namespace from url, %v", r.RequestURI, r.URL), http.StatusInternalServerError)
		return
	}
	l, err := s.cfg.Backend.Log(t.gvr())
	switch {
	case errors.Is(err, ErrUnknownResource):
		s.absent(w, r, t)
	case err != nil:
		s.fail(w, r, unheld(err))
	case !s.admit(w, r, t, l.Resource()): // what is passed on has the cloud's warning
	default:
		s.read(w, r, t, l)
	}
}

// unheld makes an error of the backend one for the client.
func unheld(err error) error {
	var api apierrors.APIStatus
	if errors.As(err, &api) {
		return err
	}
	return fault(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, err.Error(), nil)
}

// admit tells whether a request for a resource that is held here is a read. If not it has answered it.
func (s *Server) admit(w http.ResponseWriter, r *http.Request, t target, res *watchlog.Resource) bool {
	verb := t.verb(r.Method)
	switch {
	case !res.Namespaced && t.name == "" && t.subresource != "":
		s.fail(w, r, apierrors.NewBadRequest("name must be provided"))
	case !inScope(t, verb, res.Namespaced, res.Custom):
		s.noSuchPath(w, r, res.Custom)
	case t.subresource == statusSubresource:
		return s.admitStatus(w, r, t, res.Custom)
	case t.subresource != "":
		s.subresource(w, r, t, res.Custom)
	case !methodAllowed(t, r.Method, res.Namespaced, res.Custom):
		s.fail(w, r, refuseMethod(t, verb, res.Custom))
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return true
	case res.Custom && t.name == "" && (verb == "update" || verb == "patch"):
		s.fail(w, r, apierrors.NewBadRequest("name must be provided"))
	default:
		s.elsewhere(w, r, t, verb+" of "+t.groupResource().String())
	}
	return false
}

// absent answers for a resource that is not held here.
func (s *Server) absent(w http.ResponseWriter, r *http.Request, t target) {
	c := s.catalog()
	if c.empty() {
		s.askUnknown(w, r, t, func(w http.ResponseWriter) { s.fail(w, r, starting()) })
		return
	}
	builtin := c.builtin(t)
	k, ok := c.kinds[t.gvr()]
	if !ok {
		s.askUnknown(w, r, t, func(w http.ResponseWriter) { s.noSuchPath(w, r, !builtin) })
		return
	}
	verb := t.verb(r.Method)
	switch {
	case !inScope(t, verb, k.namespaced, !builtin) || t.namespace == "" && k.namespaced && !k.has("list"):
		s.noSuchPath(w, r, !builtin)
	case t.subresource != "":
		s.subresource(w, r, t, !builtin)
	case !methodAllowed(t, r.Method, k.namespaced, !builtin) || builtin && !k.has(verb):
		s.fail(w, r, refuseMethod(t, verb, !builtin))
	case s.demand(w, r, t, &k):
	default:
		s.elsewhere(w, r, t, verb+" of "+t.groupResource().String())
	}
}

// noSuchPath is the 404 of a path that names nothing: a Status below built-in groups, else a page of text.
func (s *Server) noSuchPath(w http.ResponseWriter, r *http.Request, text bool) {
	if text {
		http.NotFound(w, r)
		return
	}
	s.fail(w, r, notServed())
}
