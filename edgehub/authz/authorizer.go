package authz

import (
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/access"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Logs is where roles and bindings come from.
type Logs interface {
	// Log returns the log of a resource. An error means that the edge has none.
	Log(gvr schema.GroupVersionResource) (*watchlog.Log, error)
}

// The resources that decisions are made by, cluster and namespaced ones in turn.
var resources = [kinds]string{"clusterroles", "roles", "clusterrolebindings", "rolebindings"}

const kinds = 4

// Authorizer decides. It is safe for use by any number of goroutines.
type Authorizer struct {
	logs   Logs
	logger *slog.Logger

	cur atomic.Pointer[index]
	mu  sync.Mutex // held while an index is made
}

// New returns an authorizer.
func New(logs Logs, logger *slog.Logger) *Authorizer {
	a := &Authorizer{logs: logs, logger: logger}
	a.cur.Store(&index{absent: strings.Join(resources[:], ", ")})
	return a
}

// Authorize tells whether a request is allowed, and when it is not, what there is to say beyond that.
func (a *Authorizer) Authorize(r *access.Request) (allowed bool, reason string) {
	if r.User.In(access.Masters) {
		return true, ""
	}
	x := a.index()
	allowed, missing := x.find(r)
	switch {
	case allowed:
		return true, ""
	case x.absent != "" && !r.OfResource() && byDefault(r):
		return true, ""
	case x.absent != "":
		return false, "this edge decides by what it holds of the cloud's roles and bindings, and does not hold " + x.absent +
			" of rbac.authorization.k8s.io: its scope has to have them"
	default:
		return false, describe(missing)
	}
}

// describe words why roles could not be looked at, as utilerrors.NewAggregate and the API server's chain of
// authorizers do.
func describe(missing []string) string {
	var once []string
	for _, m := range missing {
		if !slices.Contains(once, m) {
			once = append(once, m)
		}
	}
	switch len(once) {
	case 0:
		return ""
	case 1:
		return "rbac: RBAC: " + once[0]
	default:
		return "rbac: RBAC: [" + strings.Join(once, ", ") + "]"
	}
}

// mark is a state of a log.
type mark struct {
	log     *watchlog.Log // nil: there is none, or it is not ready
	changes uint64
}

// index returns the index of what the edge has now.
func (a *Authorizer) index() *index {
	marks := a.look()
	if x := a.cur.Load(); x.marks == marks {
		return x
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.cur.Load()
	if marks = a.look(); x.marks == marks {
		return x
	}
	x = a.build(x, marks)
	a.cur.Store(x)
	return x
}

func (a *Authorizer) look() (marks [kinds]mark) {
	for i, name := range resources {
		l, err := a.logs.Log(rbacv1.SchemeGroupVersion.WithResource(name))
		if err == nil && l.IsReady() {
			marks[i] = mark{log: l, changes: l.Changes()}
		}
	}
	return marks
}

// build makes an index of logs that were seen at marks: what has happened to them since shows at the next look.
func (a *Authorizer) build(old *index, marks [kinds]mark) *index {
	x := &index{marks: marks, subjects: map[subject]*grants{}}
	var absent []string
	for i, m := range marks {
		if m.log == nil {
			absent = append(absent, resources[i])
			continue
		}
		var err error
		if i < 2 {
			x.roles[i], err = decode(m.log.Snapshot(), old.roles[i], readRole)
		} else {
			x.bindings[i-2], err = decode(m.log.Snapshot(), old.bindings[i-2], readBinding)
		}
		if err != nil {
			a.logger.Warn("rights that can't be read are not given", "err", err)
		}
	}
	x.absent = strings.Join(absent, ", ")
	for _, all := range x.bindings {
		for key := range all {
			b := all[key].value
			x.add(&b, x.grant(&b))
		}
	}
	return x
}
