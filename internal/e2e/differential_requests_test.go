//go:build e2e

package e2e

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
)

// inquiry is one request that is sent to both servers.
type inquiry struct {
	method, path, query     string
	accept, agent, encoding string
	kind                    inquiryKind
	object                  bool // one object
	zero, asked             bool // the resourceVersion is 0; there is one
	initial                 bool // a watch that begins with what is there
}

// inquiryKind says how the answers are to be compared.
type inquiryKind uint8

const (
	pinned   inquiryKind = iota // whatever changes meanwhile, the answer is the same
	floating                    // the answer is the state of some moment
	watching                    // the answer is a stream
)

func (p inquiry) String() string {
	return fmt.Sprintf("%s %s?%s Accept:%q User-Agent:%q Accept-Encoding:%q", p.method, p.path, p.query, p.accept, p.agent, p.encoding)
}

// subject is a resource that inquiries are about.
type subject struct {
	resource
	namespaced bool
	fields     []string // field selectors, good and bad ones
}

var subjects = []subject{
	{configMaps, true, []string{"metadata.name=s-1", "metadata.namespace=diff-a", "metadata.namespace!=diff-a", "foo=bar", "data.text=x"}},
	{secrets, true, []string{"type=Opaque", "type!=Opaque", "metadata.name=s-2,type=Opaque", "foo=bar"}},
	{pods, true, []string{"spec.nodeName=n-1", "status.phase=Pending", "status.phase!=Pending,spec.nodeName=n-2", "spec.host=n-1",
		"status.podIP=", "spec.hostNetwork=false", "spec.foo=bar"}},
	{nodes, false, []string{"spec.unschedulable=false", "spec.unschedulable=true", "metadata.namespace=", "metadata.name=n-1"}},
	{namespaces, false, []string{"status.phase=Active", "metadata.name=diff-b", "metadata.namespace=x"}},
	{resource{"deployments.apps", "/apis/apps/v1", "deployments"}, true, []string{"metadata.name=s-1", "status.replicas=1"}},
	{resource{"leases.coordination.k8s.io", "/apis/coordination.k8s.io/v1", "leases"}, true, []string{"metadata.name=s-1", "x=y"}},
	{resource{"services", "/api/v1", "services"}, true, []string{"spec.type=ClusterIP", "spec.clusterIP=None", "metadata.name==s-0"}},
	{resource{"events", "/api/v1", "events"}, true, []string{"involvedObject.name=s-1", "reason=Pulled", "type!=Normal", "source=kubelet", "metadata.name=s-3", "x=y"}},
	{widgets, true, []string{"spec.color=red", "spec.color!=red", ".spec.color=red", "spec.size=3", "metadata.name=s-1"}},
}

