package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/spf13/cobra"

	identity "github.com/tombolo-sync/tombolo/edgehub/credentials"
	"github.com/tombolo-sync/tombolo/internal/pki"
)

// joinOptions are the flags of edgehub join.
type joinOptions struct {
	hubs, hashes                      []string
	token, tokenFile, caFile, dataDir string
	timeout                           time.Duration
}

func joinCommand() *cobra.Command {
	o := &joinOptions{}
	c := &cobra.Command{
		Use: "join", Short: "Get this edge its certificate", Args: cobra.NoArgs,
		Long: "Trades a token, which `cloudhub token create` makes, for a certificate, and keeps that with its key in the data\n" +
			"directory, in place of what is there. The key never leaves it. `edgehub run` renews the certificate in time.\n" +
			"May be repeated with the same token when something went wrong.",
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.InOrStdin(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.StringSliceVar(&o.hubs, "hub", nil, "hubs, HOST:PORT[,HOST:PORT…], tried in turn (required)")
	f.StringVar(&o.token, "token", "", "the token")
	f.StringVar(&o.tokenFile, "token-file", "", "file with the token, - for standard input: other users of this machine can see command lines")
	f.StringSliceVar(&o.hashes, "ca-hash", nil, "hash of the authority of the hubs' certificates, sha256:…; any of several")
	f.StringVar(&o.caFile, "ca-file", "", "PEM file with that authority, instead of its hash")
	f.StringVar(&o.dataDir, "data-dir", "", "directory for everything that outlives the process (required)")
	f.DurationVar(&o.timeout, "timeout", time.Minute, "how long to try")
	mustRequire(c, "hub", "data-dir")
	return c
}

func (o *joinOptions) run(ctx context.Context, in io.Reader, out io.Writer) error {
	cfg, err := o.config(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	id, err := identity.Join(ctx, cfg)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "joined as %s; the certificate is good until %s and renewed in time by: edgehub run --data-dir %s\n",
		id.Edge(), id.NotAfter().UTC().Format(time.RFC3339), o.dataDir)
	return err
}

func (o *joinOptions) config(in io.Reader) (identity.JoinConfig, error) {
	cfg := identity.JoinConfig{Hubs: o.hubs, Token: o.token, Folder: folder(o.dataDir)}
	for _, h := range o.hubs {
		if _, _, err := net.SplitHostPort(h); err != nil {
			return cfg, fmt.Errorf("--hub %q: %w", h, err)
		}
	}
	for _, text := range o.hashes {
		pin, err := pki.ParsePin(text)
		if err != nil {
			return cfg, fmt.Errorf("--ca-hash: %w", err)
		}
		cfg.Pins = append(cfg.Pins, pin)
	}
	if (len(cfg.Pins) == 0) == (o.caFile == "") {
		return cfg, errors.New("give either --ca-hash or --ca-file")
	}
	if o.caFile != "" {
		data, err := os.ReadFile(o.caFile)
		if err != nil {
			return cfg, fmt.Errorf("--ca-file: %w", err)
		}
		if cfg.Authorities, err = pki.ParseCertificates(data); err != nil {
			return cfg, fmt.Errorf("--ca-file %s: %w", o.caFile, err)
		}
	}
	var err error
	cfg.Token, err = o.readToken(in)
	return cfg, err
}

// maxTokenFile bounds what is read of a file with a token.
const maxTokenFile = 1 << 10

func (o *joinOptions) readToken(in io.Reader) (string, error) {
	switch {
	case (o.token == "") == (o.tokenFile == ""):
		return "", errors.New("give either --token or --token-file")
	case o.token != "":
		return o.token, nil
	case o.tokenFile != "-":
		f, err := os.Open(o.tokenFile)
		if err != nil {
			return "", fmt.Errorf("--token-file: %w", err)
		}
		defer f.Close() //nolint:errcheck // only read
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxTokenFile))
	if err != nil {
		return "", fmt.Errorf("--token-file: %w", err)
	}
	return string(bytes.TrimSpace(data)), nil
}
