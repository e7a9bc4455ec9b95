package scope

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Watched is a scopes file that is read again when it changes. It is safe for concurrent use.
type Watched struct {
	path   string
	logger *slog.Logger

	mu      sync.RWMutex // guards all below
	file    *File
	stamp   stamp         // of what was read
	seen    stamp         // at the last look
	changed chan struct{} // closed, and replaced, when file changes
}

// stamp tells versions of a file apart.
type stamp struct {
	modified time.Time
	size     int64
}

// pollInterval is how often the file is looked at. Where it comes from a ConfigMap, a symbolic link is replaced, which
// file notifications on the file itself would miss.
const pollInterval = 2 * time.Second

// Watch reads a scopes file, and again whenever it has changed while Run runs. Errors as those of Load.
func Watch(path string, logger *slog.Logger) (*Watched, error) {
	w := &Watched{path: path, logger: logger, changed: make(chan struct{})}
	w.stamp = w.look()
	file, err := Load(path)
	w.file = file
	return w, err
}

// Run looks for changes until ctx ends. A file that has become unusable is reported, and the one before goes on being
// used.
func (w *Watched) Run(ctx context.Context) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			w.reload()
		}
	}
}

// reload reads the file if it has changed, and not since the last look: half a file can be a good one with fewer rules,
// for which edges would drop what they hold.
func (w *Watched) reload() {
	now := w.look()
	w.mu.Lock()
	defer w.mu.Unlock()
	settled := now == w.seen
	w.seen = now
	if now == w.stamp || !settled {
		return
	}
	w.stamp = now
	file, err := Load(w.path)
	if err != nil {
		w.logger.Error("the scopes file can't be used, the one before stays in force", "err", err)
		return
	}
	w.logger.Info("scopes file read again", "path", w.path)
	w.file = file
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *Watched) look() stamp {
	info, err := os.Stat(w.path)
	if err != nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// For returns the scope of an edge as the file has it now.
func (w *Watched) For(edge string) Scope {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.file.For(edge)
}

// Changed is closed at the next change of the file.
func (w *Watched) Changed() <-chan struct{} {
	w.mu.RLock()
	defer w.mu.RUnlock()
	return w.changed
}
