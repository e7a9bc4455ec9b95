package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/tombolo-sync/tombolo/cmd/internal/cloud"
	"github.com/tombolo-sync/tombolo/cmd/internal/edge"
	"github.com/tombolo-sync/tombolo/cmd/internal/flags"
)

// demoOptions are the flags of tombolo demo.
type demoOptions struct {
	cloudAddr, edgeAddr, kubeconfig, dataDir string
	log                                      flags.Log
}

func demoCommand() *cobra.Command {
	o := &demoOptions{}
	c := &cobra.Command{
		Use: "demo", Short: "A cloud, a hub and an edge on this machine, and a link between them that can be cut",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), c.OutOrStdout()) },
	}
	f := c.Flags()
	f.StringVar(&o.cloudAddr, "cloud-addr", "127.0.0.1:8001", "loopback address of the embedded cloud's Kubernetes API")
	f.StringVar(&o.edgeAddr, "edge-addr", "127.0.0.1:10550", "loopback address of the edge's Kubernetes API")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "use this cluster instead of the embedded cloud; nothing is written to it")
	f.StringVar(&o.dataDir, "data-dir", "", "keep what cloud and edge store here; a temporary directory otherwise")
	o.log.Add(c)
	if err := f.Set("log-level", "warn"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

func (o *demoOptions) run(ctx context.Context, out io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	dir, clean, err := o.directory()
	if err != nil {
		return err
	}
	defer clean()
	d, err := o.build(ctx, dir)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return cloud.Run(ctx, d.cloud) })
	g.Go(func() error { return d.link.Run(ctx) })
	g.Go(func() error { return edge.Run(ctx, d.edge) })
	g.Go(func() error { return d.show(ctx, out) })
	if err := g.Wait(); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (o *demoOptions) check() error {
	if err := flags.LoopbackOnly("edge-addr", o.edgeAddr); err != nil {
		return err
	}
	if o.kubeconfig != "" {
		return nil
	}
	return flags.LoopbackOnly("cloud-addr", o.cloudAddr)
}

// directory returns where to store things, and what to call at the end.
func (o *demoOptions) directory() (string, func(), error) {
	if o.dataDir != "" {
		return o.dataDir, func() {}, os.MkdirAll(o.dataDir, 0o700)
	}
	dir, err := os.MkdirTemp("", "tombolo-demo-")
	if err != nil {
		return "", nil, fmt.Errorf("demo: %w", err)
	}
	return dir, func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "tombolo: remove the temporary directory:", err)
		}
	}, nil
}

// edgeName is the demo's edge, and the name of the sample node that it stands for.
const edgeName = "edge-1"

// show waits until everything is up, fills an empty embedded cloud, says what to try, and then keeps telling how the
// edge is doing.
func (d *demo) show(ctx context.Context, out io.Writer) error {
	if d.cloud.Embedded != nil {
		if err := applySamples(ctx, "http://"+d.cloud.API.Addr().String()); err != nil {
			return fmt.Errorf("sample objects: %w", err)
		}
	}
	if err := d.waitReady(ctx); err != nil {
		return err
	}
	if _, err := fmt.Fprint(out, d.introduction()); err != nil {
		return err
	}
	return d.follow(ctx, out)
}

func (d *demo) waitReady(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var said time.Time
	for start := time.Now(); ; {
		err := d.edge.Agent.Ready()
		if live, _ := d.edge.Agent.Contact(); err == nil && live {
			return nil
		}
		if now := time.Now(); now.Sub(start) > 5*time.Second && now.Sub(said) > 5*time.Second {
			said = now
			d.logger.Warn("the edge is not ready yet", "reason", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (d *demo) introduction() string {
	api := d.edge.Serve.Addr().String()
	text := "\nready. The edge serves http://" + api + ", whatever happens to the link. Try, in another terminal:\n\n"
	if d.cloud.Embedded != nil {
		c := d.cloud.API.Addr().String()
		text += "  kubectl --server http://" + c + " -n shop create configmap greeting --from-literal=text=hello # in the cloud\n" +
			"  kubectl --server http://" + api + " -n shop get configmap greeting # at the edge\n" +
			"  kubectl --server http://" + c + " -n shop label pod till-1 shift=night # in the cloud\n"
	}
	return text +
		"  kubectl --server http://" + api + " get pods -A\n" +
		"  kubectl --server http://" + api + " get pods -A --field-selector spec.nodeName=" + edgeName + "\n" +
		"  kubectl --server http://" + api + " get pods -A -w\n\n" +
		"Press Enter, or send this process (" + fmt.Sprint(os.Getpid()) + ") SIGUSR1, to cut the link and to heal it. " +
		"Ctrl-C ends.\n\n"
}

func (o *demoOptions) embeddedFile(dir string) string { return filepath.Join(dir, "cloud", "cloud.db") }
