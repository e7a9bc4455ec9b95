package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
	"github.com/tombolo-sync/tombolo/internal/pki"
)

func tokenCommand() *cobra.Command {
	c := &cobra.Command{Use: "token", Short: "Make, list and take back the tokens that edges join with", Args: cobra.NoArgs}
	c.AddCommand(tokenCreateCommand(), tokenListCommand(), tokenRevokeCommand())
	return c
}

// registered are the flags of a command that works on the register.
type registered struct {
	register   registerOptions
	kubeconfig string
}

func (r *registered) add(c *cobra.Command) {
	r.register.add(c)
	c.Flags().StringVar(&r.kubeconfig, "kubeconfig", "", "kubeconfig of the cluster of --register-namespace; in a pod, none means the pod's own")
}

func (r *registered) open() (register, error) { return r.register.open(r.kubeconfig, false) }

// tokenOptions are the flags of cloudhub token create.
type tokenOptions struct {
	registered
	edge, hubCA string
	hubs        []string
	ttl         time.Duration
}

func tokenCreateCommand() *cobra.Command {
	o := &tokenOptions{}
	c := &cobra.Command{
		Use: "create", Short: "Make a token and print the command that joins an edge with it", Args: cobra.NoArgs,
		Long: "Makes a token that one edge can join with, once, and prints the command for that. The secret in it is kept nowhere;\n" +
			"whoever has it before the edge becomes the edge.",
		RunE: func(c *cobra.Command, _ []string) error {
			line, err := o.run(c.Context(), time.Now())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), line)
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&o.edge, "edge", "", "the edge's name (required)")
	f.DurationVar(&o.ttl, "ttl", time.Hour, "how long the token is good for, up to a week")
	f.StringSliceVar(&o.hubs, "hub", envList("TOMBOLO_HUB"),
		"addresses of hubs as the edge reaches them, HOST:PORT[,HOST:PORT…] (required, or $TOMBOLO_HUB)")
	f.StringVar(&o.hubCA, "hub-ca", os.Getenv("TOMBOLO_HUB_CA"),
		"PEM file with the authority of the hubs' certificates (required, or $TOMBOLO_HUB_CA)")
	o.add(c)
	if err := c.MarkFlagRequired("edge"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

// envList returns the values in an environment variable, separated by commas.
func envList(name string) []string {
	if text := os.Getenv(name); text != "" {
		return strings.Split(text, ",")
	}
	return nil
}

// run returns the command that joins the edge.
func (o *tokenOptions) run(ctx context.Context, now time.Time) (string, error) {
	if len(o.hubs) == 0 || o.hubCA == "" {
		return "", errors.New("give --hub and --hub-ca, or set TOMBOLO_HUB and TOMBOLO_HUB_CA")
	}
	for _, h := range o.hubs {
		if _, _, err := net.SplitHostPort(h); err != nil {
			return "", fmt.Errorf("--hub %q: %w", h, err)
		}
	}
	pins, err := pinsOf(o.hubCA)
	if err != nil {
		return "", fmt.Errorf("--hub-ca: %w", err)
	}
	r, err := o.open()
	if err != nil {
		return "", err
	}
	last, err := lastRevocation(ctx, r, o.edge)
	if err != nil {
		return "", err
	}
	token, text, err := enroll.NewToken(o.edge, o.ttl, now, last)
	if err != nil {
		return "", err
	}
	if err := prune(ctx, r, now); err != nil {
		return "", err
	}
	if err := r.Add(ctx, token); err != nil {
		return "", err
	}
	return fmt.Sprintf("edgehub join --hub %s --token %s --ca-hash %s --data-dir /var/lib/edgehub",
		strings.Join(o.hubs, ","), text, strings.Join(pins, ",")), nil
}

// pinsOf returns the hashes of the authorities in a file.
func pinsOf(file string) ([]string, error) {
	data, err := os.ReadFile(file) //nolint:gosec // the operator says where
	if err != nil {
		return nil, err
	}
	certs, err := pki.ParseCertificates(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var out []string
	for _, c := range certs {
		if c.IsCA {
			out = append(out, pki.PinOf(c).String())
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s: no authority in it", file)
	}
	return out, nil
}

// keepExpired is how long tokens are kept after their end, for those who wonder what became of them.
const keepExpired = 24 * time.Hour

// prune removes tokens that ended long ago.
func prune(ctx context.Context, d desk, now time.Time) error {
	all, err := d.Tokens(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		if now.Sub(t.Expires) > keepExpired {
			if err := d.Remove(ctx, t.ID); err != nil {
				return err
			}
		}
	}
	return nil
}

func tokenListCommand() *cobra.Command {
	o := &registered{}
	c := &cobra.Command{
		Use: "list", Short: "List the tokens, without their secrets", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := o.open()
			if err != nil {
				return err
			}
			all, err := r.Tokens(c.Context())
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "ID\tEDGE\tEXPIRES\tSTATE")
			for _, t := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", t.ID, t.Edge, t.Expires.UTC().Format(time.RFC3339), state(t, time.Now()))
			}
			return w.Flush()
		},
	}
	o.add(c)
	return c
}

func state(t enroll.Token, now time.Time) string {
	switch {
	case t.Holder != "":
		return "used by key " + t.Holder[:min(16, len(t.Holder))]
	case !now.Before(t.Expires):
		return "expired"
	default:
		return "unused"
	}
}

func tokenRevokeCommand() *cobra.Command {
	o := &registered{}
	c := &cobra.Command{
		Use: "revoke ID", Short: "Take a token back; a certificate that it was used for stays valid: see edge revoke", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := o.open()
			if err != nil {
				return err
			}
			id, _, _ := strings.Cut(args[0], ".")
			if err := r.Remove(c.Context(), id); err != nil {
				return fmt.Errorf("token %s: %w", id, err)
			}
			return nil
		},
	}
	o.add(c)
	return c
}
