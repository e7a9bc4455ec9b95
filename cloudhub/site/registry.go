package site

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Registry knows the edges. It is safe for concurrent use.
type Registry struct {
	source Source
	logger *slog.Logger

	mu      sync.RWMutex // guards all below
	sites   map[string]*entry
	rules   map[string]ruling // of EdgeScopes, by name
	unread  map[schema.GroupResource]error
	changed chan struct{} // closed, and replaced, when what is said of an edge changes
}

// entry is what is known of one edge.
type entry struct {
	spec       Spec
	generation int64
	status     Status // as the cloud has it
	deleting   bool
	scope      scope.Scope
	err        error // why the scope can't be told; ErrUnusable
}

// ruling is what one EdgeScope says.
type ruling struct {
	rules []scope.Rule
	err   error // why they can't be used
}

// New returns a registry that knows nobody until Run has read the EdgeSites.
func New(source Source, logger *slog.Logger) *Registry {
	return &Registry{
		source: source, logger: logger, sites: map[string]*entry{}, rules: map[string]ruling{}, changed: make(chan struct{}),
		unread: map[schema.GroupResource]error{Sites: nil, Scopes: nil},
	}
}

// Run follows EdgeSites and EdgeScopes until ctx ends. What they said last counts while they can't be read.
func (r *Registry) Run(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, f := range []follower{{r.source, Sites, sitesOf{r}}, {r.source, Scopes, scopesOf{r}}} {
		wg.Go(func() { f.run(ctx, r.lost) })
	}
	wg.Wait()
	return nil
}

// lost notes why a resource can't be followed.
func (r *Registry) lost(gr schema.GroupResource, err error, say bool) {
	if say {
		r.logger.Warn("what edges may do can't be followed, what was said last counts", "resource", gr, "err", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, ok := r.unread[gr]; ok {
		r.unread[gr] = err
	}
}

// Ready tells why nobody is known yet, nil when the registry has been read.
func (r *Registry) Ready() error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.ready()
}

func (r *Registry) ready() error {
	for gr, err := range r.unread {
		if err != nil {
			return fmt.Errorf("%w: %w", ErrStarting, err)
		}
		return fmt.Errorf("%w: %s", ErrStarting, gr)
	}
	return nil
}

// For returns what an edge may hold: nothing when it may not be here at all, see Check.
func (r *Registry) For(edge string) scope.Scope {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if e := r.sites[edge]; e != nil {
		return e.scope
	}
	return scope.Scope{}
}

// Changed is closed when what is said of an edge may have changed.
func (r *Registry) Changed() <-chan struct{} {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.changed
}

// Check tells whether an edge may be here with a certificate that was issued at a moment, zero for no certificate:
// ErrStarting, ErrUnknown, ErrSuspended, ErrRevoked or ErrUnusable when not. The registry is an identity.Standing.
func (r *Registry) Check(edge string, issued time.Time) error {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if err := r.ready(); err != nil {
		return err
	}
	e := r.sites[edge]
	switch {
	case e == nil:
		return ErrUnknown
	case e.spec.Suspended || e.deleting:
		return ErrSuspended
	case e.spec.CertificatesNotBefore != nil && !issued.IsZero() && issued.Before(e.spec.CertificatesNotBefore.Time):
		return ErrRevoked
	}
	return e.err
}

// announce tells that something has changed. r.mu is held.
func (r *Registry) announce() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// resolve works out what an edge may hold. r.mu is held.
func (r *Registry) resolve(name string, e *entry) {
	var rules []scope.Rule
	for _, s := range e.spec.Scopes {
		given, ok := ready[s]
		if !ok {
			found, known := r.rules[s]
			if !known {
				e.fail(fmt.Errorf("%w: there is no EdgeScope %s", ErrUnusable, s))
				return
			}
			if found.err != nil {
				e.fail(fmt.Errorf("%w: EdgeScope %s: %w", ErrUnusable, s, found.err))
				return
			}
			given = found.rules
		}
		rules = append(rules, given...)
	}
	sc, err := scope.Bind(name, e.spec.Nodes, rules)
	if err != nil {
		e.fail(fmt.Errorf("%w: %w", ErrUnusable, err))
		return
	}
	e.scope, e.err = sc, nil
}

// fail keeps the scope that was: an edge is not to drop what it holds because of a slip of the pen.
func (e *entry) fail(err error) { e.err = err }

// sitesOf is the table of EdgeSites.
type sitesOf struct{ r *Registry }

func (t sitesOf) replace(objects []*watchlog.Object) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	gone := make(map[string]bool, len(r.sites))
	for name := range r.sites {
		gone[name] = true
	}
	changed := false
	for _, o := range objects {
		delete(gone, o.Name())
		changed = t.take(o) || changed
	}
	for name := range gone {
		delete(r.sites, name)
	}
	if _, first := r.unread[Sites]; first || changed || len(gone) > 0 {
		delete(r.unread, Sites)
		r.announce()
	}
}

