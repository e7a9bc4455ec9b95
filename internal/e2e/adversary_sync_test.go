//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// thiefScopes give the thief a node, what its pods refer to, and a namespace; the other edges what the tests use.
const thiefScopes = defaultScopes + `- name: thief
  edges: [thief]
  nodes: [node-thief]
  rules:
  - {resource: pods, boundToNode: spec.nodeName}
  - {resource: secrets, referencedBy: [pods]}
  - {resource: configmaps, namespaces: [thief]}
  - {resource: services, namespaces: [thief], onDemand: true}
`

// canaries are secrets, by where they are. The thief may have one of them.
type canaries struct{ own, sameNamespace, foreign, foreignMap, foreignPod string }

// plant puts them into the cloud.
func plant(t *testing.T, cloud *api) canaries {
	t.Helper()
	c := canaries{
		own: "canary-own-5d41402abc4b2a76b971", sameNamespace: "canary-unreferenced-7d793037a0760186",
		foreign: "canary-foreign-secret-9b74c9897bac770f", foreignMap: "canary-foreign-map-e4da3b7fbbce2345d7772",
		foreignPod: "canary-foreign-pod-1679091c5a880faf6fb5e",
	}
	cloud.create(t, namespaces, "", named("thief"))
	cloud.create(t, secrets, "thief", secret("thief", "own", c.own))
	cloud.create(t, secrets, "thief", secret("thief", "unreferenced", c.sameNamespace))
	cloud.create(t, secrets, "default", secret("default", "foreign", c.foreign))
	cloud.create(t, configMaps, "default", configMap("default", "foreign", "a", c.foreignMap))
	cloud.create(t, pods, "default", pod("default", "foreign", "node-1", c.foreignPod))
	mine := strings.Replace(pod("thief", "mine", "node-thief", "a"), `"env":`, `"envFrom":[{"secretRef":{"name":"own"}}],"env":`, 1)
	cloud.create(t, pods, "thief", mine)
	return c
}

// nothingLeaked searches what the adversary heard. It has to have heard its own secret, or the search is worth nothing.
func (a *adversary) nothingLeaked(own string, others ...string) {
	a.t.Helper()
	all := a.heard.all()
	if own != "" && !carries(all, own) {
		a.t.Error("the adversary has not even heard what it may")
	}
	for _, secret := range others {
		if carries(all, secret) {
			a.t.Errorf("the adversary has heard %q", secret)
		}
	}
	a.t.Logf("%d bytes were heard, unpacked", len(all))
}

// talk is a session in the adversary's hands.
type talk struct {
	tombolov1.SyncService_SyncClient
	line *line
	subs map[string]*tombolov1.Subscription // by resource
}

func greeting(name string, positions ...*tombolov1.Position) *tombolov1.Hello {
	return &tombolov1.Hello{Version: 1, Edge: name, Positions: positions, Capabilities: []tombolov1.Capability{
		tombolov1.Capability_CAPABILITY_ZSTD_PATCH, tombolov1.Capability_CAPABILITY_ZSTD_BATCH,
		tombolov1.Capability_CAPABILITY_RANGES, tombolov1.Capability_CAPABILITY_RESUMED,
	}}
}

func sayHello(h *tombolov1.Hello) *tombolov1.SyncRequest {
	return &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Hello{Hello: h}}
}

// talk opens a stream on a connection of its own and says something.
func (a *adversary) talk(first *tombolov1.SyncRequest) *talk {
	a.t.Helper()
	l := a.dial()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	a.t.Cleanup(cancel)
	stream, err := tombolov1.NewSyncServiceClient(l).Sync(ctx)
	if err != nil {
		a.t.Fatal(err)
	}
	k := &talk{stream, l, map[string]*tombolov1.Subscription{}}
	k.say(first)
	return k
}

func (k *talk) say(m *tombolov1.SyncRequest) {
	k.line.a.t.Helper()
	if err := k.Send(m); err != nil && !errors.Is(err, io.EOF) {
		k.line.a.t.Fatal(err)
	}
}

// until reads up to a message that is wanted, and returns it.
func (k *talk) until(wanted func(*tombolov1.SyncResponse) bool) (*tombolov1.SyncResponse, error) {
	for {
		m, err := k.Recv()
		if err != nil {
			return nil, err
		}
		if s := m.GetSubscription(); s != nil {
			k.subs[s.GetResource().GetResource()] = s
		}
		if wanted(m) {
			return m, nil
		}
	}
}

