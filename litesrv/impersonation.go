package litesrv

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tombolo-sync/tombolo/internal/access"
)

const (
	impersonateUser  = "Impersonate-User"
	impersonateGroup = "Impersonate-Group"
	impersonateUID   = "Impersonate-Uid"
	impersonateExtra = "Impersonate-Extra-"
)

// actAs returns the user that a request is made as, which is another one when it says so and may: apiserver
// pkg/endpoints/filters/impersonation/impersonation.go. The headers stay, for the cloud.
func (s *Server) actAs(user *access.User, r *http.Request) (*access.User, error) {
	as := &access.User{Name: r.Header.Get(impersonateUser), UID: r.Header.Get(impersonateUID), Extra: extras(r.Header), Bearer: user.Bearer}
	as.Groups = append(as.Groups, r.Header[impersonateGroup]...)
	if as.Name == "" {
		if as.UID != "" || len(as.Groups) > 0 || len(as.Extra) > 0 {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("requested %v without impersonating a user", as.Groups))
		}
		return user, nil
	}
	for _, ask := range impersonations(user, as) {
		if err := s.refusal(&ask); err != nil {
			return nil, err
		}
	}
	as.Groups = impliedGroups(as)
	return as, nil
}

// extras returns what a request says of its user beyond names.
func extras(h http.Header) map[string][]string {
	var out map[string][]string
	for name, values := range h {
		key, ok := strings.CutPrefix(name, impersonateExtra)
		if !ok {
			continue
		}
		if out == nil {
			out = map[string][]string{}
		}
		key = strings.ToLower(key)
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		out[key] = append(out[key], values...)
	}
	return out
}

// impersonations returns what user must be allowed to act as another.
func impersonations(user, as *access.User) []access.Request {
	ask := func(group, resource, namespace, name string) access.Request {
		return access.Request{User: user, Verb: "impersonate", Group: group, Resource: resource, Namespace: namespace, Name: name}
	}
	var out []access.Request
	if namespace, name, ok := access.ServiceAccount(as.Name); ok {
		out = append(out, ask("", "serviceaccounts", namespace, name))
	} else {
		out = append(out, ask("", "users", "", as.Name))
	}
	for _, g := range as.Groups {
		out = append(out, ask("", "groups", "", g))
	}
	for key, values := range as.Extra {
		for _, v := range values {
			extra := ask("authentication.k8s.io", "userextras", "", v)
			extra.Subresource = key
			out = append(out, extra)
		}
	}
	if as.UID != "" {
		out = append(out, ask("authentication.k8s.io", "uids", "", as.UID))
	}
	return out
}

// impliedGroups returns the groups of a user that somebody acts as.
func impliedGroups(as *access.User) []string {
	groups := as.Groups
	if namespace, _, ok := access.ServiceAccount(as.Name); ok && len(groups) == 0 {
		groups = access.ServiceAccountGroups(namespace)
	}
	switch {
	case as.Name == access.Anonymous:
		if !as.In(access.Unauthenticated) {
			groups = append(groups, access.Unauthenticated)
		}
	case !as.In(access.Authenticated) && !as.In(access.Unauthenticated):
		groups = append(groups, access.Authenticated)
	}
	return groups
}
