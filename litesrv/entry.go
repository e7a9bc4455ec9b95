package litesrv

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/access"
)

// Authenticator tells who sends requests. It is called by any number of goroutines.
type Authenticator interface {
	// Authenticate returns the user of a request: access.Nobody for one without credentials. An error means that its
	// credentials are not good.
	Authenticate(r *http.Request) (*access.User, error)
}

// Authorizer decides who may do what. It is called by any number of goroutines, for each request, and must be quick.
type Authorizer interface {
	// Authorize tells whether a request is allowed, and when it is not, what there is to say about it beyond that.
	Authorize(r *access.Request) (allowed bool, reason string)
}

// enter tells whether a request may go on, and returns it as it goes on. If it may not, it has been answered. The order is
// kube-apiserver's: who it is (401), whom that acts for, what that may do (403).
//
// A request with a token may be the cloud's to decide: what is not allowed by what is known here is passed on while there is
// a way to the cloud, where it is made with that token and nothing else, and so is a write in any case.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) (*http.Request, bool) {
	user := access.From(r.Context())
	if user == nil {
		var err error
		if user, err = s.cfg.Authenticator.Authenticate(r); err != nil {
			s.log.Debug("not authenticated", "path", r.URL.Path, "peer", r.RemoteAddr, "err", err)
			s.metrics.refused.WithLabelValues("unauthenticated").Inc()
			if r.ProtoMajor == 2 {
				w.Header().Set("Connection", "close") // as kube-apiserver does, against what HTTP/2 lets clients do at little cost
			}
			writeStatus(w, r, fault(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized", nil))
			return nil, false
		}
	}
	if !user.Bearer && r.Header.Get("Authorization") != "" { // it is not what the request was let in by
		r = r.WithContext(r.Context())
		r.Header = r.Header.Clone()
		r.Header.Del("Authorization")
	}
	ask := access.Parse(r)
	acting, refusal := s.actAs(user, r)
	if refusal == nil {
		ask.User = acting
		if user.Bearer && ask.OfResource() && !ask.ReadOnly() {
			return r, true
		}
		refusal = s.refusal(&ask)
	}
	switch {
	case refusal == nil:
		return r, true
	case user.Bearer && s.online():
		s.fallBack(w, r)
	default:
		s.metrics.refused.WithLabelValues("forbidden").Inc()
		w.Header().Set("X-Content-Type-Options", "nosniff")
		writeStatus(w, r, refusal)
	}
	return nil, false
}

// refusal returns nil for what is allowed, else the answer (apiserver pkg/endpoints/handlers/responsewriters/errors.go).
func (s *Server) refusal(ask *access.Request) error {
	allowed, reason := s.cfg.Authorizer.Authorize(ask)
	if allowed {
		return nil
	}
	text := unHTML.Replace(forbidden(ask))
	if reason != "" {
		text += ": " + reason
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: ask.Group, Resource: ask.Resource}, ask.Name, fmt.Errorf("%s", text))
}

// unHTML keeps a text from being taken for HTML.
var unHTML = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func forbidden(ask *access.Request) string {
	if !ask.OfResource() {
		return fmt.Sprintf("User %q cannot %s path %q", ask.User.Name, ask.Verb, ask.Path)
	}
	resource := ask.Resource
	if ask.Subresource != "" {
		resource += "/" + ask.Subresource
	}
	text := fmt.Sprintf("User %q cannot %s resource %q in API group %q", ask.User.Name, ask.Verb, resource, ask.Group)
	if ask.Namespace == "" {
		return text + " at the cluster scope"
	}
	return text + fmt.Sprintf(" in the namespace %q", ask.Namespace)
}