var (
	askedAccepts = []string{
		"", "application/json", "*/*", "application/yaml", "application/vnd.kubernetes.protobuf",
		"application/vnd.kubernetes.protobuf,application/json", "application/json;as=Table;v=v1;g=meta.k8s.io",
		"application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json",
		"application/yaml;as=Table;v=v1;g=meta.k8s.io", "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io",
		"application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io",
		"application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1beta1;g=meta.k8s.io,application/json",
		"application/json;as=PartialObjectMetadataList;v=v1beta1;g=meta.k8s.io,application/json", "application/json;stream=watch",
		"application/json;q=0.1,application/yaml;q=0.9", "application/json;pretty=1", "text/html", "application/*", "application/cbor",
		"application/json;as=Foo;v=v1;g=meta.k8s.io,application/json", "application/json;v=v2;g=meta.k8s.io;as=Table", "garbage", "text/*,*/*;q=0.5",
	}
	askedLabels = []string{
		"team=a", "team==b", "team!=a", "team", "!team", "team in (a,b)", "team notin (a)", "n>3", "n<2", "team=a,n=1",
		"a b c", "a===", "team in ()", "team=" + strings.Repeat("x", 64), "/=x", ",", "team in (a", "",
	}
	askedMatches = []string{"Exact", "NotOlderThan", "Foo", ""}
	askedLimits  = []string{"1", "2", "3", "7", "500", "0", "-1", "abc", "9223372036854775808"}
	askedAgents  = []string{"", "", "", "", "curl/8.0", "Mozilla/5.0 (X11)", "kubectl/v1.37"}
	// strangePaths name nothing, or are answered by no resource.
	strangePaths = []string{
		"/api/v1/nope", "/apis/apps/v9/deployments", "/apis/foo.bar/v1/x", "/nope", "/apis/nope", "/api/v2", "/apis/ex.io/v1/namespaces/diff-a/nope",
		"/apis/ex.io/v2/widgets", "/apis/ex.io/v1/nope", "/api/v1/namespaces//nodes", "/api/v1/namespaces/diff-a/nodes", "/apis/apps/v1", "/api/v1", "/apis/apps",
		"/api", "/apis", "/version", "/apis/ex.io", "/apis/ex.io/v1", "/api/v1/namespaces/diff-a/configmaps/s-1/status",
		"/api/v1/namespaces/diff-a/pods/s-1/status", "/apis/ex.io/v1/namespaces/diff-a/widgets/s-1/status", "/apis/ex.io/v1/namespaces/diff-a/widgets/s-1/scale",
		"/apis/apps/v1/namespaces/diff-a/deployments/s-1/scale", "/apis/apps/v1/namespaces/diff-a/deployments/s-1/status", "/api/v1/namespaces/diff-a/status",
		"/api/v1/namespaces/diff-a", "/healthz", "/livez/ping", "/readyz?exclude=etcd", "/livez/nope", "/api/v1/", "/apis/", "/apis/rbac.authorization.k8s.io/v1/clusterroles/admin",
		"/openapi/v3", "/openapi/v3/apis/apps/v1", "/openapi/v3/nope", "/api/v1/namespaces/diff-a/pods/s-1/log",
	}
)

// inquirer makes inquiries. next is used by one goroutine; the rest may be told by any.
type inquirer struct {
	rng *rand.Rand
	// base is a revision that all resources of the edge can be watched from: each began at one of its own.
	base uint64

	mu     sync.Mutex // guards all below
	revs   []uint64   // revisions that lists or writes have shown, the newest last
	tokens map[string][]string
}

// saw notes a revision.
func (p *inquirer) saw(rev uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if rev < p.base {
		return
	}
	if p.revs = append(p.revs, rev); len(p.revs) > 300 {
		p.revs = p.revs[100:]
	}
}

// offered notes a continue token of a path.
func (p *inquirer) offered(path, token string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if all := append(p.tokens[path], token); len(all) > 20 {
		p.tokens[path] = all[10:]
	} else {
		p.tokens[path] = all
	}
}

func (p *inquirer) chance(percent int) bool { return p.rng.IntN(100) < percent }

func pick[T any](rng *rand.Rand, from []T) T { return from[rng.IntN(len(from))] }

// next makes a inquiry.
func (p *inquirer) next() inquiry {
	r := inquiry{method: http.MethodGet, accept: "application/json", agent: pick(p.rng, askedAgents)}
	if p.chance(45) {
		r.accept = pick(p.rng, askedAccepts)
	}
	if p.chance(15) {
		r.encoding = pick(p.rng, []string{"gzip", "gzip;q=0", "deflate, gzip", "identity"})
	}
	if p.chance(8) {
		return p.strange(r)
	}
	s := pick(p.rng, subjects)
	r.path = p.pathOf(s, &r)
	q := url.Values{}
	switch {
	case r.object:
		p.askObject(q, &r)
	case p.chance(25):
		p.askWatch(q, s, &r)
	default:
		p.askList(q, s, &r)
	}
	p.askOddly(q, &r)
	r.query = q.Encode()
	r.zero, r.asked = q.Get("resourceVersion") == "0", q.Get("resourceVersion") != ""
	r.initial = q.Get("sendInitialEvents") == "true" ||
		q.Get("sendInitialEvents")+q.Get("resourceVersionMatch") == "" && (r.zero || q.Get("resourceVersion") == "")
	return r
}

