package credentials

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/tombolo-sync/tombolo/internal/pki"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// JoinConfig is what an edge needs to join. Hubs and Token are required, and one of Pins and Authorities.
type JoinConfig struct {
	Hubs        []string // host:port, tried in turn
	Token       string
	Pins        []pki.Pin           // hashes of hubs' authorities
	Authorities []*x509.Certificate // or these themselves
	Folder      Folder
}

func (c *JoinConfig) validate() error {
	if len(c.Hubs) == 0 || c.Token == "" {
		return errors.New("join: a hub and a token are required")
	}
	if (len(c.Pins) == 0) == (len(c.Authorities) == 0) {
		return errors.New("join: either hashes of the hubs' authorities or these themselves are required")
	}
	return nil
}

// joinPause is between two rounds of the hubs.
const joinPause = 2 * time.Second

// Join trades a token for credentials and keeps them in the folder, in place of what is there. It tries the hubs in turn until
// one answers or ctx ends. It may be called again with the same token, after whatever happened in between.
func Join(ctx context.Context, cfg JoinConfig) (*Identity, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	id, _, _ := strings.Cut(cfg.Token, ".")
	key, err := cfg.Folder.joinKey(id)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	der, err := request(key)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	resp, err := cfg.askAll(ctx, der)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	m, err := receive(resp.GetCredential(), key, resp.GetEdge())
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	if err := cfg.Folder.joined(m, cfg.Hubs); err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	return Open(cfg.Folder)
}

// askAll asks the hubs in turn until one answers or refuses.
func (c *JoinConfig) askAll(ctx context.Context, der []byte) (*tombolov1.JoinResponse, error) {
	for {
		var errs []error
		for _, hub := range c.Hubs {
			resp, err := c.ask(ctx, hub, der)
			if err == nil {
				return resp, nil
			}
			said := fmt.Errorf("hub %s: %s", hub, status.Convert(err).Message())
			if final(err) {
				return nil, said
			}
			errs = append(errs, said)
		}
		if !sleep(ctx, joinPause) {
			return nil, errors.Join(errs...)
		}
	}
}

// final tells whether asking again is of no use.
func final(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable: // gRPC has only words for what goes wrong before there is a connection
		return strings.Contains(err.Error(), "certificate")
	case codes.DeadlineExceeded, codes.ResourceExhausted, codes.Canceled:
		return false
	default:
		return true
	}
}

// ask asks one hub.
func (c *JoinConfig) ask(ctx context.Context, hub string, der []byte) (*tombolov1.JoinResponse, error) {
	conn, err := dial(hub, c.transport())
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // nothing is under way any more
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return tombolov1.NewJoinServiceClient(conn).Join(ctx, &tombolov1.JoinRequest{Token: c.Token, Request: der})
}

// transport verifies the hub by what was given, and shows no certificate.
func (c *JoinConfig) transport() credentials.TransportCredentials {
	roots, now := x509.NewCertPool(), &clock{}
	for _, a := range c.Authorities {
		roots.AddCert(a)
	}
	return &transport{TransportCredentials: credentials.NewTLS(baseConfig()), config: func(host string) *tls.Config {
		cfg := baseConfig()
		if len(c.Pins) == 0 {
			cfg.VerifyConnection = func(s tls.ConnectionState) error { return verify(s, host, roots, now, c.Authorities...) }
			return cfg
		}
		cfg.NextProtos = []string{pki.PinProtocol, "h2"}
		cfg.VerifyConnection = func(s tls.ConnectionState) error { return pinned(s, host, c.Pins, now) }
		return cfg
	}}
}

const (
	// callTimeout bounds one call, its connection included.
	callTimeout = 15 * time.Second
	// maxAnswer bounds an answer, in bytes.
	maxAnswer = 1 << 20
)

// dial returns a connection to a hub. It is made with the first call.
func dial(hub string, creds credentials.TransportCredentials) (*grpc.ClientConn, error) {
	conn, err := grpc.NewClient("passthrough:///"+hub, grpc.WithTransportCredentials(creds), grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(), grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)))
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", hub, err)
	}
	return conn, nil
}

// sleep waits, and tells whether it did: false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