func (t sitesOf) put(o *watchlog.Object) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if t.take(o) {
		t.r.announce()
	}
}

// take takes in a version and tells whether it says something new. The hubs' own status doesn't. r.mu is held.
func (t sitesOf) take(o *watchlog.Object) bool {
	var s EdgeSite
	if err := json.Unmarshal(o.JSON(), &s); err != nil {
		t.r.logger.Error("an EdgeSite can't be read, what it said last counts", "edge", o.Name(), "err", err)
		return false
	}
	e := t.r.sites[o.Name()]
	if e == nil {
		e = &entry{}
		t.r.sites[o.Name()] = e
	}
	known := e.generation != 0
	e.status, e.generation = s.Status, max(s.Generation, 1)
	if known && e.deleting == (s.DeletionTimestamp != nil) && reflect.DeepEqual(e.spec, s.Spec) {
		return false // the hubs' own status
	}
	e.spec, e.deleting = s.Spec, s.DeletionTimestamp != nil
	t.r.resolve(o.Name(), e)
	return true
}

func (t sitesOf) remove(o *watchlog.Object) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	delete(t.r.sites, o.Name())
	t.r.announce()
}

// scopesOf is the table of EdgeScopes.
type scopesOf struct{ r *Registry }

func (t scopesOf) replace(objects []*watchlog.Object) {
	r := t.r
	r.mu.Lock()
	defer r.mu.Unlock()
	rules := make(map[string]ruling, len(objects))
	for _, o := range objects {
		rules[o.Name()] = read(o)
	}
	r.rules = rules
	delete(r.unread, Scopes)
	t.resolveAll(func(Spec) bool { return true })
}

func (t scopesOf) put(o *watchlog.Object) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	now := read(o)
	if was, ok := t.r.rules[o.Name()]; ok && reflect.DeepEqual(was, now) {
		return
	}
	t.r.rules[o.Name()] = now
	t.resolveAll(func(s Spec) bool { return slices.Contains(s.Scopes, o.Name()) })
}

func (t scopesOf) remove(o *watchlog.Object) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	delete(t.r.rules, o.Name())
	t.resolveAll(func(s Spec) bool { return slices.Contains(s.Scopes, o.Name()) })
}

// resolveAll works out again what the edges may hold that an EdgeScope concerns. r.mu is held.
func (t scopesOf) resolveAll(concerns func(Spec) bool) {
	for name, e := range t.r.sites {
		if concerns(e.spec) {
			t.r.resolve(name, e)
		}
	}
	t.r.announce()
}

// read returns what an EdgeScope says.
func read(o *watchlog.Object) ruling {
	var s EdgeScope
	if err := json.Unmarshal(o.JSON(), &s); err != nil {
		return ruling{err: err}
	}
	if _, err := scope.Bind("edge", nil, s.Spec.Rules); err != nil {
		return ruling{err: err}
	}
	return ruling{rules: s.Spec.Rules}
}