// strange asks for what is no resource that the edge holds, or by another method than GET.
func (p *inquirer) strange(r inquiry) inquiry {
	r.path = pick(p.rng, strangePaths)
	r.path, r.query, _ = strings.Cut(r.path, "?")
	if r.accept != "" && p.chance(50) {
		r.accept = "application/json"
	}
	if p.chance(20) {
		r.method = pick(p.rng, []string{http.MethodHead, http.MethodOptions})
		r.path = pick(p.rng, subjects).path("")
	}
	return r
}

func (p *inquirer) pathOf(s subject, r *inquiry) string {
	namespace := ""
	if s.namespaced && p.chance(60) {
		namespace = pick(p.rng, []string{"diff-a", "diff-a", "diff-b", "nowhere"})
	}
	r.object = p.chance(20) && (namespace != "" || !s.namespaced)
	if !r.object {
		return s.path(namespace)
	}
	name := pick(p.rng, []string{"s-0", "s-1", "s-2", "w-1", "nope"})
	if !s.namespaced {
		name = pick(p.rng, []string{"n-1", "diff-a", "nope"})
	}
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	return s.object(key)
}

// revision returns a resourceVersion to ask for.
func (p *inquirer) revision() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n := p.rng.IntN(20); {
	case n < 5:
		return "0"
	case n < 16 && len(p.revs) > 0:
		return strconv.FormatUint(pick(p.rng, p.revs), 10)
	case n == 16:
		return pick(p.rng, []string{"abc", "-1", "1.5", "18446744073709551616", "0x10", " 1", "00"})
	case n == 17 && p.rng.IntN(4) == 0:
		return "1000000000" // waits for seconds
	default:
		return ""
	}
}

func (p *inquirer) askObject(q url.Values, r *inquiry) {
	r.kind = floating
	if p.chance(40) {
		set(q, "resourceVersion", p.revision())
	}
	if p.chance(10) {
		set(q, "resourceVersionMatch", pick(p.rng, askedMatches))
	}
	if p.chance(5) {
		q.Set("watch", "1")
	}
	if p.chance(3) {
		q.Set("export", "true")
	}
}

// set sets a parameter unless that would be empty.
func set(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}

func (p *inquirer) askSelectors(q url.Values, s subject) {
	if p.chance(30) {
		q.Set("labelSelector", pick(p.rng, askedLabels))
	}
	if p.chance(30) {
		q.Set("fieldSelector", pick(p.rng, s.fields))
	}
}

func (p *inquirer) askList(q url.Values, s subject, r *inquiry) {
	r.kind = floating
	p.askSelectors(q, s)
	if p.chance(60) {
		set(q, "resourceVersion", p.revision())
	}
	if p.chance(35) {
		set(q, "resourceVersionMatch", pick(p.rng, askedMatches))
	}
	// Reading from etcd, kube-apiserver forgets the namespace of a selector in the token of the next page.
	if p.chance(45) && q.Get("fieldSelector") != "metadata.namespace=diff-a" {
		q.Set("limit", pick(p.rng, askedLimits))
	}
	if p.chance(18) {
		q.Set("continue", p.token(r.path))
		if p.chance(80) {
			q.Del("resourceVersion")
			q.Del("resourceVersionMatch")
		}
	}
	if p.chance(4) {
		q.Set("sendInitialEvents", pick(p.rng, []string{"true", "false"}))
	}
	r.kind = listKind(q)
}

