package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tombolo-sync/tombolo/cmd/internal/flags"
	"github.com/tombolo-sync/tombolo/internal/fleet"
	"github.com/tombolo-sync/tombolo/internal/run"
)

// fleetOptions are the flags of tombolo fleet.
type fleetOptions struct {
	fleet           fleet.Config
	caFile, caKey   string
	insecure        bool
	duration, storm time.Duration
	writer          fleet.Writer
	json            bool
	log             flags.Log
}

func fleetCommand() *cobra.Command {
	o := &fleetOptions{}
	c := &cobra.Command{
		Use: "fleet", Short: "Thousands of light edges, to find out what a hub bears", Args: cobra.NoArgs,
		Long: "Connects many edges to hubs from one process. They speak the sync protocol as edgehubs do and compare what\n" +
			"they hold with the hub's checkpoints, but store nothing and serve nobody, so that one machine stands for\n" +
			"thousands. What they are sent is what the hub's scopes say for their names.\n\n" +
			"A line a second tells how they are doing, a summary comes at the end. The latencies are of objects with the\n" +
			"annotation " + fleet.Marker + " (Unix nanoseconds), which --write-url sets on one object again and again; the\n" +
			"clocks of writer and fleet must agree.\n\n" +
			"Exits with 1 when an edge held something else than its hub, a hub broke the protocol, or none was reached. Each edge takes a\n" +
			"file descriptor here and one at the hub: see ulimit -n.",
		Example: "  tombolo fleet --insecure-dev --hub 127.0.0.1:7443 --edges 1000 --duration 30s\n" +
			"  tombolo fleet --tls-ca ca.pem --ca-key ca-key.pem --hub hub:7443 --edges 10000 --connect-rate 400 --reconnect-storm 1m",
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	f := c.Flags()
	f.IntVar(&o.fleet.Edges, "edges", 100, "how many edges")
	f.StringVar(&o.fleet.Names, "names", "edge-%05d", "pattern of their names, with a verb for a number from 1 on")
	f.StringSliceVar(&o.fleet.Hubs, "hub", nil, "host:port of a hub; edges are spread over several (required)")
	f.StringVar(&o.caFile, "tls-ca", "", "PEM file with the CA that the hubs' certificates are signed by")
	f.StringVar(&o.caKey, "ca-key", "", "PEM file with that CA's key, to make the edges' certificates: for labs")
	f.BoolVar(&o.insecure, "insecure-dev", false, "no TLS and no authentication; on loopback addresses only")
	f.Float64Var(&o.fleet.ConnectRate, "connect-rate", 200, "edges that begin to connect a second; 0: all at once")
	f.DurationVar(&o.duration, "duration", 0, "how long to run; 0: until interrupted")
	f.DurationVar(&o.storm, "reconnect-storm", 0, "cut all connections at once each time so much has passed; 0: never")
	f.IntVar(&o.fleet.Stuck, "stuck", 0, "how many of the edges stop reading once they have caught up")
	f.BoolVar(&o.fleet.Whole, "whole", false, "take no patches and compressed batches, to see what they save")
	f.StringVar(&o.writer.URL, "write-url", "", "URL of an object to mark with the time of writing, at an API without authentication")
	f.Float64Var(&o.writer.Rate, "write-rate", 1, "writes a second to --write-url")
	f.BoolVar(&o.json, "json", false, "write the summary as JSON to standard output, and the table to standard error")
	o.log.Add(c)
	if err := errors.Join(f.Set("log-level", "warn"), c.MarkFlagRequired("hub")); err != nil {
		panic(err) // the flags are defined above
	}
	return c
}

func (o *fleetOptions) run(ctx context.Context, out, errOut io.Writer) error {
	if err := o.complete(); err != nil {
		return err
	}
	fl, err := fleet.New(o.fleet)
	if err != nil {
		return err
	}
	table := out
	if o.json {
		table = errOut
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50) // the machine is to bear as many edges as it can
	}
	last := fl.Stats()
	// The edges stay connected until they were looked at for the last time.
	crowd, dismiss := context.WithCancel(context.WithoutCancel(ctx))
	defer dismiss()
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return fl.Run(crowd) })
	g.Go(func() (err error) {
		defer dismiss()
		last, err = o.watch(ctx, fl, table)
		return err
	})
	if o.writer.URL != "" {
		g.Go(func() error { return o.writer.Run(crowd) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return o.report(last, out)
}

// complete checks the flags and makes of them what the fleet needs.
func (o *fleetOptions) complete() (err error) {
	if o.fleet.Logger, err = o.log.Logger(); err != nil {
		return err
	}
	if o.duration < 0 || o.storm < 0 || o.writer.Rate <= 0 {
		return errors.New("--duration and --reconnect-storm must not be negative, --write-rate must be more than 0")
	}
	o.fleet.Software = "fleet/" + version
	if o.insecure == (o.caFile != "" || o.caKey != "") {
		return errors.New("give --tls-ca and --ca-key, or --insecure-dev for development on one machine")
	}
	if !o.insecure {
		issuer, err := fleet.NewIssuer(o.caFile, o.caKey)
		if err != nil {
			return fmt.Errorf("--tls-ca, --ca-key: %w", err)
		}
		o.fleet.TLS = issuer.TLS
		return nil
	}
	for _, hub := range o.fleet.Hubs {
		if !run.Loopback(hub) {
			return fmt.Errorf("--insecure-dev works on loopback addresses only, %s is not one", hub)
		}
	}
	return nil
}

// watch writes a line a second, and cuts the connections when it is time. It returns how the fleet was doing last.
func (o *fleetOptions) watch(ctx context.Context, fl *fleet.Fleet, table io.Writer) (fleet.Stats, error) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var end <-chan time.Time
	if o.duration > 0 {
		end = time.After(o.duration)
	}
	start := time.Now()
	before, at, storm := fl.Stats(), start, start
	for lines := 0; ; lines++ {
		select {
		case <-ctx.Done():
			return fl.Stats(), nil
		case <-end:
			return fl.Stats(), nil
		case <-tick.C:
		}
		if lines%20 == 0 {
			if _, err := fmt.Fprintln(table, fleet.Header); err != nil {
				return before, err
			}
		}
		now, s := time.Now(), fl.Stats()
		if _, err := fmt.Fprintln(table, fleet.Line(now.Sub(start), before, s, now.Sub(at))); err != nil {
			return before, err
		}
		before, at = s, now
		if o.storm > 0 && now.Sub(storm) >= o.storm {
			storm = now
			fl.Cut()
		}
	}
}

// report writes the summary, and fails when hub and edges did not agree, or never met.
func (o *fleetOptions) report(s fleet.Stats, out io.Writer) error {
	var err error
	if o.json {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		err = enc.Encode(s)
	} else {
		err = s.Summary(out)
	}
	switch {
	case err != nil:
		return err
	case s.Mismatches > 0:
		return fmt.Errorf("hub and edges disagreed %d times", s.Mismatches)
	case s.Sessions == 0:
		return errors.New("no edge has reached a hub: --log-level debug says why")
	default:
		return nil
	}
}
