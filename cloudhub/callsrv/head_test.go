package callsrv

import (
	"bufio"
	"bytes"
	"net/http"
	"path"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func TestPathsStayBelowTheAPIServers(t *testing.T) {
	for _, uri := range []string{
		"", "api", "//evil/api", "http://evil/api", "*", "evil:443", "/api/../secret", "/api/%2e%2e/secret", "/api/%2E./x",
		"/api/..%2fsecret", `/api/..\secret`, "/api/%252e%252e/secret", "/api/.", "/a b", "/a\tb", "/a\r\nHost: x", "/a\x00", "/a\x7f",
		"/a#b", "/api/v1?x= HTTP/1.1", "/%zz",
	} {
		if u, err := readURI(uri, 100); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%q: %v, %v", uri, u, err)
		}
	}
	for _, uri := range []string{"/", "/api/v1/pods?x=%2e%2e&y=../..", "/api/v1/namespaces/a%2Fb", "/api/v1/...", "/api/v1/pods/", "/x?"} {
		if u, err := readURI(uri, 100); err != nil || u.RequestURI() != uri {
			t.Errorf("%q: %v, %v", uri, u, err)
		}
	}
	if _, err := readURI("/"+strings.Repeat("x", 100), 100); status.Code(err) != codes.ResourceExhausted {
		t.Error(err)
	}
}

func TestWhoseCredentialsARequestHas(t *testing.T) {
	for text, want := range map[string]bool{
		"X: y": false, "Authorization: Bearer x": true, "authorization:": true, "Authorization: Basic eA==": true,
		"Sec-WebSocket-Protocol: v4.channel.k8s.io, base64url.bearer.authorization.k8s.io.eA": true,
		"Sec-WebSocket-Protocol: v4.channel.k8s.io":                                           false,
	} {
		name, value, _ := strings.Cut(text, ":")
		m := &tombolov1.CallHead{Method: "GET", Uri: "/api", Header: []*tombolov1.Header{{Name: name, Values: []string{strings.TrimSpace(value)}}}}
		if h, err := readHead(m, 100, 1000); err != nil || h.own != want {
			t.Errorf("%s: %+v, %v", text, h, err)
		}
	}
	two := &tombolov1.CallHead{Method: "GET", Uri: "/api", Header: []*tombolov1.Header{
		{Name: "Authorization", Values: []string{"Bearer x"}}, {Name: "authorization", Values: []string{"Bearer y"}},
	}}
	if _, err := readHead(two, 100, 1000); status.Code(err) != codes.InvalidArgument {
		t.Error(err)
	}
}

// FuzzHead sends heads that were found good as http.Transport would: what a server reads is one request, for the path
// that was found good, without anything that only a trusted proxy may say.
func FuzzHead(f *testing.F) {
	f.Add("GET", "/api/v1/pods?watch=1", "Accept", "application/json", int64(0))
	f.Add("POST", "/api/%2e%2e/x", "Connection", "Upgrade", int64(3))
	f.Add("GET", "/x", "x-remote-user", "admin", int64(-1))
	f.Add("GET", "/x\r\nHost: y", "Transfer-Encoding", "chunked\r\nX: y", int64(-9))
	f.Add("CONNECT", "http://evil/", "Host", "evil", int64(1<<40))
	f.Fuzz(func(t *testing.T, method, uri, name, value string, length int64) {
		m := &tombolov1.CallHead{Method: method, Uri: uri, ContentLength: length, Header: []*tombolov1.Header{
			{Name: name, Values: []string{value}}, {Name: "Accept", Values: []string{"*/*"}},
		}}
		h, err := readHead(m, 1000, 1000)
		if err != nil {
			return
		}
		r := &http.Request{Method: h.method, URL: h.url, Host: "api", Header: h.header}
		var wire bytes.Buffer
		if err := r.Write(&wire); err != nil {
			t.Fatalf("%q can't be sent: %v", uri, err)
		}
		rest := bufio.NewReader(&wire)
		got, err := http.ReadRequest(rest)
		if err != nil || rest.Buffered() != 0 {
			t.Fatalf("%q is read as %v and %d bytes more: %v", wire.String(), got, rest.Buffered(), err)
		}
		if got.Method != method || got.RequestURI != h.url.RequestURI() || got.Host != "api" || got.ContentLength > 0 {
			t.Fatalf("%q became %s %s %s", uri, got.Method, got.RequestURI, got.Host)
		}
		if clean := path.Clean(got.URL.Path); strings.HasPrefix(uri, "/..") || clean == ".." {
			t.Fatalf("%q leads to %q", uri, clean)
		}
		for name := range got.Header {
			if strings.HasPrefix(name, "X-Remote-") || strings.HasPrefix(name, "X-Forwarded-") {
				t.Fatalf("%s arrives", name)
			}
		}
	})
}
