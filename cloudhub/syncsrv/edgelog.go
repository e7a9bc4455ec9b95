package syncsrv

import "log/slog"

// edgeLog logs what concerns an edge. It is small, unlike a logger that has the edge's name among its attributes: there is
// one for each session.
type edgeLog struct {
	log  *slog.Logger
	edge string
}

func (l edgeLog) named(args []any) []any { return append([]any{"edge", l.edge}, args...) }

// Debug is slog's.
func (l edgeLog) Debug(msg string, args ...any) { l.log.Debug(msg, l.named(args)...) }

// Info is slog's.
func (l edgeLog) Info(msg string, args ...any) { l.log.Info(msg, l.named(args)...) }

// Warn is slog's.
func (l edgeLog) Warn(msg string, args ...any) { l.log.Warn(msg, l.named(args)...) }

// Error is slog's.
func (l edgeLog) Error(msg string, args ...any) { l.log.Error(msg, l.named(args)...) }
