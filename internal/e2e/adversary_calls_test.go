//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/guarantee"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// called is what came of a call.
type called struct {
	status uint32 // HTTP; 0 for none
	body   string
	err    error
	line   *line
}

// head is a request's, with header fields in pairs.
func head(method, uri string, fields ...string) *tombolov1.CallHead {
	h := &tombolov1.CallHead{Edge: "thief", Method: method, Uri: uri}
	for i := 0; i < len(fields); i += 2 {
		h.Header = append(h.Header, &tombolov1.Header{Name: fields[i], Values: []string{fields[i+1]}})
	}
	return h
}

func callData(b []byte) *tombolov1.CallRequest {
	return &tombolov1.CallRequest{Message: &tombolov1.CallRequest_Data{Data: b}}
}

// call sends a head and what follows on a connection of its own.
func (a *adversary) call(h *tombolov1.CallHead, then ...*tombolov1.CallRequest) called {
	a.t.Helper()
	c := called{line: a.dial()}
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	stream, err := tombolov1.NewCallServiceClient(c.line).Call(ctx)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, m := range append([]*tombolov1.CallRequest{{Message: &tombolov1.CallRequest_Head{Head: h}}}, then...) {
		if err := stream.Send(m); err != nil && !errors.Is(err, io.EOF) {
			c.err = err
			return c
		}
	}
	_ = stream.CloseSend() // Recv tells
	for {
		m, err := stream.Recv()
		if err != nil {
			if c.err = err; errors.Is(err, io.EOF) {
				c.err = nil
			}
			return c
		}
		if answer := m.GetAnswer(); answer != nil {
			c.status = answer.GetStatus()
		}
		c.body += string(m.GetData())
	}
}

const foreignSecrets = "/api/v1/namespaces/calls-default/secrets"

// callScopes give the thief a namespace, and the other edge another one.
const callScopes = `scopes:
- name: thief
  edges: [thief]
  rules:
  - {resource: configmaps, namespaces: [calls-thief]}
  - {resource: secrets, namespaces: [calls-thief], labelSelector: "for=thief"}
- name: others
  edges: ["edge-*"]
  rules:
  - {resource: configmaps, namespaces: [calls-default]}
`

// TestAnAdversaryCallsAsNobodyElse asks a real API server through the hub for what the edge's user may not have.
func TestAnAdversaryCallsAsNobodyElse(t *testing.T) {
	c := sharedCluster(t)
	cloud := kubeAPI(t, c)
	for _, ns := range []string{"calls-thief", "calls-default", "calls-hub"} {
		cloud.create(t, namespaces, "", named(ns))
	}
	const own, foreign, ofHub, other = "canary-own-0cc175b9c0f1b6a8", "canary-foreign-92eb5ffee6ae2fec", "canary-of-the-hub-4a8a08f09d37b737", "canary-unlabelled-8277e0910d75019"
	mine := strings.Replace(secret("calls-thief", "own", own), `"metadata":{`, `"metadata":{"labels":{"for":"thief"},`, 1)
	cloud.create(t, secrets, "calls-thief", mine)
	cloud.create(t, secrets, "calls-thief", secret("calls-thief", "other", other))
	cloud.create(t, secrets, "calls-default", secret("calls-default", "foreign", foreign))
	cloud.create(t, secrets, "calls-hub", secret("calls-hub", "authority", ofHub))

	s := newTrustedSiteOf(t, hubConfig{kubeconfig: c.Kubeconfig, scopes: callScopes, args: []string{"--log-format", "json"}})
	s.startEdge()
	s.watch(s.cloud, configMaps, guarantee.ReaderConfig{Name: "source", Source: true}, nil)
	s.watch(s.local, configMaps, guarantee.ReaderConfig{NeverExpires: true, Match: guarantee.InNamespace("calls-default")}, nil)
	l := startLoad(t, s.history, s.cloud, seed(t), 20, kind{configMaps, "calls-default", func(name string, rng *rand.Rand) string {
		return configMap("calls-default", name, []string{"a", "b"}[rng.IntN(2)], fmt.Sprint(rng.Uint64()))
	}})
	a := newAdversary(s, "thief")

	t.Run("as somebody else", a.callsAsSomebodyElse)
	t.Run("paths", a.callsOutside)
	t.Run("connections", a.callsOnConnections)
	t.Run("within the scope", a.callsWithinScope)
	t.Run("out of place", a.callsOutOfPlace)
	t.Run("audit", func(t *testing.T) { a.of(t).callsAreAudited(c) })

	k := a.talk(sayHello(greeting("thief")))
	k.settled("secrets", "configmaps")
	a.nothingLeaked(own, foreign, ofHub, other, cluster.AdminToken)
	l.awaitCount(20)
	l.stop()
	s.catchUp()
	s.judge()
}

