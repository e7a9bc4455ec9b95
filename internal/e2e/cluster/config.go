package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Config says where a cluster lives and how it is started. The zero value is
// complete for [New]; [Start] needs Dir.
type Config struct {
	// Dir holds everything the cluster writes: etcd's data, certificates,
	// logs, the kubeconfig. It must exist, be empty, and is the caller's to
	// remove after Stop.
	Dir string

	// BinDir is where etcd, kube-apiserver and kubectl are. Default: bin/e2e
	// of the module that the working directory belongs to.
	BinDir string

	// APIServerArgs are appended to kube-apiserver's command line, so they
	// win over the defaults.
	APIServerArgs []string

	// EtcdArgs are appended to etcd's command line.
	EtcdArgs []string

	// ReadyTimeout bounds the wait for a started server. Default: 60 s.
	ReadyTimeout time.Duration

	// StopTimeout is how long a server may take to end after SIGTERM before
	// it is killed. Default: 30 s.
	StopTimeout time.Duration
}

// complete fills in the defaults and checks that the cluster can be started.
func (c *Config) complete() error {
	c.ReadyTimeout = cmp.Or(c.ReadyTimeout, time.Minute)
	c.StopTimeout = cmp.Or(c.StopTimeout, 30*time.Second)
	if c.Dir == "" {
		return errors.New("cluster: Config.Dir is empty")
	}
	if c.BinDir == "" {
		root, err := moduleRoot()
		if err != nil {
			return err
		}
		c.BinDir = filepath.Join(root, "bin", "e2e")
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kubectl"} {
		if _, err := os.Stat(filepath.Join(c.BinDir, name)); err != nil {
			return fmt.Errorf("cluster: %w: run `make kube`", err)
		}
	}
	return nil
}

// moduleRoot is the nearest directory upwards that holds a go.mod.
func moduleRoot() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("cluster: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("cluster: no go.mod above %s: set Config.BinDir", wd)
		}
	}
}
