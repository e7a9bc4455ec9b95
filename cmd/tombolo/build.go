package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc/credentials/insecure"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/tombolo-sync/tombolo/cloudhub"
	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/cloudhub/source/kube"
	"github.com/tombolo-sync/tombolo/cmd/internal/cloud"
	"github.com/tombolo-sync/tombolo/cmd/internal/edge"
	"github.com/tombolo-sync/tombolo/cmd/internal/link"
	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/internal/obs"
	"github.com/tombolo-sync/tombolo/internal/run"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// demo is everything in one process.
type demo struct {
	logger  *slog.Logger
	cloud   cloud.Config
	edge    edge.Config
	link    *link.Link
	hubLogs map[schema.GroupResource]*watchlog.Log // the cloud's side of what the edge holds; none with a real cluster
	inStep  time.Time                              // when the edge last had all that the cloud has
}

// demoScope lets the demo's edge hold what people look at first.
const demoScope = `scopes:
- name: demo
  edges: ["` + edgeName + `"]
  rules:
  - resource: namespaces
  - resource: nodes
  - resource: pods
  - resource: services
  - resource: configmaps
  - {group: apps, resource: deployments}
  - {group: apps, resource: daemonsets}
  - {group: discovery.k8s.io, resource: endpointslices}
  - {group: coordination.k8s.io, resource: leases}
`

// build puts the demo together. Everything listens when it returns; nothing runs yet.
func (o *demoOptions) build(ctx context.Context, dir string) (*demo, error) {
	logger, err := o.log.Logger()
	if err != nil {
		return nil, err
	}
	scopes, err := scope.Parse([]byte(demoScope))
	if err != nil {
		return nil, err
	}
	d := &demo{logger: logger, inStep: time.Now()}
	sync, err := run.Listen(ctx, "sync", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	d.cloud = cloud.Config{Logger: logger, Metrics: obs.NewRegistry()}
	src, err := o.source(ctx, dir, d)
	if err != nil {
		return nil, err
	}
	d.cloud.Hub, err = cloudhub.New(cloudhub.Config{
		Source: src, Cloud: src, Scopes: scopes, Listener: sync, Credentials: insecure.NewCredentials(), Insecure: true,
		Software: version, Logger: logger.With("at", "hub"), Metrics: d.cloud.Metrics, ProgressInterval: time.Second,
	})
	if err != nil {
		return nil, err
	}
	if d.link, err = link.New(ctx, sync.Addr().String()); err != nil {
		return nil, err
	}
	return d, o.buildEdge(ctx, dir, d)
}

// source returns where the objects come from: an embedded cloud, or the cluster of a kubeconfig.
func (o *demoOptions) source(ctx context.Context, dir string, d *demo) (cloud.Source, error) {
	if o.kubeconfig != "" {
		cfg, err := clientcmd.BuildConfigFromFlags("", o.kubeconfig)
		if err != nil {
			return nil, fmt.Errorf("--kubeconfig: %w", err)
		}
		kube.LogTo(d.logger)
		return kube.New(kube.Config{REST: cfg, Logger: d.logger.With("at", "source"), Metrics: d.cloud.Metrics})
	}
	api, err := run.Listen(ctx, "--cloud-addr", o.cloudAddr)
	if err != nil {
		return nil, err
	}
	file := o.embeddedFile(dir)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	c, err := embedded.Open(file, embedded.Options{Logger: d.logger.With("at", "cloud")})
	if err != nil {
		return nil, err
	}
	d.cloud.Embedded, d.cloud.API = c, api
	if d.cloud.Handler, err = cloud.API(c, d.logger, d.cloud.Metrics); err != nil {
		return nil, err
	}
	return cloud.Embedded(c, d.cloud.Handler, d.logger), d.openHubLogs(ctx, c)
}

// openHubLogs opens the embedded cloud's logs of what the edge holds, to see how far behind the edge is.
func (d *demo) openHubLogs(ctx context.Context, c *embedded.Cloud) error {
	file, err := scope.Parse([]byte(demoScope))
	if err != nil {
		return err
	}
	d.hubLogs = map[schema.GroupResource]*watchlog.Log{}
	for _, gr := range file.For(edgeName).Resources() {
		l, _, err := c.Open(ctx, gr) // never let go of: the demo lasts as long as the process
		if err != nil {
			return err
		}
		d.hubLogs[gr] = l
	}
	return nil
}

func (o *demoOptions) buildEdge(ctx context.Context, dir string, d *demo) error {
	serve, err := run.Listen(ctx, "--edge-addr", o.edgeAddr)
	if err != nil {
		return err
	}
	d.edge = edge.Config{Serve: serve, Logger: d.logger, Metrics: obs.NewRegistry()}
	d.edge.Agent, err = edgehub.New(edgehub.Config{
		Name: edgeName, Hubs: []string{d.link.Addr()}, DataDir: filepath.Join(dir, "edge"),
		Credentials: insecure.NewCredentials(), Software: version, Logger: d.logger.With("at", "edge"),
		Metrics: d.edge.Metrics, MinBackoff: 100 * time.Millisecond, MaxBackoff: 2 * time.Second,
	})
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("--data-dir: %w", err)
	}
	return err
}
