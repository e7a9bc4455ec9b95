package syncsrv

import (
	"context"
	"log/slog"
)

// edgeLog logs what concerns an edge. It is small, unlike a logger that has the edge's name among its attributes: there is
// one for each session.
type edgeLog struct {
	log  *slog.Logger
	edge string
}

func (l edgeLog) write(level slog.Level, msg string, args []any) {
	if ctx := context.Background(); l.log.Enabled(ctx, level) {
		l.log.With("edge", l.edge).Log(ctx, level, msg, args...)
	}
}

// Debug, Info, Warn and Error are slog's.
func (l edgeLog) Debug(msg string, args ...any) { l.write(slog.LevelDebug, msg, args) }

// Info is slog's.
func (l edgeLog) Info(msg string, args ...any) { l.write(slog.LevelInfo, msg, args) }

// Warn is slog's.
func (l edgeLog) Warn(msg string, args ...any) { l.write(slog.LevelWarn, msg, args) }

// Error is slog's.
func (l edgeLog) Error(msg string, args ...any) { l.write(slog.LevelError, msg, args) }
