// Package audit writes who was let in, who was refused and who was thrown out, one structured line for each. Lines hold
// names, addresses and reasons, never tokens, keys or what was sent.
package audit

import (
	"log/slog"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/tombolo-sync/tombolo/cloudhub/throttle"
)

// Results of what somebody wanted.
const (
	Granted = "granted"
	Refused = "refused"
	// Passed is of what was passed on to the cloud, whose answer is told beside it; Failed of what had none.
	Passed = "passed"
	Failed = "failed"
)

// Entry is what a line says. Empty parts are left out.
type Entry struct {
	Action string // what was wanted, or done: "join", "renew", "connect", "revoke"
	Edge   string // whom it is about, as proved by a certificate or a token
	Peer   string // address it came from
	Result string
	Reason string
	Detail []any // further attributes
	// Bounded is set for lines that an edge brings about as often as it likes: each has a budget of its own.
	Bounded bool
}

const (
	linesPerSecond = 50
	linesAtOnce    = 200
	// edgeEvery and edgeBurst are the budget of an edge for bounded lines.
	edgeEvery = 100 * time.Millisecond
	edgeBurst = 300
)

// Log writes entries. What is refused can be had without end by anybody who reaches the port, so that the lines of refusals
// are bounded: those left out are counted and reported with the next. So are, for each edge, those that it brings about by what it
// sends. It is safe for concurrent use.
type Log struct {
	logger   *slog.Logger
	refusals *rate.Limiter
	left     atomic.Int64 // refusals without a line since the last one
	edges    *throttle.Throttle
	dropped  atomic.Int64 // bounded lines that were left out since the last one
}

// New returns a log that writes to logger.
func New(logger *slog.Logger) *Log {
	return &Log{logger: logger, refusals: rate.NewLimiter(linesPerSecond, linesAtOnce), edges: throttle.New(edgeEvery, edgeBurst)}
}

// Write writes an entry: refusals as warnings, the rest as information.
func (l *Log) Write(e Entry) {
	attrs := []any{"action", e.Action}
	for _, a := range [][2]string{{"edge", e.Edge}, {"peer", e.Peer}, {"result", e.Result}, {"reason", e.Reason}} {
		if a[1] != "" {
			attrs = append(attrs, a[0], a[1])
		}
	}
	attrs = append(attrs, e.Detail...)
	if e.Bounded {
		if l.edges.Wait(e.Edge) > 0 {
			l.dropped.Add(1)
			return
		}
		l.edges.Fail(e.Edge)
		if n := l.dropped.Swap(0); n > 0 {
			attrs = append(attrs, "lines_left_out", n)
		}
	}
	if e.Result != Refused {
		l.logger.Info("audit", attrs...)
		return
	}
	if !l.refusals.Allow() {
		l.left.Add(1)
		return
	}
	if n := l.left.Swap(0); n > 0 {
		attrs = append(attrs, "refusals_left_out", n)
	}
	l.logger.Warn("audit", attrs...)
}