// end reads all there is and returns how the stream ended.
func (k *talk) end() error {
	_, err := k.until(func(*tombolov1.SyncResponse) bool { return false })
	return err
}

// settled reads until some resources have been brought up.
func (k *talk) settled(resources ...string) {
	k.line.a.t.Helper()
	left := slices.Clone(resources)
	_, err := k.until(func(m *tombolov1.SyncResponse) bool {
		if c := m.GetCheckpoint(); c != nil {
			left = slices.DeleteFunc(left, func(r string) bool { return k.subs[r].GetId() == c.GetSubscription() })
		}
		return len(left) == 0
	})
	if err != nil {
		k.line.a.t.Fatalf("%q were not brought up: %v", left, err)
	}
}

// TestAnAdversaryWithACertificateGetsNothingMore drives the sync protocol against its rules, while another edge does its work and
// is held to all guarantees.
func TestAnAdversaryWithACertificateGetsNothingMore(t *testing.T) {
	s := newTrustedSiteOf(t, hubConfig{scopes: thiefScopes, args: []string{"--log-format", "json"}})
	c := plant(t, s.cloud)
	s.startEdge()
	s.sources(configMaps, pods)
	for _, r := range []resource{configMaps, pods} {
		s.watch(s.local, r, guarantee.ReaderConfig{NeverExpires: true}, nil)
	}
	sessions := mustMetric(t, s.edge.http, "tombolo_edge_sessions_total")
	l := startLoad(t, s.history, s.cloud, seed(t), 50, loadKinds...)
	a := newAdversary(s, "thief")

	t.Run("names", a.names)
	t.Run("widening", a.widening)
	t.Run("positions", a.positions)
	t.Run("foreign keys", a.foreignKeys)
	t.Run("questions", a.questions)
	t.Run("out of place", a.outOfPlace)
	t.Run("unreadable", a.unreadable)
	t.Run("without a certificate", a.withoutACertificate)
	t.Run("many connections", a.manyConnections)

	a.nothingLeaked(c.own, c.sameNamespace, c.foreign, c.foreignMap, c.foreignPod)
	for _, kind := range []string{"rules", "not_accepted", "untrusted", "no_certificate"} {
		if mustMetric(t, s.hub.http, fmt.Sprintf("tombolo_hub_authentication_failures_total{kind=%q}", kind)) == 0 {
			t.Errorf("no failure of kind %s was counted", kind)
		}
	}
	l.stop()
	s.settle(configMaps, pods)
	if n := mustMetric(t, s.edge.http, "tombolo_edge_sessions_total"); n != sessions {
		t.Errorf("the other edge had %g sessions meanwhile", n-sessions)
	}
}

// of is the adversary in a part of the test.
func (a *adversary) of(t *testing.T) *adversary {
	other := *a
	other.t = t
	return &other
}

func (a *adversary) names(t *testing.T) {
	a = a.of(t)
	for what, c := range map[string]struct {
		name string
		code codes.Code
		said string
	}{
		"another edge":    {"edge-1", codes.PermissionDenied, "claims to be edge edge-1"},
		"no edge at all":  {"edge-99", codes.PermissionDenied, "claims to be edge edge-99"},
		"upper case":      {"Edge-1", codes.InvalidArgument, "claims a name that no edge can have"},
		"a newline":       {"edge-1\n", codes.InvalidArgument, "claims a name that no edge can have"},
		"a trailing dot":  {"edge-1.", codes.InvalidArgument, "claims a name that no edge can have"},
		"a path":          {"../edge-1", codes.InvalidArgument, "claims a name that no edge can have"},
		"another letter":  {"еdge-1", codes.InvalidArgument, "claims a name that no edge can have"}, // the first one is Cyrillic
		"a zero":          {"edge-1\x00", codes.InvalidArgument, "claims a name that no edge can have"},
		"a very long one": {strings.Repeat("a", 300), codes.InvalidArgument, "claims a name that no edge can have"},
	} {
		k := a.talk(sayHello(greeting(c.name)))
		defer k.line.awaitClosed(what)
		wantCode(t, what, k.end(), c.code)
		a.awaitRefusal("connect", "thief", c.said)
	}
	k := a.talk(sayHello(greeting("")))
	k.settled("pods", "secrets", "configmaps") // its own name, from the certificate
}

func demand(resources ...string) *tombolov1.SyncRequest {
	d := &tombolov1.Demand{}
	for _, r := range resources {
		name, group, _ := strings.Cut(r, ".")
		d.Resources = append(d.Resources, &tombolov1.Resource{Resource: name, Group: group})
	}
	return &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Demand{Demand: d}}
}

