//go:build e2e

package e2e

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/pki/pkitest"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// octets is a codec of bytes.
type octets struct{}

func (octets) Marshal(v any) ([]byte, error)   { return v.([]byte), nil }
func (octets) Unmarshal(b []byte, v any) error { *v.(*[]byte) = b; return nil }
func (octets) Name() string                    { return "proto" }

// bytes sends bytes as a message of a method and returns how the stream ended.
func (l *line) bytes(method string, message []byte, options ...grpc.CallOption) error {
	ctx, cancel := context.WithTimeout(l.a.t.Context(), patience)
	defer cancel()
	stream, err := l.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method,
		append(options, grpc.ForceCodec(octets{}))...)
	if err != nil {
		return err
	}
	if err := stream.SendMsg(message); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	var got []byte
	for err == nil {
		err = stream.RecvMsg(&got)
		l.a.heard.hear(got)
	}
	return err
}

const (
	syncMethod   = tombolov1.SyncService_Sync_FullMethodName
	callMethod   = tombolov1.CallService_Call_FullMethodName
	joinMethod   = tombolov1.JoinService_Join_FullMethodName
	renewMethod  = tombolov1.JoinService_Renew_FullMethodName
	checkMethod  = tombolov1.JoinService_Check_FullMethodName
	healthMethod = "/grpc.health.v1.Health/Watch"
	reflection   = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"
)

func (a *adversary) unreadable(t *testing.T) {
	a = a.of(t)
	for what, message := range map[string][]byte{
		"an oversize message": make([]byte, 3<<20), "what is no message": []byte("\xff\xff\xff\xff"),
	} {
		for _, method := range []string{syncMethod, callMethod} {
			l := a.dial()
			defer l.awaitClosed(what + " " + method)
			wantCode(t, what+" "+method, l.bytes(method, message), codes.ResourceExhausted, codes.Internal) // gRPC's own words
		}
	}
	a.awaitRefusal("session", "thief", "a message that is too large")
	a.awaitRefusal("session", "thief", "a message that can't be read")
	a.awaitRefusal("call", "thief", "it can't be read")
	// What is compressed nobody unpacks.
	wantCode(t, "a compressed avalanche", a.dial().bytes(syncMethod, make([]byte, 3<<20), grpc.UseCompressor(gzip.Name)), codes.Unimplemented)
	for _, method := range []string{reflection, "/tombolo.v1.SyncService/Admin", "/", "//"} {
		wantCode(t, method, a.dial().bytes(method, nil), codes.Unimplemented)
	}
}

// withoutACertificate calls every method with certificates that are none of the hub's edges'.
func (a *adversary) withoutACertificate(t *testing.T) {
	a = a.of(t)
	foreign := pkitest.NewCA(t)
	for what, cert := range map[string]*tls.Certificate{
		"of another authority": certificateOf(t, foreign.Issue(t, "edge-1")), "signed by itself": selfSigned(t, "edge-1"),
		"of an edge, with another key": {Certificate: a.cert.Certificate, PrivateKey: selfSigned(t, "thief").PrivateKey},
	} {
		for _, method := range []string{syncMethod, callMethod, healthMethod} {
			if err := a.as(cert).dial().bytes(method, nil); status.Code(err) != codes.Unavailable {
				t.Errorf("a certificate %s: %s: %v", what, method, err)
			}
		}
	}
	a.awaitRefusal("connect", "", "unknown authority")
	nobody := a.as(nil)
	for _, method := range []string{syncMethod, callMethod, renewMethod, checkMethod, healthMethod, reflection, "/x/y"} {
		l := nobody.dial()
		defer l.awaitClosed("without a certificate: " + method)
		wantCode(t, "without a certificate: "+method, l.bytes(method, nil), codes.Unauthenticated)
	}
	a.awaitRefusal("connect", "", "no client certificate")
	l := nobody.dial()
	if err := l.bytes(joinMethod, make([]byte, 1<<20)); err == nil {
		t.Error("a megabyte was taken of somebody without a certificate")
	}
	l.awaitClosed("a megabyte of somebody without a certificate")
}

// manyConnections are of one certificate: a few stay, the newest.
func (a *adversary) manyConnections(t *testing.T) {
	a = a.of(t)
	var lines []*line
	for range 30 {
		l := a.dial()
		wantCode(t, "one more connection", l.bytes("/x/y", nil), codes.Unimplemented)
		lines = append(lines, l)
	}
	for _, l := range lines[:20] {
		l.awaitClosed("an older connection")
	}
	lines[29].stillOpen("the newest connection")
}

func selfSigned(t *testing.T, name string) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(7), Subject: pkix.Name{CommonName: name, Organization: []string{"tombolo:edges"}},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}
