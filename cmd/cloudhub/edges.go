package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
)

func edgeCommand() *cobra.Command {
	c := &cobra.Command{Use: "edge", Short: "Revoke edges, and list the revocations", Args: cobra.NoArgs}
	c.AddCommand(edgeRevokeCommand(), edgeRevocationsCommand())
	return c
}

func edgeRevokeCommand() *cobra.Command {
	o := &registered{}
	var reason string
	c := &cobra.Command{
		Use: "revoke NAME", Short: "Bar an edge with all certificates and tokens that it has", Args: cobra.ExactArgs(1),
		Long: "Bars an edge with all certificates and tokens that were issued to it until now: its streams end within seconds. A\n" +
			"token that is made later lets it, or what takes its place, join again.",
		RunE: func(c *cobra.Command, args []string) error {
			if len(validation.IsDNS1123Subdomain(args[0])) > 0 {
				return fmt.Errorf("%q can't be an edge's name", args[0])
			}
			r, err := o.open()
			if err != nil {
				return err
			}
			last, err := lastRevocation(c.Context(), r, args[0])
			if err != nil {
				return err
			}
			v := enroll.NewRevocation(args[0], reason, time.Now(), last)
			v.By = whoami()
			if err := r.Revoke(c.Context(), v); err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "edge %s: what was issued before %s is barred\n", v.Edge, v.Before.UTC().Format(time.RFC3339))
			return err
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for those who read the list")
	o.add(c)
	return c
}

// whoami names who runs this command, as far as the machine knows.
func whoami() string {
	name := "somebody"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

// lastRevocation returns when an edge was last revoked, zero for never.
func lastRevocation(ctx context.Context, l ledger, edge string) (time.Time, error) {
	all, err := l.Revocations(ctx)
	if err != nil {
		return time.Time{}, err
	}
	for _, v := range all {
		if v.Edge == edge {
			return v.Before, nil
		}
	}
	return time.Time{}, nil
}

func edgeRevocationsCommand() *cobra.Command {
	o := &registered{}
	c := &cobra.Command{
		Use: "revocations", Short: "List the last revocation of each edge that was ever revoked", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			r, err := o.open()
			if err != nil {
				return err
			}
			all, err := r.Revocations(c.Context())
			if err != nil {
				return err
			}
			w := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "EDGE\tISSUED BEFORE\tBY\tREASON")
			for _, v := range all {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", v.Edge, v.Before.UTC().Format(time.RFC3339), v.By, v.Reason)
			}
			return w.Flush()
		},
	}
	o.add(c)
	return c
}