// callsAsSomebodyElse: whoever it says that it is, the API server takes it for the edge, or nobody asks it at all.
func (a *adversary) callsAsSomebodyElse(t *testing.T) {
	a = a.of(t)
	for _, name := range []string{
		"Impersonate-User", "impersonate-user", "IMPERSONATE-USER", "iMpErSoNaTe-UsEr", "Impersonate-Group", "impersonate-group", "Impersonate-Uid",
		"Impersonate-Extra-Scopes", "impersonate-extra-x", "Impersonate-",
	} {
		got := a.call(head("GET", foreignSecrets, name, "system:masters"))
		if got.status != http.StatusForbidden || !strings.Contains(got.body, "can't act as somebody else") {
			t.Errorf("%s: %d %s %v", name, got.status, got.body, got.err)
		}
		got.line.stillOpen(name) // a client of the edge may have sent it
	}
	a.awaitRefusal("call", "thief", "can't act as somebody else")
	for what, fields := range map[string][]string{
		"hidden from the check": {"Connection", "Impersonate-User", "Impersonate-User", "admin"},
		"a front proxy":         {"X-Remote-User", "admin", "X-Remote-Group", "system:masters", "x-remote-extra-a", "b"},
		"a forwarding proxy":    {"X-Forwarded-For", "127.0.0.1", "Forwarded", "for=127.0.0.1", "X-Forwarded-Uri", "/", "X-Real-Ip", "127.0.0.1"},
		"an underscore":         {"Impersonate_User", "admin"},
		"another host":          {"Host", "localhost:1", "X-Original-Url", "/", "X-Rewrite-Url", "/"},
		"hop by hop":            {"Te", "trailers", "Transfer-Encoding", "chunked", "Content-Length", "7", "Expect", "100-continue", "Proxy-Authorization", "x"},
		"drops credentials":     {"Connection", "Authorization, X-Remote-User, Close"},
	} {
		got := a.call(head("GET", foreignSecrets, fields...))
		if got.status != http.StatusForbidden || !strings.Contains(got.body, `User \"tombolo:edge:thief\" cannot list`) {
			t.Errorf("%s: %d %s %v", what, got.status, got.body, got.err)
		}
	}
	for what, fields := range map[string][]string{
		"a wrong token": {"Authorization", "Bearer wrong"}, "a password": {"authorization", "Basic YWRtaW46YWRtaW4="},
		"a wrong token that acts as somebody": {"Authorization", "Bearer wrong", "Impersonate-User", "admin"},
		"a token in a WebSocket": {"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA==",
			"sec-websocket-protocol", "base64url.bearer.authorization.k8s.io.d3Jvbmc, v4.channel.k8s.io"},
		"no token in a WebSocket": {"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "AAAAAAAAAAAAAAAAAAAAAA=="},
		"nothing":                 {"Authorization", ""},
	} {
		got := a.call(head("GET", foreignSecrets+"?watch=1", fields...))
		if got.status != http.StatusUnauthorized && got.status != http.StatusForbidden {
			t.Errorf("%s: %d %s %v", what, got.status, got.body, got.err)
		}
	}
	twice := head("GET", foreignSecrets, "Authorization", "Bearer wrong", "authorization", "Bearer "+"other")
	wantCode(t, "two tokens", a.call(twice).err, codes.InvalidArgument)
}

// callsOutside leaves the API, or does what is no request.
func (a *adversary) callsOutside(t *testing.T) {
	a = a.of(t)
	for _, uri := range []string{
		"/api/v1/namespaces/calls-thief/../calls-default/secrets", "/api/v1/namespaces/calls-thief/%2e%2e/calls-default/secrets",
		"/api/v1/namespaces/calls-thief/%2E./calls-default/secrets", "/api/v1/%252e%252e/secrets", "/api/v1/..%2f..%2fmetrics", `/api/v1/..\..\metrics`,
		"//localhost/api", "http://169.254.169.254/latest", "https://kubernetes/api", "localhost:1", "*", "", "api", "/a b", "/a#b", "/a\x00b", "/a\r\nHost: x", "/%zz",
		"/./api", "/" + strings.Repeat("a", 1<<16),
	} {
		got := a.call(head("GET", uri))
		wantCode(t, fmt.Sprintf("%.60q", uri), got.err, codes.InvalidArgument, codes.ResourceExhausted)
		got.line.stillOpen(uri)
	}
	a.awaitRefusal("call", "thief", "the path has a segment . or ..")
	for _, uri := range []string{
		"/api//v1/namespaces/calls-default/secrets", "/api/v1/namespaces/calls-default%2fsecrets", "/api/v1/namespaces/calls-default/secrets/foreign%00",
		"/metrics", "/debug/pprof/", "/logs/", "/api/v1/secrets", "/api/v1/watch/secrets", "/api/v1/namespaces/calls-hub/secrets/authority",
		"/api/v1/proxy/nodes/x", "/api/v1/namespaces/calls-default/pods/x:443/proxy/", "/configz", "/flagz", "/statusz",
	} {
		if got := a.call(head("GET", uri)); got.status < 301 || got.status == http.StatusOK {
			t.Errorf("%s: %d %.200s %v", uri, got.status, got.body, got.err)
		}
	}
	for _, method := range []string{"CONNECT", "TRACE", "get", "", "GET /x HTTP/1.1\r\n\r\nGET", "PROPFIND"} {
		wantCode(t, method, a.call(head(method, "/version")).err, codes.InvalidArgument)
	}
	for _, name := range []string{"", " ", "A b", "A:", "A\r\nB", "Ä", "Impersonate-User ", ":authority", "A\x00"} {
		wantCode(t, fmt.Sprintf("header %q", name), a.call(head("GET", foreignSecrets, name, "x")).err, codes.InvalidArgument)
	}
	for _, value := range []string{"a\r\nImpersonate-User: admin", "a\nb", "a\x00b"} {
		wantCode(t, fmt.Sprintf("value %q", value), a.call(head("GET", foreignSecrets, "X-A", value)).err, codes.InvalidArgument)
	}
}

// callsOnConnections asks for a connection with the hub's credentials to talk over.
func (a *adversary) callsOnConnections(t *testing.T) {
	a = a.of(t)
	for _, protocol := range []string{"h2c", "HTTP/2.0", "TLS/1.2", "websocket, h2c", "tcp", "connect-udp"} {
		got := a.call(head("GET", "/version", "Connection", "Upgrade, HTTP2-Settings", "Upgrade", protocol, "HTTP2-Settings", "AAMAAABkAAQAAP__"))
		wantCode(t, protocol, got.err, codes.InvalidArgument)
	}
	got := a.call(head("GET", "/version", "Connection", "Upgrade", "Upgrade", "websocket"), callData([]byte("GET "+foreignSecrets+" HTTP/1.1\r\nHost: x\r\n\r\n")))
	if got.status == http.StatusSwitchingProtocols || got.body != "" && strings.Contains(got.body, "SecretList") {
		t.Errorf("a smuggled request: %d %s", got.status, got.body)
	}
	// A body that is another request stays a body.
	h := head("POST", "/api/v1/namespaces/calls-thief/configmaps", "Content-Type", "application/json", "Transfer-Encoding", "identity")
	h.ContentLength = 2
	got = a.call(h, callData([]byte("{}GET "+foreignSecrets+" HTTP/1.1\r\nHost: x\r\n\r\n")))
	if got.status == http.StatusOK || strings.Contains(got.body, "SecretList") {
		t.Errorf("a smuggled request: %d %s", got.status, got.body)
	}
}

// callsWithinScope reads by the scope's leave, which is no leave of its own.
func (a *adversary) callsWithinScope(t *testing.T) {
	a = a.of(t)
	for _, uri := range []string{
		foreignSecrets, "/api/v1/secrets", "/api/v1/configmaps", "/api/v1/namespaces/calls-default/configmaps", "/api/v1/namespaces/calls-thief/secrets/other",
		"/api/v1/nodes", "/api/v1/namespaces/calls-thief/pods/x/log", "/api/v1/watch/namespaces/calls-thief/secrets",
	} {
		h := head("GET", uri)
		h.WithinScope = true
		wantCode(t, uri, a.call(h).err, codes.FailedPrecondition)
	}
	for _, selector := range []string{"", "for!=thief", "for in (thief,x),!y", "a=b,,", "for=other"} {
		h := head("GET", "/api/v1/namespaces/calls-thief/secrets?labelSelector="+strings.ReplaceAll(selector, " ", "+"))
		h.WithinScope = true
		if got := a.call(h); got.status == http.StatusOK { // the edge's user has no right of its own
			t.Errorf("%q: %d %s", selector, got.status, got.body)
		}
	}
	h := head("DELETE", "/api/v1/namespaces/calls-thief/configmaps/x")
	h.WithinScope = true
	wantCode(t, "a write by the scope's leave", a.call(h).err, codes.FailedPrecondition)
}

// callsOutOfPlace sends what an edge's software never does. The connection is closed.
func (a *adversary) callsOutOfPlace(t *testing.T) {
	a = a.of(t)
	as := func(name string) *tombolov1.CallHead {
		h := head("GET", "/version")
		h.Edge = name
		return h
	}
	post := func() *tombolov1.CallHead {
		h := head("POST", "/api/v1/namespaces/calls-thief/configmaps", "Content-Type", "application/json")
		h.ContentLength = -1
		return h
	}
	second := &tombolov1.CallRequest{Message: &tombolov1.CallRequest_Head{Head: head("GET", "/version")}}
	for what, c := range map[string]struct {
		called
		code        codes.Code
		action, say string
	}{
		"as another edge":  {a.call(as("edge-1")), codes.PermissionDenied, "connect", "claims to be edge edge-1"},
		"as no edge":       {a.call(as("Edge 1")), codes.InvalidArgument, "connect", "claims a name that no edge can have"},
		"a second head":    {a.call(post(), callData([]byte("{")), second), codes.InvalidArgument, "call", "out of place"},
		"too much at once": {a.call(post(), callData(make([]byte, 65<<10))), codes.InvalidArgument, "call", "out of place"},
		"an empty message": {a.call(post(), &tombolov1.CallRequest{}), codes.InvalidArgument, "call", "out of place"},
	} {
		wantCode(t, what, c.err, c.code)
		defer c.line.awaitClosed(what)
		a.awaitRefusal(c.action, "thief", c.say)
	}
}

// callsAreAudited: who, what and with what result, and nothing of what was sent.
func (a *adversary) callsAreAudited(c *cluster.Cluster) {
	const inBody, inQuery = "canary-body-e1671797c52e15f7", "canary-query-8fa14cdd754f91cc"
	runKubectl(a.t, c, "", "-n", "calls-thief", "create", "serviceaccount", "writer")
	runKubectl(a.t, c, "", "-n", "calls-thief", "create", "role", "writer", "--verb=create", "--resource=configmaps")
	runKubectl(a.t, c, "", "-n", "calls-thief", "create", "rolebinding", "writer", "--role=writer", "--serviceaccount=calls-thief:writer")
	token := strings.TrimSpace(runKubectl(a.t, c, "", "-n", "calls-thief", "create", "token", "writer"))
	write := func(name string, fields ...string) called {
		h := head("POST", "/api/v1/namespaces/calls-thief/configmaps?fieldManager="+inQuery, append(fields, "Content-Type", "application/json")...)
		body := []byte(configMap("calls-thief", name, "a", inBody))
		h.ContentLength = int64(len(body))
		return a.call(h, callData(body))
	}
	if got := write("of-the-edge"); got.status != http.StatusForbidden {
		a.t.Errorf("a write of the edge's: %d %s %v", got.status, got.body, got.err)
	}
	eventually(a.t, func() error {
		if got := write("of-the-account", "Authorization", "Bearer "+token); got.status != http.StatusCreated && got.status != http.StatusConflict {
			return fmt.Errorf("a write of the account's: %d %s %w", got.status, got.body, got.err)
		}
		return nil
	})
	eventually(a.t, func() error {
		found := map[string]float64{}
		for _, l := range audits(a.t, a.site.hub.log) {
			if l.text("action") == "call" && l.text("verb") == "create" && l.text("edge") == "thief" && l.text("result") == "passed" &&
				l.text("path") == "/api/v1/namespaces/calls-thief/configmaps" {
				if code, ok := l["status"].(float64); ok && l["ms"] != nil {
					found[l.text("user")] = code
				}
			}
		}
		if found["the edge's"] != http.StatusForbidden || found["system:serviceaccount:calls-thief:writer"] < http.StatusCreated {
			return fmt.Errorf("the lines tell %v", found)
		}
		return nil
	})
	log, err := os.ReadFile(a.site.hub.log)
	if err != nil {
		a.t.Fatal(err)
	}
	for _, secret := range []string{inBody, inQuery, token, strings.Split(token, ".")[2]} {
		if strings.Contains(string(log), secret) {
			a.t.Errorf("the hub's log tells %.30q", secret)
		}
	}
	if status.Code(a.call(head("GET", "/version")).err) != codes.OK {
		a.t.Error("nothing is answered any more")
	}
}
