package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"

	"github.com/tombolo-sync/tombolo/cmd/internal/edge"
	"github.com/tombolo-sync/tombolo/cmd/internal/flags"
	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/edgehub/authn"
	"github.com/tombolo-sync/tombolo/edgehub/authority"
	"github.com/tombolo-sync/tombolo/edgehub/authz"
	"github.com/tombolo-sync/tombolo/internal/loopback"
	"github.com/tombolo-sync/tombolo/internal/pki"
	"github.com/tombolo-sync/tombolo/internal/run"
)

// localAPI is what the local API needs of files and flags.
type localAPI struct {
	flags     *flags.Serving
	edge      string
	authority *authority.Authority
	roots     []authn.Roots // of client certificates
	pair      *pki.Pair     // nil: the authority's
	tcp       net.Listener
	socket    net.Listener // nil: none
}

// openLocal reads the files and opens the addresses.
func (o *runOptions) openLocal(ctx context.Context) (l *localAPI, err error) {
	l = &localAPI{flags: &o.serving, edge: o.name}
	if !o.serving.Plain {
		if err := l.openFiles(filepath.Join(o.dataDir, authority.Name)); err != nil {
			return nil, err
		}
	}
	if l.tcp, err = run.Listen(ctx, "--serve", o.serve); err != nil {
		return nil, err
	}
	if o.serving.Socket != "" {
		if l.socket, err = run.ListenSocket(ctx, "--serve-socket", o.serving.Socket); err != nil {
			_ = l.tcp.Close()
			return nil, err
		}
	}
	return l, nil
}

func (l *localAPI) openFiles(dir string) (err error) {
	if l.pair, err = l.flags.Pair(); err != nil {
		return err
	}
	if l.authority, err = authority.Open(dir); err != nil {
		return fmt.Errorf("the authority of the local API: %w", err)
	}
	l.roots = []authn.Roots{l.authority}
	if l.flags.ClientCA != "" {
		bundle, err := pki.NewBundle(l.flags.ClientCA)
		if err != nil {
			return fmt.Errorf("--client-ca-file: %w", err)
		}
		l.roots = append(l.roots, bundle)
	}
	return nil
}

// close closes what the servers have not.
func (l *localAPI) close() {
	_ = l.tcp.Close()
	if l.socket != nil {
		_ = l.socket.Close()
	}
}

// url is where this machine reaches the API.
func (l *localAPI) url() string {
	addr := l.tcp.Addr().(*net.TCPAddr)
	host := addr.IP.String()
	if addr.IP.IsUnspecified() {
		host = "127.0.0.1"
	}
	return l.flags.Scheme() + "://" + net.JoinHostPort(host, fmt.Sprint(addr.Port))
}

// configure adds the local API to an edge's configuration.
func (l *localAPI) configure(cfg *edge.Config, agent *edgehub.Agent, kubeconfig string) error {
	cfg.Serve, cfg.Socket = l.tcp, l.socket
	if l.socket != nil {
		cfg.SocketUser = authority.AdminUser()
	}
	if l.flags.Plain {
		return nil
	}
	cfg.TLS = l.tls()
	cfg.Kubeconfig = &authority.Kubeconfig{Authority: l.authority, Path: kubeconfig, URL: l.url(), Edge: l.edge}
	if !l.flags.Open() {
		cfg.Authenticator = &authn.Authenticator{Certificates: authn.NewCertificates(l.roots...), Tokens: l.tokens(agent, cfg.Logger)}
		cfg.Authorizer = authz.New(agent, cfg.Logger)
	}
	return cfg.Kubeconfig.Write()
}

// tokens knows those of the cloud, which is asked as any client of the edge asks it.
func (l *localAPI) tokens(agent *edgehub.Agent, logger *slog.Logger) *authn.Tokens {
	cloud := &authn.Cloud{
		Transport: &loopback.Transport{Handler: agent.Calls(), Logger: logger}, Online: agent.Calls().Online, Audiences: l.flags.Audiences,
	}
	return authn.NewTokens(cloud, authn.NewVerifier(agent, l.flags.Audiences...), logger)
}

// tls is the configuration of the API's side. Clients that know the authority ask for its name, others are shown the
// certificate of the flags. What a certificate is worth, the authenticator says, with a 401, as in kube-apiserver.
func (l *localAPI) tls() *tls.Config {
	names := append([]string{l.edge}, l.flags.Names...)
	if host, _, err := net.SplitHostPort(l.tcp.Addr().String()); err == nil && !net.ParseIP(host).IsUnspecified() {
		names = append(names, host)
	}
	own := l.authority.Serving(names...)
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if l.pair == nil || hello.ServerName == authority.ServerName {
				return own.Get()
			}
			return l.pair.Get()
		},
	}
	if !l.flags.Open() {
		cfg.ClientAuth = tls.RequestClientCert
	}
	return cfg
}

func (o *runOptions) kubeconfig() string {
	if o.serving.Kubeconfig != "" {
		return o.serving.Kubeconfig
	}
	return filepath.Join(o.dataDir, "kubeconfig")
}