// listKind tells whether a list is of one revision whenever it is asked for.
func listKind(q url.Values) inquiryKind {
	if token := q.Get("continue"); token != "" {
		if raw, err := base64.RawURLEncoding.DecodeString(token); err == nil && strings.Contains(string(raw), `"rv":-1`) {
			return floating
		}
		return pinned
	}
	exact := q.Get("resourceVersionMatch") == "Exact"
	if exact && strings.Trim(q.Get("resourceVersion"), "0") != "" {
		return pinned
	}
	single := strings.Contains(q.Get("fieldSelector"), "metadata.name=") || strings.Contains(q.Get("fieldSelector"), "metadata.name==")
	rv, err := strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
	limit, _ := strconv.Atoi(q.Get("limit"))
	if err == nil && rv > 0 && limit > 0 && q.Get("resourceVersionMatch") == "" && !single {
		return pinned
	}
	return floating
}

// token returns a continue token for a path: one that was given out, or one that nobody has given out.
func (p *inquirer) token(path string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	encode := func(s string) string { return base64.RawURLEncoding.EncodeToString([]byte(s)) }
	if all := p.tokens[path]; len(all) > 0 && p.rng.IntN(4) > 0 {
		return pick(p.rng, all)
	}
	rev := "1"
	if len(p.revs) > 0 {
		rev = strconv.FormatUint(pick(p.rng, p.revs), 10)
	}
	return pick(p.rng, []string{
		encode(`{"v":"meta.k8s.io/v1","rv":-1,"start":"s-1\u0000"}`), encode(`{"v":"meta.k8s.io/v1","rv":-1,"start":"/diff-a/s-1\u0000"}`),
		encode(`{"v":"meta.k8s.io/v1","rv":` + rev + `,"start":"/s-1\u0000"}`), encode(`{"v":"meta.k8s.io/v1","rv":` + rev + `,"start":"diff-a/s-1\u0000"}`),
		"garbage", "!!!", encode("{"), encode(`{"v":"meta.k8s.io/v1","rv":0,"start":"x"}`), encode(`{"v":"v2","rv":5,"start":"x"}`),
		encode(`{"v":"meta.k8s.io/v1","rv":5,"start":""}`), encode(`{"v":"meta.k8s.io/v1","rv":5,"start":"../x"}`),
		encode(`{"v":"meta.k8s.io/v1","rv":5}`), encode(`{"v":"meta.k8s.io/v1","rv":"5","start":"x"}`),
	})
}

func (p *inquirer) askWatch(q url.Values, s subject, r *inquiry) {
	r.kind = watching
	q.Set("watch", pick(p.rng, []string{"1", "true", "true", "abc", ""}))
	p.askSelectors(q, s)
	if p.chance(75) {
		set(q, "resourceVersion", p.revision())
	}
	if p.chance(35) {
		q.Set("sendInitialEvents", pick(p.rng, []string{"true", "true", "false"}))
		if p.chance(85) {
			q.Set("resourceVersionMatch", "NotOlderThan")
		}
	}
	if p.chance(8) {
		set(q, "resourceVersionMatch", pick(p.rng, askedMatches))
	}
	if p.chance(50) {
		q.Set("allowWatchBookmarks", pick(p.rng, []string{"true", "1", "yes", "false"}))
	}
	if p.chance(10) {
		q.Set("limit", "2")
	}
	if p.chance(3) {
		q.Set("continue", "garbage")
	}
	q.Set("timeoutSeconds", strconv.Itoa(int(watchFor.Seconds())))
}

// askOddly adds what is allowed anywhere.
func (p *inquirer) askOddly(q url.Values, r *inquiry) {
	if p.chance(8) {
		q.Set("pretty", pick(p.rng, []string{"true", "1", "false", "x"}))
	}
	if p.chance(25) && strings.Contains(r.accept, "Table") {
		q.Set("includeObject", pick(p.rng, []string{"None", "Metadata", "Object", "x"}))
	}
	if p.chance(3) {
		q.Set("timeout", pick(p.rng, []string{"abc", "10s", "1m"}))
	}
	if p.chance(3) {
		q.Add("limit", "1")
	}
	if p.chance(3) {
		q.Set("foo", "bar")
	}
}
