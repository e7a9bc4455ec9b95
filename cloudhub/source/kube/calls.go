package kube

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/transport"
)

const (
	// edgeUser is what an edge's user is called, before the edge's name.
	edgeUser = "tombolo:edge:"
	// edgeGroup is the group of all edges' users; allAuthenticated is one that every user is in.
	edgeGroup        = "tombolo:edges"
	allAuthenticated = "system:authenticated"
)

// calls carry requests of others to the API server. Both ways speak HTTP/1.1: connections can be upgraded, and a request
// whose answer nobody reads costs the buffers of its own connection instead of a share of one that all use.
type calls struct {
	base   *url.URL
	caller http.RoundTripper // has no credentials
	own    http.RoundTripper // has the hub's
	// acting is set when the hub itself acts as somebody else: then it can't act as an edge, and must not do so with
	// rights that it was not to use.
	acting bool
}

var errActing = errors.New("the hub's kubeconfig makes it act as another user, so it can't act as an edge")

func newCalls(config *rest.Config, base *url.URL) (*calls, error) {
	caller, err := plainTransport(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, err
	}
	own, err := plainTransport(rest.CopyConfig(config))
	if err != nil {
		return nil, err
	}
	return &calls{base: base, caller: caller, own: own, acting: config.Impersonate.UserName != ""}, nil
}

// plainTransport returns a transport that leaves bodies and headers as they are, except for credentials.
func plainTransport(c *rest.Config) (http.RoundTripper, error) {
	c.UserAgent, c.Timeout, c.DisableCompression = "", 0, true
	c.NextProtos = []string{"http/1.1"}
	if c.Proxy == nil {
		c.Proxy = http.ProxyFromEnvironment // also keeps client-go from sharing a transport that has other settings
	}
	rt, err := rest.TransportFor(c)
	if err != nil {
		return nil, fmt.Errorf("kube: transport of calls: %w", err)
	}
	return rt, nil
}

func (c *calls) close() {
	utilnet.CloseIdleConnectionsFor(c.caller)
	utilnet.CloseIdleConnectionsFor(c.own)
}

// Caller returns the way for requests that have credentials of their own: it trusts the server's CA and shows nobody's
// credentials.
func (k *Kube) Caller() http.RoundTripper { return toServer{k.calls.base, k.calls.caller} }

// Edge returns the way for requests of an edge's own user, whom the hub impersonates: user tombolo:edge:NAME in the
// groups tombolo:edges and system:authenticated. The requests must not have an Authorization header.
func (k *Kube) Edge(name string) http.RoundTripper {
	if k.calls.acting {
		return refusing{errActing}
	}
	return toServer{k.calls.base, transport.NewImpersonatingRoundTripper(transport.ImpersonationConfig{
		UserName: edgeUser + name, Groups: []string{edgeGroup, allAuthenticated},
	}, k.calls.own)}
}

// Own returns the way for the hub's own requests.
func (k *Kube) Own() http.RoundTripper { return toServer{k.calls.base, k.calls.own} }

// refusing sends nothing.
type refusing struct{ err error }

// RoundTrip returns why.
func (r refusing) RoundTrip(*http.Request) (*http.Response, error) { return nil, r.err }

// toServer sends requests, which have a path and a query alone, to the API server.
type toServer struct {
	base *url.URL
	next http.RoundTripper
}

// RoundTrip sends one request.
func (t toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	u := *t.base
	prefix := strings.TrimSuffix(u.EscapedPath(), "/")
	u.Path = strings.TrimSuffix(u.Path, "/") + r.URL.Path
	u.RawPath = prefix + r.URL.EscapedPath()
	u.RawQuery, u.ForceQuery = r.URL.RawQuery, r.URL.ForceQuery
	r.URL, r.Host = &u, u.Host
	return t.next.RoundTrip(r)
}