func (a *adversary) widening(t *testing.T) {
	a = a.of(t)
	many := make([]string, 501)
	for i := range many {
		many[i] = fmt.Sprintf("things%d.example.org", i)
	}
	k := a.talk(sayHello(greeting("thief")))
	k.settled("pods", "secrets", "configmaps")
	k.say(demand(many[:500]...))
	for range 500 {
		if _, err := k.until(func(m *tombolov1.SyncResponse) bool { return m.GetUnsubscription() != nil }); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range []string{"*", "nodes", "namespaces", "deployments.apps", "serviceaccounts"} {
		k.say(demand(r))
		name, _, _ := strings.Cut(r, ".")
		if _, err := k.until(func(m *tombolov1.SyncResponse) bool {
			return m.GetUnsubscription().GetResource().GetResource() == name
		}); err != nil {
			t.Fatal(err)
		}
	}
	for r := range k.subs {
		if !slices.Contains([]string{"pods", "secrets", "configmaps"}, r) {
			t.Errorf("the adversary was subscribed to %s", r)
		}
	}
	k.line.stillOpen("wanting what one can't have")
	k.say(demand(many...))
	wantCode(t, "501 resources", k.end(), codes.InvalidArgument)
	k.line.awaitClosed("501 resources")
	a.awaitRefusal("session", "thief", "501 resources are wanted")
}

// positions claims another edge's positions: its views, revisions and digests.
func (a *adversary) positions(t *testing.T) {
	a = a.of(t)
	twin := newAdversary(a.site, "edge-2") // has the scope of edge-1
	twin.t = t
	other := twin.talk(sayHello(greeting("edge-2")))
	var epoch string
	var claimed []*tombolov1.Position
	if m, err := other.until(func(m *tombolov1.SyncResponse) bool { return m.GetWelcome() != nil }); err == nil {
		epoch = m.GetWelcome().GetEpoch()
	}
	for len(claimed) < 3 {
		m, err := other.until(func(m *tombolov1.SyncResponse) bool { return m.GetCheckpoint() != nil })
		if err != nil {
			t.Fatal(err)
		}
		for r, sub := range other.subs {
			if c := m.GetCheckpoint(); sub.GetId() == c.GetSubscription() && slices.Contains([]string{"pods", "secrets", "configmaps"}, r) {
				claimed = append(claimed, &tombolov1.Position{
					Resource: sub.GetResource(), View: sub.GetView(), Rev: c.GetRev(), Count: c.GetCount(), Digest: c.GetDigest(),
				})
			}
		}
	}
	hello := greeting("thief", claimed...)
	hello.Epoch = epoch
	k := a.talk(sayHello(hello))
	m, err := k.until(func(m *tombolov1.SyncResponse) bool { return m.GetWelcome() != nil })
	if err != nil {
		t.Fatal(err)
	}
	if r := m.GetWelcome().GetResumed(); len(r) > 0 {
		t.Errorf("positions %v of another edge are resumed", r)
	}
	for len(k.subs) < 3 {
		if _, err := k.until(func(m *tombolov1.SyncResponse) bool { return m.GetSubscription() != nil }); err != nil {
			t.Fatal(err)
		}
	}
	for r, sub := range k.subs {
		if sub.GetPlan() == tombolov1.Plan_PLAN_RESUME || sub.GetPlan() == tombolov1.Plan_PLAN_CHANGES {
			t.Errorf("%s: %v from a position of another edge", r, sub.GetPlan())
		}
	}
}

// foreignKeys reconciles, and asks for, objects of others.
func (a *adversary) foreignKeys(t *testing.T) {
	a = a.of(t)
	keys := []string{"default/foreign", "default/there-is-none", "thief/unreferenced", "thief/there-is-none"}
	for _, r := range []string{"secrets", "configmaps", "pods"} {
		k := a.talk(sayHello(greeting("thief")))
		k.settled("pods", "secrets", "configmaps")
		inventory := &tombolov1.Inventory{Subscription: k.subs[r].GetId(), Reason: "the adversary's"}
		for _, key := range keys {
			inventory.Items = append(inventory.Items, &tombolov1.Item{Key: key, Uid: "u", Rev: 1, Crc32C: 1, Hash: 1})
		}
		k.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Inventory{Inventory: inventory}})
		said := map[string][]string{}
		if _, err := k.until(func(m *tombolov1.SyncResponse) bool {
			for _, o := range operationsOf(t, m.GetBatch()) {
				said[o.GetKey()] = append(said[o.GetKey()], fmt.Sprintf("%v %d %d bytes", o.GetType(), o.GetRev(), len(o.GetData())))
			}
			return m.GetCheckpoint() != nil
		}); err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		for i, key := range keys {
			if none := keys[i|1]; len(said[key]) == 0 || !slices.Equal(said[key], said[none]) {
				t.Errorf("%s: of %s is said %q, of one that there isn't %q", r, key, said[key], said[none])
			}
		}
		sums := make([]byte, 16*8)
		sums[0] = 1
		k.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ranges{Ranges: &tombolov1.Ranges{Subscription: k.subs[r].GetId(), Sums: sums}}})
		k.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Need{Need: &tombolov1.Need{Subscription: k.subs[r].GetId(), Keys: keys, Rev: 1}}})
		k.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_DocumentNeed{DocumentNeed: &tombolov1.DocumentNeed{Entries: []uint32{0, 1 << 31}}}})
		for id := range uint32(8) { // of others' subscriptions, and of none
			k.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Need{Need: &tombolov1.Need{Subscription: id, Keys: keys}}})
		}
		k.say(question(1, k.subs[r].GetId(), "default", "foreign", ""))
		if _, err := k.until(func(m *tombolov1.SyncResponse) bool { return m.GetAnswer().GetId() == 1 }); err != nil {
			t.Errorf("%s: %v", r, err)
		}
	}
}

