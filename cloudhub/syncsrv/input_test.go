package syncsrv

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/scope"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// linked is a source of pods and of the secrets that they refer to.
type linked struct {
	t    *testing.T
	docs *apidoc.Set

	held chan struct{} // what Open of secrets waits for; nil for nothing

	mu    sync.Mutex // guards all below
	logs  map[string]*watchlog.Log
	users map[string]int // of the logs
	file  *scope.File
	moved chan struct{} // closed when file is another
}

const (
	referred   = `{scopes: [{name: s, edges: ["*"], rules: [{resource: pods}, {resource: secrets, referencedBy: [pods]}]}]}`
	unreferred = `{scopes: [{name: s, edges: ["*"], rules: [{resource: secrets}]}]}`
)

func newLinked(t *testing.T) *linked {
	l := &linked{t: t, docs: apidoc.NewSet(), logs: map[string]*watchlog.Log{}, users: map[string]int{}, moved: make(chan struct{})}
	l.renew("pods")
	l.renew("secrets")
	l.rule(referred)
	return l
}

// rule gives all edges another scope.
func (l *linked) rule(text string) {
	file, err := scope.Parse([]byte(text))
	if err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.file = file
	close(l.moved)
	l.moved = make(chan struct{})
}

// renew ends the log of a resource, if there is one, and begins another.
func (l *linked) renew(name string) {
	r := &watchlog.Resource{Version: "v1", Name: name, Kind: "K", ListKind: "KList", Namespaced: true}
	log := watchlog.New(r, watchlog.Config{})
	content := watchlog.Content{Rev: 100, Floor: 100}
	if name == "secrets" {
		content.Objects = []*watchlog.Object{l.object(log, "s0", 50, ""), l.object(log, "s1", 51, "")}
	}
	if err := log.Load(content); err != nil {
		l.t.Fatal(err)
	}
	l.mu.Lock()
	old := l.logs[name]
	l.logs[name] = log
	l.mu.Unlock()
	if old != nil {
		old.Close(context.Canceled)
	}
}

func (l *linked) object(log *watchlog.Log, name string, rev uint64, spec string) *watchlog.Object {
	o, err := log.Decoder().Decode(fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":"ns","uid":"u","resourceVersion":"%d"}%s}`, name, rev, spec))
	if err != nil {
		l.t.Fatal(err)
	}
	return o
}

func (l *linked) log(name string) *watchlog.Log {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.logs[name]
}

// pod writes a pod that refers to a secret.
func (l *linked) pod(name string, rev uint64, secret string) {
	log := l.log("pods")
	o := l.object(log, name, rev, fmt.Sprintf(`,"spec":{"imagePullSecrets":[{"name":%q}]}`, secret))
	if err := log.Commit(log.Snapshot().Plan([]watchlog.Op{{Key: o.Key(), Rev: rev, Object: o}}, rev)); err != nil {
		l.t.Fatal(err)
	}
}

func (l *linked) Epoch() string          { return "e" }
func (l *linked) Documents() *apidoc.Set { return l.docs }

func (l *linked) Open(_ context.Context, gr schema.GroupResource) (*watchlog.Log, func(), error) {
	if l.held != nil && gr.Resource == "secrets" {
		<-l.held
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.logs[gr.Resource]
	if log == nil {
		return nil, nil, apidoc.ErrUnknownResource
	}
	l.users[gr.Resource]++
	return log, sync.OnceFunc(func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.users[gr.Resource]--
	}), nil
}

func (l *linked) For(edge string) scope.Scope {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.For(edge)
}

func (l *linked) Changed() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.moved
}

// usersOfPods returns how many use the log of pods.
func (l *linked) usersOfPods() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.users["pods"]
}

func (l *linked) serve() string {
	_, addr := testServer(l.t, nil, func(c *Config) { c.Source, c.Scopes, c.ProgressInterval = l, l, 50*time.Millisecond })
	return addr
}

// brings tells whether a message brings an object.
func brings(m *tombolov1.SyncResponse, key string) bool {
	for _, op := range m.GetBatch().GetOperations() {
		if op.GetKey() == key {
			return true
		}
	}
	return false
}

// announces returns a condition that a message announces a plan for secrets. *id becomes its number.
func announces(plan tombolov1.Plan, id *uint32) func(*tombolov1.SyncResponse) bool {
	return func(m *tombolov1.SyncResponse) bool {
		s := m.GetSubscription()
		*id = s.GetId()
		return s.GetResource().GetResource() == "secrets" && s.GetPlan() == plan
	}
}

