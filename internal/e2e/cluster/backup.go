package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
)

// Backup stops the cluster, copies etcd's data and starts it again. It returns the copy's directory.
func (c *Cluster) Backup(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp(c.Dir, "backup-")
	if err != nil {
		return "", fmt.Errorf("cluster: backup: %w", err)
	}
	return dir, c.offline(ctx, func() error { return os.CopyFS(dir, os.DirFS(c.path("etcd"))) })
}

// Restore stops the cluster, puts etcd's data back to a Backup, which it uses up, and starts it again: revisions go back.
func (c *Cluster) Restore(ctx context.Context, backup string) error {
	return c.offline(ctx, func() error {
		return errors.Join(os.RemoveAll(c.path("etcd")), os.Rename(backup, c.path("etcd")))
	})
}

// Replace stops the cluster and starts another one, empty, at the same address.
func (c *Cluster) Replace(ctx context.Context) error {
	return c.offline(ctx, func() error { return os.RemoveAll(c.path("etcd")) })
}

// offline runs do while both servers are down. kube-apiserver would wait for its watches to end.
func (c *Cluster) offline(ctx context.Context, do func() error) error {
	if err := errors.Join(c.KillAPIServer(), c.Stop()); err != nil {
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("cluster: etcd's data: %w", err)
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}