// operationsOf is a batch's operations, unpacked.
func operationsOf(t *testing.T, b *tombolov1.Batch) []*tombolov1.Operation {
	t.Helper()
	if len(b.GetFrame()) == 0 {
		return b.GetOperations()
	}
	text, err := unpacker().DecodeAll(b.GetFrame(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var all tombolov1.Operations
	if err := proto.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all.GetOperations()
}

func question(id uint64, sub uint32, namespace, name, labels string) *tombolov1.SyncRequest {
	return &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Question{Question: &tombolov1.Question{
		Id: id, Subscription: sub, Namespace: namespace, Name: name, LabelSelector: labels,
	}}}
}

// questions asks about what others have: the answer does not tell whether it is there.
func (a *adversary) questions(t *testing.T) {
	a = a.of(t)
	k := a.talk(sayHello(greeting("thief")))
	k.settled("pods", "secrets", "configmaps")
	for i, c := range [][4]string{
		{"default", "foreign", "default", "there-is-none"}, {"thief", "unreferenced", "thief", "there-is-none"},
		{"..", "foreign", "..", "there-is-none"}, {"default", "../../nodes", "default", "../../nothing"},
	} {
		var said [2]string
		for j := range said {
			id := uint64(10*i + j + 1)
			k.say(question(id, k.subs["secrets"].GetId(), c[2*j], c[2*j+1], ""))
			m, err := k.until(func(m *tombolov1.SyncResponse) bool { return m.GetAnswer().GetId() == id })
			if err != nil {
				t.Fatal(err)
			}
			said[j] = strings.ReplaceAll(m.GetAnswer().GetFailure(), c[2*j+1], "NAME")
		}
		if said[0] != said[1] {
			t.Errorf("%q: %q and %q", c, said[0], said[1])
		}
	}
	k.line.stillOpen("asking")
}

func (a *adversary) outOfPlace(t *testing.T) {
	a = a.of(t)
	late := a.talk(sayHello(greeting("thief")))
	late.settled("pods")
	late.say(sayHello(greeting("thief")))
	for what, k := range map[string]*talk{
		"no Hello":         a.talk(demand("secrets")),
		"an empty message": a.talk(&tombolov1.SyncRequest{}),
		"a second Hello":   late,
		"a Hello with a text of a megabyte": a.talk(sayHello(&tombolov1.Hello{
			Version: 1, Edge: "thief", Software: strings.Repeat("x", 1<<20),
		})),
	} {
		defer k.line.awaitClosed(what)
		wantCode(t, what, k.end(), codes.InvalidArgument)
		a.awaitRefusal("session", "thief", "")
	}
	needs := greeting("thief")
	needs.Capabilities = nil
	k := a.talk(sayHello(needs))
	k.say(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Need{Need: &tombolov1.Need{Subscription: 1}}})
	wantCode(t, "a Need without patches", k.end(), codes.InvalidArgument)
	k.line.awaitClosed("a Need without patches")
}