// What views do not depend on any more is let go of while the session goes on.
func TestInputsAreLetGoOf(t *testing.T) {
	l := newLinked(t)
	l.pod("p", 101, "s0")
	e := dial(t, l.serve(), "edge-1")
	e.until(func(m *tombolov1.SyncResponse) bool { return brings(m, "ns/s0") })
	if n := l.usersOfPods(); n == 0 {
		t.Fatal("nobody follows the pods")
	}
	l.rule(unreferred)
	e.until(func(m *tombolov1.SyncResponse) bool {
		return m.GetUnsubscription().GetResource().GetResource() == "pods"
	})
	for deadline := time.Now().Add(time.Minute); l.usersOfPods() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the pods have %d users", l.usersOfPods())
		}
	}
}

// An input ends while what depends on it waits for the cloud to come to where the edge has been. What the input has then
// is followed.
func TestInputThatEndsWhileItsDependentWaits(t *testing.T) {
	l := newLinked(t)
	l.pod("p", 101, "s0")
	e := open(t, connect(t, l.serve()))
	e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: &tombolov1.Hello{
		Version: Version, Edge: "edge-1", Epoch: "e", Positions: []*tombolov1.Position{
			{Resource: &tombolov1.Resource{Resource: "secrets"}, View: "another", Rev: 200},
		},
	}}})
	var id uint32
	e.until(announces(tombolov1.Plan_PLAN_WAIT, &id))
	l.renew("pods")
	e.until(announces(tombolov1.Plan_PLAN_WAIT, &id)) // it waits anew, with the new pods
	if err := l.log("secrets").Commit(watchlog.Batch{Rev: 200}); err != nil {
		t.Fatal(err)
	}
	e.until(announces(tombolov1.Plan_PLAN_RECONCILE, &id))
	e.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Inventory{Inventory: &tombolov1.Inventory{Subscription: id}}})
	m := e.until(func(m *tombolov1.SyncResponse) bool { return m.GetCheckpoint().GetSubscription() == id })
	e.ack(id, m.GetCheckpoint().GetRev(), e.received)
	l.pod("q", 102, "s1")
	e.until(func(m *tombolov1.SyncResponse) bool { return brings(m, "ns/s1") })
}

// An input whose log ended before it was followed, as one that was taken over while others were being opened, is replaced.
func TestInputThatEndsBeforeItIsFollowed(t *testing.T) {
	l := newLinked(t)
	u, _ := testSubscription()
	s := u.s
	pods := func() *input {
		log, release, err := l.Open(t.Context(), schema.GroupResource{Resource: "pods"})
		if err != nil {
			t.Fatal(err)
		}
		return &input{s: s, gr: schema.GroupResource{Resource: "pods"}, log: log, release: release}
	}
	first := pods()
	s.adopt([]*input{{s: s, gr: first.gr}}) // the cloud did not serve it
	s.adopt([]*input{first})
	s.adopt([]*input{pods()})
	if len(s.inputs) != 1 || s.inputs[0] != first {
		t.Fatal("an input that goes on was replaced")
	}
	l.renew("pods")
	second := pods()
	s.adopt([]*input{second})
	if len(s.inputs) != 1 || s.inputs[0] != second || !s.review {
		t.Error("an input that has ended was kept")
	}
	closeInputs(s.inputs)
	if n := l.usersOfPods(); n != 0 {
		t.Errorf("the pods have %d users", n)
	}
}

// A scope that comes to need an input while a resource is being opened is no failure.
func TestScopeThatNeedsAnInputWhileItIsBeingOpened(t *testing.T) {
	l := newLinked(t)
	l.rule(unreferred)
	l.pod("p", 101, "s0")
	l.held = make(chan struct{})
	e := dial(t, l.serve(), "edge-1")
	e.until(isWelcome)
	l.rule(referred)
	e.until(func(m *tombolov1.SyncResponse) bool { return brings(m, "ns/p") })
	close(l.held)
	m := e.until(func(m *tombolov1.SyncResponse) bool {
		return m.GetSubscription().GetResource().GetResource() == "secrets"
	})
	if plan := m.GetSubscription().GetPlan(); plan != tombolov1.Plan_PLAN_CHANGES {
		t.Errorf("%s: %s", plan, m.GetSubscription().GetReason())
	}
	e.until(func(m *tombolov1.SyncResponse) bool { return brings(m, "ns/s0") })
}
