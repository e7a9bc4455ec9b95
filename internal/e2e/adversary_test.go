//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/pki"
)

// adversary has all that edge "thief" has, speaks the protocol as it likes, and keeps every byte that it hears.
type adversary struct {
	t     *testing.T
	site  *trustedSite
	cert  *tls.Certificate // nil: it shows none
	roots *x509.CertPool
	heard *ear
}

// ear keeps what was heard, as it came and unpacked.
type ear struct {
	mu   sync.Mutex
	text []byte
}

var (
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	unpacker  = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	})
)

// hear takes in bytes, with what every frame in them holds.
func (e *ear) hear(b []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.text = append(e.text, b...)
}

// listen takes in a message, in which frames are whole: on the wire they are cut.
func (e *ear) listen(m any) {
	if m, ok := m.(proto.Message); ok {
		if b, err := proto.Marshal(m); err == nil {
			e.hear(b)
		}
	}
}

// stream listens to what comes on a stream.
func (e *ear) stream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string, open grpc.Streamer, opts ...grpc.CallOption,
) (grpc.ClientStream, error) {
	s, err := open(ctx, desc, conn, method, opts...)
	return heardStream{s, e}, err
}

func (e *ear) call(
	ctx context.Context, method string, req, reply any, conn *grpc.ClientConn, call grpc.UnaryInvoker, opts ...grpc.CallOption,
) error {
	err := call(ctx, method, req, reply, conn, opts...)
	e.listen(reply)
	e.hear([]byte(status.Convert(err).Message()))
	return err
}

type heardStream struct {
	grpc.ClientStream
	ear *ear
}

func (s heardStream) RecvMsg(m any) error {
	err := s.ClientStream.RecvMsg(m)
	s.ear.listen(m)
	s.ear.hear([]byte(status.Convert(err).Message()))
	return err
}

// all is everything heard, and what every frame in it holds.
func (e *ear) all() []byte {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := bytes.Clone(e.text)
	for rest := e.text; ; {
		i := bytes.Index(rest, zstdMagic)
		if i < 0 {
			return out
		}
		rest = rest[i:]
		var header zstd.Header
		if err := header.Decode(rest); err == nil {
			text, _ := unpacker().DecodeAll(rest, nil) // what comes behind the frame is no frame
			out = append(append(out, text...), '\n')
		}
		rest = rest[len(zstdMagic):]
	}
}

// carries tells whether a secret is in what was heard, in any of the ways in which one travels.
func carries(all []byte, secret string) bool {
	if bytes.Contains(all, []byte(secret)) {
		return true
	}
	for shift := range 3 { // base64 looks different at each place of a group of three
		text := base64.StdEncoding.EncodeToString(append(make([]byte, shift), secret...))
		if bytes.Contains(all, []byte(text[4:len(text)-4])) {
			return true
		}
	}
	return false
}

// listening is a TLS whose plain text goes to an ear.
type listening struct {
	credentials.TransportCredentials
	ear    *ear
	closed *closing // when the connection was, by the hub
}

type closing struct {
	once sync.Once
	ch   chan struct{}
}

func (l listening) ClientHandshake(ctx context.Context, name string, raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := l.TransportCredentials.ClientHandshake(ctx, name, raw)
	if err != nil {
		return nil, nil, err
	}
	return heardConn{conn, l}, info, nil
}

func (l listening) Clone() credentials.TransportCredentials { return l }

type heardConn struct {
	net.Conn
	of listening
}

func (c heardConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.of.ear.hear(p[:n])
	}
	if err != nil && !errors.Is(err, net.ErrClosed) {
		c.of.closed.once.Do(func() { close(c.of.closed.ch) })
	}
	return n, err
}

// newAdversary joins as an edge, as anybody does who has a token.
func newAdversary(s *trustedSite, name string) *adversary {
	s.t.Helper()
	t := s.t.(*testing.T)
	dir := t.TempDir()
	s.join(name, dir)
	return &adversary{t: t, site: s, cert: stolenCertificate(t, dir), roots: s.rootsOf(), heard: &ear{}}
}

