package kube

import (
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Config configures a Kube.
type Config struct {
	// REST says where the API server is and how to authenticate. Required. Its Timeout is ignored, as it would end
	// watches, and so is its content type: objects are always JSON. QPS 0 means no limit on this side.
	REST *rest.Config
	// Logger is required.
	Logger *slog.Logger
	// IdleAfter is how long a resource is followed after its last user has gone. 0 means 10 minutes.
	IdleAfter time.Duration
	// RefreshEvery is how often the API documents are fetched when nothing says that they changed. 0 means 5 minutes.
	RefreshEvery time.Duration
	// Window bounds each log's history.
	Window watchlog.Config
	// Metrics is where metrics are registered; nil for none.
	Metrics prometheus.Registerer
}

// Validate tells what is missing or out of range.
func (c Config) Validate() error {
	switch {
	case c.REST == nil:
		return errors.New("kube: Config.REST is missing")
	case c.Logger == nil:
		return errors.New("kube: Config.Logger is missing")
	case c.IdleAfter < 0:
		return errors.New("kube: Config.IdleAfter is negative")
	case c.RefreshEvery < 0:
		return errors.New("kube: Config.RefreshEvery is negative")
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.IdleAfter == 0 {
		c.IdleAfter = 10 * time.Minute
	}
	if c.RefreshEvery == 0 {
		c.RefreshEvery = 5 * time.Minute
	}
	return c
}
