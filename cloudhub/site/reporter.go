package site

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Seen is what this hub sees of an edge that is connected to it.
type Seen struct {
	Edge, Version       string
	CertificateNotAfter time.Time // zero without a certificate
	Resources, Wanted   int       // how many are synced, of how many
	Position            uint64    // the newest revision that is durable at the edge, 0 for none
	Objects, Bytes      uint64
	Behind              time.Time // since when the edge lacks something; zero while it does not
}

// ReporterConfig is what a Reporter needs. All of it is required, but for Interval and Rate.
type ReporterConfig struct {
	Registry *Registry
	// Hub names this hub among the others.
	Hub string
	// Seen calls its argument for each edge that is connected to this hub.
	Seen func(func(Seen))
	// Write puts a merge patch to the status of an EdgeSite. A NotFound is no error.
	Write  func(ctx context.Context, name string, patch []byte) error
	Logger *slog.Logger
	// Interval is how often the status of an edge is written that is only somewhat older. 0 means 5 min.
	Interval time.Duration
	// Rate bounds the writes a second. 0 means 10.
	Rate float64
}

// Reporter writes into the EdgeSites how edges do: at once, within the rate, that one comes or goes, and what else there is
// to say now and then.
type Reporter struct {
	cfg   ReporterConfig
	limit *rate.Limiter
	// refused is when to try those edges again whose status could not be written. It belongs to who runs the reporter.
	refused map[string]time.Time
}

// refusedDelay is how long a status rests that could not be written, so that one which the cloud does not take keeps none
// of the others back.
const refusedDelay = 30 * time.Second

// NewReporter returns a reporter.
func NewReporter(cfg ReporterConfig) *Reporter {
	cfg.Interval = cmp.Or(cfg.Interval, 5*time.Minute)
	cfg.Rate = cmp.Or(cfg.Rate, 10)
	return &Reporter{
		cfg: cfg, limit: rate.NewLimiter(rate.Limit(cfg.Rate), max(1, int(cfg.Rate))), refused: map[string]time.Time{},
	}
}

// roundEvery is how often the reporter looks for what is to be written.
const roundEvery = time.Second

// Run reports until ctx ends. Then it says of those that are connected that they are not, as far as a moment allows.
func (r *Reporter) Run(ctx context.Context) error {
	tick := time.NewTicker(roundEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			r.round(ctx, now)
		}
	}
}

// report is a status that is to be written.
type report struct {
	name   string
	status Status
	urgent bool
	age    time.Time // of what is there
}

// round writes what is due, what is urgent first, then what is oldest.
func (r *Reporter) round(ctx context.Context, now time.Time) {
	maps.DeleteFunc(r.refused, func(_ string, again time.Time) bool { return !now.Before(again) })
	due := r.due(now)
	slices.SortFunc(due, func(a, b report) int {
		if a.urgent != b.urgent {
			return map[bool]int{true: -1, false: 1}[a.urgent]
		}
		return a.age.Compare(b.age)
	})
	for _, d := range due {
		if _, resting := r.refused[d.name]; resting {
			continue
		}
		if !r.limit.Allow() {
			return // the rest is due in the next round, too
		}
		if err := r.write(ctx, d); err != nil {
			if ctx.Err() == nil {
				r.cfg.Logger.Warn("the status of an edge can't be written", "edge", d.name, "err", err)
			}
			r.refused[d.name] = now.Add(refusedDelay)
			return // the next round goes on: it may be the cloud
		}
	}
}

// write puts a status in the place of what is there.
func (r *Reporter) write(ctx context.Context, d report) error {
	patch, err := d.status.patch()
	if err != nil {
		return fmt.Errorf("status of %s: %w", d.name, err)
	}
	if err := r.cfg.Write(ctx, d.name, patch); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	r.cfg.Registry.wrote(d.name, d.status)
	return nil
}

// patch returns the merge patch that makes s the status of an EdgeSite, whatever it was: what s does not say is taken away.
func (s Status) patch() ([]byte, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	said := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &said); err != nil {
		return nil, err
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Status]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if _, ok := said[name]; !ok {
			said[name] = json.RawMessage("null")
		}
	}
	return json.Marshal(map[string]any{"status": said})
}

