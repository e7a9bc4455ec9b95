package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/cloudhub/audit"
	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
	"github.com/tombolo-sync/tombolo/cloudhub/identity"
	"github.com/tombolo-sync/tombolo/cloudhub/site"
	"github.com/tombolo-sync/tombolo/internal/pki"
)

// trustOptions are the flags of who is let in, and who gives them certificates.
type trustOptions struct {
	register     registerOptions
	cert, key    string // of the edges' authority
	hubCA        string
	ttl, grace   time.Duration
	checkEvery   time.Duration
	certificates pki.Files      // of the hub
	sites        *site.Registry // nil without
}

func (o *trustOptions) add(c *cobra.Command) {
	o.register.add(c)
	f := c.Flags()
	f.StringVar(&o.cert, "edge-ca-cert", "", "PEM file with the authority that signs edges' certificates; with it edges can join by a token")
	f.StringVar(&o.key, "edge-ca-key", "", "PEM file with its key")
	f.StringVar(&o.hubCA, "hub-ca", "", "PEM file with the authorities that edges know hubs by (default: that of --tls-ca)")
	f.DurationVar(&o.ttl, "edge-cert-ttl", 30*24*time.Hour, "how long edges' certificates last; edges renew them after two thirds of it")
	f.DurationVar(&o.grace, "renew-grace", 30*24*time.Hour,
		"how long after its end an edge's certificate may still be renewed, and nothing else, by the same key")
	f.DurationVar(&o.checkEvery, "edge-check-interval", time.Hour,
		"how often edges ask whether authorities have changed; edges of before go by the interval that they were told")
}

func (o *trustOptions) check() error {
	if (o.cert == "") != (o.key == "") {
		return errors.New("--edge-ca-cert and --edge-ca-key must be given together")
	}
	if o.ttl <= 0 || o.grace < 0 || o.checkEvery <= 0 {
		return errors.New("--edge-cert-ttl and --edge-check-interval must be more than 0, --renew-grace not less")
	}
	return nil
}

// trust is what the flags ask for. The gate is nil without TLS, the server without an authority for edges.
type trust struct {
	gate    *identity.Gate
	server  *enroll.Server
	keep    register // nil: there is none
	revoked *enroll.Revoked
	lines   *audit.Log
	logger  *slog.Logger
}

// build puts together what lets edges in. cfg is the hub's side of TLS, nil without.
func (o *trustOptions) build(cfg *tls.Config, kubeconfig string, logger *slog.Logger, reg prometheus.Registerer) (*trust, error) {
	t := &trust{lines: audit.New(logger), logger: logger, revoked: enroll.NewRevoked()}
	if cfg == nil {
		return t, nil
	}
	edges := []string{o.certificates.CA}
	if o.cert != "" {
		edges = append(edges, o.cert)
	}
	authorities, err := pki.NewBundle(edges...)
	if err != nil {
		return nil, err
	}
	hubs, err := pki.NewBundle(cmp.Or(o.hubCA, o.certificates.CA))
	if err != nil {
		return nil, fmt.Errorf("--hub-ca: %w", err)
	}
	if err := checkOwn(cfg, hubs.Pool(), time.Now()); err != nil {
		logger.Error("edges will refuse this hub until its certificate is replaced", "file", o.certificates.Cert, "err", err)
	}
	gate := identity.Config{
		TLS: cfg, Authorities: authorities.Pool, Pins: hubs.Certificates, Audit: t.lines, Logger: logger, Metrics: reg,
	}
	if o.register.given() {
		if t.keep, err = o.register.open(kubeconfig, true); err != nil {
			return nil, err
		}
		gate.Standings = []identity.Standing{t.revoked}
	}
	if o.sites != nil {
		gate.Standings = append(gate.Standings, o.sites)
	}
	if o.cert != "" {
		if t.server, err = o.server(t, hubs, reg); err != nil {
			return nil, err
		}
		gate.Anonymous, gate.Lapsed, gate.Grace = enroll.Anonymous, enroll.Lapsed, o.grace
	}
	t.gate, err = identity.New(gate)
	return t, err
}

// server returns what gives certificates.
func (o *trustOptions) server(t *trust, hubs *pki.Bundle, reg prometheus.Registerer) (*enroll.Server, error) {
	if t.keep == nil {
		return nil, errors.New("--edge-ca-cert needs --register DIR or --register-namespace NAMESPACE")
	}
	pair, err := pki.NewPair(o.cert, o.key)
	if err != nil {
		return nil, fmt.Errorf("--edge-ca-cert, --edge-ca-key: %w", err)
	}
	issuer, err := enroll.NewIssuer(pair.Get, o.ttl)
	if err != nil {
		return nil, fmt.Errorf("--edge-ca-cert: %w", err)
	}
	cfg := enroll.Config{
		Issuer: issuer, Tokens: t.keep, Revoked: t.revoked, Authorities: hubs.Certificates, CheckInterval: o.checkEvery,
		Audit: t.lines, Logger: t.logger, Metrics: reg,
	}
	if o.sites != nil {
		cfg.Standing = o.sites
	}
	return enroll.New(cfg)
}

// sayEvery is how often the same trouble with the register is said.
const sayEvery = time.Minute

// run keeps up with revocations until ctx ends.
func (t *trust) run(ctx context.Context) error {
	if t.keep != nil && t.gate != nil {
		var said string
		var at time.Time
		t.keep.Follow(ctx, t.revoke, func(err error) {
			if err.Error() == said && time.Since(at) < sayEvery {
				return
			}
			said, at = err.Error(), time.Now()
			t.logger.Error("revocations can't be read: those known stay in force, and a hub that knows none yet lets nobody in", "err", err)
		})
	}
	return nil
}

// revoke puts revocations into force.
func (t *trust) revoke(all []enroll.Revocation) {
	for _, v := range t.revoked.Set(all) {
		detail := []any{"issued_before", v.Before.UTC().Format(time.RFC3339)}
		if v.By != "" {
			detail = append(detail, "by", v.By)
		}
		t.lines.Write(audit.Entry{Action: "revoke", Edge: v.Edge, Result: audit.Granted, Reason: v.Reason, Detail: detail})
	}
}