// stolenCertificate is what a data directory is worth.
func stolenCertificate(t testing.TB, dir string) *tls.Certificate {
	t.Helper()
	keys, err := filepath.Glob(filepath.Join(dir, "identity", "keys", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys {
		if cert, err := tls.LoadX509KeyPair(filepath.Join(dir, "identity", "cert.pem"), key); err == nil {
			return &cert
		}
	}
	t.Fatalf("none of %q is the certificate's key", keys)
	return nil
}

func (s *trustedSite) rootsOf() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(s.ca.Certificate())
	return pool
}

// as is the adversary with another certificate, nil for none.
func (a *adversary) as(cert *tls.Certificate) *adversary {
	other := *a
	other.cert = cert
	return &other
}

// files is a certificate of files.
func certificateOf(t testing.TB, f pki.Files) *tls.Certificate {
	t.Helper()
	cert, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		t.Fatal(err)
	}
	return &cert
}

func (a *adversary) tls() *tls.Config {
	cfg := &tls.Config{RootCAs: a.roots, ServerName: "localhost", NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS13}
	if a.cert != nil {
		cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return a.cert, nil }
	}
	return cfg
}

// line is a connection of the adversary's.
type line struct {
	*grpc.ClientConn
	a      *adversary
	closed chan struct{} // closed when the hub has closed it
}

// dial opens a connection. It is never opened a second time: what was closed stays so.
func (a *adversary) dial() *line {
	a.t.Helper()
	gone := &closing{ch: make(chan struct{})}
	first := true
	options := []grpc.DialOption{
		grpc.WithStreamInterceptor(a.heard.stream), grpc.WithUnaryInterceptor(a.heard.call),
		grpc.WithTransportCredentials(listening{credentials.NewTLS(a.tls()), a.heard, gone}),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) {
			if !first {
				return nil, errors.New("once is enough")
			}
			first = false
			return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
		}),
	}
	conn, err := grpc.NewClient("passthrough:///"+a.site.hub.sync, options...)
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = conn.Close() })
	return &line{conn, a, gone.ch}
}

// awaitClosed waits until the hub has closed the connection.
func (l *line) awaitClosed(what string) {
	l.a.t.Helper()
	ctx, cancel := context.WithTimeout(l.a.t.Context(), patience)
	defer cancel()
	select {
	case <-l.closed:
	case <-ctx.Done():
		l.a.t.Errorf("%s: the connection is still open", what)
	}
}

// stillOpen fails when the hub has closed the connection.
func (l *line) stillOpen(what string) {
	l.a.t.Helper()
	select {
	case <-l.closed:
		l.a.t.Errorf("%s: the connection was closed", what)
	default:
	}
}

// wantCode checks a refusal.
func wantCode(t testing.TB, what string, err error, want ...codes.Code) {
	t.Helper()
	for _, c := range want {
		if status.Code(err) == c {
			return
		}
	}
	t.Errorf("%s: %v, want %v", what, err, want)
}

// auditLine is a line of the hub's log about who came in, was refused, or did something.
type auditLine map[string]any

func (l auditLine) text(key string) string {
	text, _ := l[key].(string)
	return text
}

// audits returns the lines of the hub's log, which is JSON.
func audits(t testing.TB, file string) (out []auditLine) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l auditLine
		if json.Unmarshal(lines.Bytes(), &l) == nil && l["msg"] == "audit" {
			out = append(out, l)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// awaitRefusal waits for a line that an action was refused, for a reason that has a text.
func (a *adversary) awaitRefusal(action, edge, text string) {
	a.t.Helper()
	eventually(a.t, func() error {
		for _, l := range audits(a.t, a.site.hub.log) {
			if l.text("action") == action && l.text("edge") == edge && l.text("result") == "refused" &&
				strings.Contains(l.text("reason"), text) {
				return nil
			}
		}
		return fmt.Errorf("no line says that %s of %q was refused: %s", action, edge, text)
	})
}