// due returns what is to be written now.
func (r *Reporter) due(now time.Time) (out []report) {
	seen := map[string]Seen{}
	r.cfg.Seen(func(s Seen) { seen[s.Edge] = s })
	r.cfg.Registry.each(func(name string, generation int64, scopes error, was Status) {
		next := was
		next.Conditions = slices.Clone(was.Conditions)
		s, here := seen[name]
		switch {
		case here:
			r.connected(&next, s, now)
		case was.Connected && (was.Hub == r.cfg.Hub || r.isOrphan(was, now)):
			next.Connected = false
			if was.Hub == r.cfg.Hub {
				next.LastSeen = second(now)
			}
			set(&next, now, generation, "Connected", false, "NoSession", "no hub has a session of the edge")
		}
		if scopes == nil {
			set(&next, now, generation, "ScopesResolved", true, "Resolved", "")
		} else if !errors.Is(scopes, ErrSuspended) {
			set(&next, now, generation, "ScopesResolved", false, "Unusable", scopes.Error())
		}
		if d, ok := r.worth(name, was, next, now); ok {
			out = append(out, d)
		}
	})
	return out
}

// isOrphan tells whether the hub that an edge is said to be connected to has not said so for long: it is gone.
func (r *Reporter) isOrphan(s Status, now time.Time) bool {
	return s.LastSeen == nil || now.Sub(s.LastSeen.Time) > 4*r.cfg.Interval
}

// connected makes s say what is seen of an edge.
func (r *Reporter) connected(s *Status, e Seen, now time.Time) {
	s.Connected, s.Hub, s.Version, s.LastSeen = true, r.cfg.Hub, e.Version, second(now)
	s.Resources, s.Objects, s.Bytes = int32(e.Resources), int64(e.Objects), int64(e.Bytes) //nolint:gosec // far from the bounds
	s.Position, s.Lag = "", "0s"
	if e.Position > 0 {
		s.Position = strconv.FormatUint(e.Position, 10)
	}
	if !e.Behind.IsZero() {
		s.Lag = now.Sub(e.Behind).Truncate(time.Second).String()
	}
	s.Certificate = nil
	if !e.CertificateNotAfter.IsZero() {
		s.Certificate = &Certificate{NotAfter: second(e.CertificateNotAfter)}
	}
	set(s, now, 0, "Connected", true, "Session", "")
	switch {
	case e.Resources < e.Wanted:
		set(s, now, 0, "Synced", false, "Loading", fmt.Sprintf("%d of %d resources are synced", e.Resources, e.Wanted))
	case !e.Behind.IsZero():
		set(s, now, 0, "Synced", false, "Behind", "the edge takes its time with what it was sent")
	default:
		set(s, now, 0, "Synced", true, "Synced", "")
	}
}

// second is a time as it is written.
func second(t time.Time) *metav1.Time { return &metav1.Time{Time: t.UTC().Truncate(time.Second)} }

// set sets a condition.
func set(s *Status, now time.Time, generation int64, kind string, is bool, reason, message string) {
	status := metav1.ConditionFalse
	if is {
		status = metav1.ConditionTrue
	}
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, ObservedGeneration: generation,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second)),
	})
}

// worth tells whether a status says enough that is new to be written: whether an edge is connected, where, and its
// conditions matter at once, the rest each interval.
func (r *Reporter) worth(name string, was, next Status, now time.Time) (report, bool) {
	d := report{name: name, status: next}
	if was.LastSeen != nil {
		d.age = was.LastSeen.Time
	}
	d.urgent = was.Connected != next.Connected || was.Hub != next.Hub || was.Version != next.Version || differ(was.Conditions, next.Conditions)
	old := next.Connected && now.Sub(d.age) >= r.cfg.Interval
	return d, d.urgent || old && !reflect.DeepEqual(was, next)
}

// differ tells whether conditions say something else, texts left aside.
func differ(a, b []metav1.Condition) bool {
	return !slices.EqualFunc(a, b, func(a, b metav1.Condition) bool {
		return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason
	})
}

// each calls f for every edge, with why its scope can't be used, if so, and the status that the cloud has.
func (r *Registry) each(f func(name string, generation int64, scopes error, was Status)) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.ready() != nil {
		return
	}
	for name, e := range r.sites {
		if !e.deleting {
			f(name, e.generation, e.err, e.status)
		}
	}
}

// wrote takes note of a status that was written, until the cloud says the same.
func (r *Registry) wrote(name string, s Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.sites[name]; e != nil {
		e.status = s
	}
}
