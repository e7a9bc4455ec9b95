package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
)

// Backup is a copy of etcd's data.
type Backup struct {
	Revision uint64 // of the last write that it has
	dir      string
}

// Backup stops the cluster, copies etcd's data and starts it again.
func (c *Cluster) Backup(ctx context.Context) (Backup, error) {
	dir, err := os.MkdirTemp(c.Dir, "backup-")
	if err != nil {
		return Backup{}, fmt.Errorf("cluster: backup: %w", err)
	}
	if err := c.offline(func() error { return os.CopyFS(dir, os.DirFS(c.path("etcd"))) }); err != nil {
		return Backup{}, err
	}
	if err := c.startEtcd(ctx); err != nil {
		return Backup{}, err
	}
	revision, err := c.revision(ctx) // nobody else can write yet
	if err != nil {
		return Backup{}, err
	}
	return Backup{revision, dir}, c.StartAPIServer(ctx)
}

// Restore stops the cluster, puts etcd's data back to a Backup, which it uses up, and starts it again: revisions go back.
func (c *Cluster) Restore(ctx context.Context, b Backup) error {
	return c.replace(ctx, func() error {
		return errors.Join(os.RemoveAll(c.path("etcd")), os.Rename(b.dir, c.path("etcd")))
	})
}

// Replace stops the cluster and starts another one, empty, at the same address.
func (c *Cluster) Replace(ctx context.Context) error {
	return c.replace(ctx, func() error { return os.RemoveAll(c.path("etcd")) })
}

// replace runs do while both servers are down, and starts them again.
func (c *Cluster) replace(ctx context.Context, do func() error) error {
	if err := c.offline(do); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return err
	}
	return c.StartAPIServer(ctx)
}

// offline stops both servers and runs do. kube-apiserver would wait for its watches to end.
func (c *Cluster) offline(do func() error) error {
	if err := errors.Join(c.KillAPIServer(), c.Stop()); err != nil {
		return err
	}
	if err := do(); err != nil {
		return fmt.Errorf("cluster: etcd's data: %w", err)
	}
	return nil
}

// revision is etcd's own.
func (c *Cluster) revision(ctx context.Context) (uint64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.EtcdURL+"/v3/kv/range", strings.NewReader(`{"key":"AA=="}`))
	if err != nil {
		return 0, fmt.Errorf("cluster: %w", err)
	}
	response, err := newClient(nil).Do(request)
	if err != nil {
		return 0, fmt.Errorf("cluster: %w", err)
	}
	defer response.Body.Close()
	var answer struct {
		Header struct {
			Revision uint64 `json:"revision,string"`
		} `json:"header"`
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		return 0, fmt.Errorf("cluster: etcd's revision: %s: %w", response.Status, err)
	}
	if answer.Header.Revision == 0 {
		return 0, fmt.Errorf("cluster: etcd's revision: %s tells none", response.Status)
	}
	return answer.Header.Revision, nil
}
