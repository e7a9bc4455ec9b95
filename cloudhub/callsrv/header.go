package callsrv

import (
	"net/http"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// connectionHeaders concern one connection and end with it (RFC 9110, 7.6.1), or are for the transport to write.
var connectionHeaders = []string{
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer",
	"Transfer-Encoding", "Upgrade",
}

// proxyHeaders say who is asking from where. The API server may believe them when they come from a proxy that it trusts,
// which the hub might be, and must not when they come from an edge.
var proxyHeaders = []string{"X-Remote-", "X-Forwarded-", "X-Real-Ip", "Forwarded"}

// webSocketToken begins a WebSocket protocol that is a bearer token (apiserver pkg/authentication/request/websocket).
const webSocketToken = "base64url.bearer.authorization.k8s.io." //nolint:gosec // it is none itself

// upgradeOf returns what a header wants its connection to become: "" for nothing.
func upgradeOf(h http.Header) string {
	if !httpguts.HeaderValuesContainsToken(h["Connection"], "Upgrade") {
		return ""
	}
	return strings.Join(h["Upgrade"], ",")
}

// knownUpgrade tells whether it is one of the protocols that Kubernetes has. Others are none of ours, and HTTP/2 would
// let an edge talk to the API server over a connection that has the hub's credentials.
func knownUpgrade(protocol string) bool {
	return strings.EqualFold(protocol, "SPDY/3.1") || strings.EqualFold(protocol, "websocket")
}

// dropConnection removes what concerns one connection only.
func dropConnection(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range connectionHeaders {
		h.Del(name)
	}
}

// dropProxies removes what only a trusted proxy may say.
func dropProxies(h http.Header) {
	for name := range h {
		for _, p := range proxyHeaders {
			if hasPrefixFold(name, p) {
				delete(h, name)
				break
			}
		}
	}
}

// replayHeaders make net/http send a request without a body a second time when the connection breaks before there is an
// answer (net/http, Transport). It knows them by their canonical names only, and the API server by any.
var replayHeaders = []string{"Idempotency-Key", "X-Idempotency-Key"}

// sendOnce keeps the transport from repeating a request on behalf of its header.
func sendOnce(h http.Header) {
	for _, name := range replayHeaders {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// impersonates returns the header that names somebody to act as, if there is one.
func impersonates(h http.Header) (name string, ok bool) {
	for name := range h {
		if hasPrefixFold(name, "Impersonate-") {
			return name, true
		}
	}
	return "", false
}

// hasCredentials tells whether a request says itself who sends it.
func hasCredentials(h http.Header) bool {
	if len(h["Authorization"]) > 0 {
		return true
	}
	for _, line := range h["Sec-Websocket-Protocol"] {
		for protocol := range strings.SplitSeq(line, ",") {
			if strings.HasPrefix(strings.TrimSpace(protocol), webSocketToken) {
				return true
			}
		}
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}
