package litesrv

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// queries notes the queries that a handler gets.
type queries struct {
	http.Handler
	mu   sync.Mutex
	seen map[string]int // by kind of request
}

func (q *queries) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := r.URL.Query()
	kind := "other"
	switch {
	case v.Get("sendInitialEvents") == "true":
		kind = "watch list"
	case v.Get("watch") != "":
		kind = "watch"
	case v.Get("resourceVersionMatch") == "Exact":
		kind = "exact list"
	case r.Method == http.MethodGet:
		kind = "list"
	}
	q.mu.Lock()
	q.seen[kind]++
	q.mu.Unlock()
	q.Handler.ServeHTTP(w, r)
	if strings.HasPrefix(w.Header().Get("Content-Type"), asProtobuf) {
		q.mu.Lock()
		q.seen["in protobuf"]++
		q.mu.Unlock()
	}
}

func (q *queries) count(kind string) int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seen[kind]
}

// scribble makes n random changes to the objects of a log.
func scribble(w *world, l *watchlog.Log, n int, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0))
	for range n {
		name := fmt.Sprintf("o%d", random.IntN(40))
		x := thing{
			ns: fmt.Sprintf("t%d", random.IntN(3)), name: name, labels: fmt.Sprintf(`"app":"a%d"`, random.IntN(2)),
			rest: fmt.Sprintf(`,"spec":{"nodeName":"n%d"}`, random.IntN(3)),
		}
		if l.Resource() == configmaps {
			x.rest = `,"data":{"k":"v"}`
		}
		key := watchlog.KeyOf(x.ns, x.name)
		switch {
		case random.IntN(4) == 0 && l.Snapshot().Get(key) != nil:
			w.remove(l, key)
		case random.IntN(20) == 0:
			w.bookmark(l)
		default:
			w.write(l, x)
		}
		if random.IntN(10) == 0 {
			time.Sleep(time.Millisecond)
		}
	}
}

// agrees waits until an informer holds exactly the objects of a log that match, at the same revisions.
func agrees(t *testing.T, name string, store cache.Store, l *watchlog.Log, match func(*watchlog.Object) bool) {
	t.Helper()
	var difference string
	for range 3000 {
		if difference = compare(store, l, match); difference == "" {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%s: %s", name, difference)
}

func compare(store cache.Store, l *watchlog.Log, match func(*watchlog.Object) bool) string {
	have := map[string]string{}
	for _, o := range store.List() {
		m, err := meta.Accessor(o)
		if err != nil {
			return err.Error()
		}
		have[watchlog.KeyOf(m.GetNamespace(), m.GetName())] = m.GetResourceVersion()
	}
	for o := range l.Snapshot().All("") {
		if !match(o) {
			continue
		}
		if rev := fmt.Sprint(o.Rev()); have[o.Key()] != rev {
			return fmt.Sprintf("%s is at %q, want %s", o.Key(), have[o.Key()], rev)
		}
		delete(have, o.Key())
	}
	if len(have) > 0 {
		return fmt.Sprintf("%v should not be there", sortedKeys(have))
	}
	return ""
}

func everything(*watchlog.Object) bool { return true }

// TestInformers runs client-go's informers, typed and dynamic, whole and selective, against a server whose objects change
// all the while and whose connections break. client-go itself compares each WatchList with an exact LIST and panics when
// they differ.
func TestInformers(t *testing.T) {
	if os.Getenv(detector) != "true" {
		t.Fatal("client-go does not check what it gets")
	}
	w := newWorld(t, 100)
	podLog, cmLog, widgetLog := w.load(pods), w.load(configmaps), w.load(widgets)
	q := &queries{Handler: w.server(), seen: map[string]int{}}
	ts := serve(t, q, false)
	config := &rest.Config{Host: ts.URL, QPS: -1}
	// Controllers ask for protobuf first.
	typedConfig := rest.CopyConfig(config)
	typedConfig.ContentType = "application/vnd.kubernetes.protobuf"
	typedConfig.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	typed, err := kubernetes.NewForConfig(typedConfig)
	if err != nil {
		t.Fatal(err)
	}
	loose, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	var writers sync.WaitGroup
	for i, l := range []*watchlog.Log{podLog, cmLog, widgetLog} {
		writers.Go(func() { scribble(w, l, 1500, uint64(i)) })
	}
	all := informers.NewSharedInformerFactory(typed, 0)
	bound := informers.NewSharedInformerFactoryWithOptions(typed, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = "spec.nodeName=n1"
	}))
	labelled := dynamicinformer.NewFilteredDynamicSharedInformerFactory(loose, 0, "t1", func(o *metav1.ListOptions) { o.LabelSelector = "app=a1" })
	every := dynamicinformer.NewDynamicSharedInformerFactory(loose, 0)
	checks := []struct {
		name     string
		informer cache.SharedIndexInformer
		log      *watchlog.Log
		match    func(*watchlog.Object) bool
	}{
		{"pods, typed", all.Core().V1().Pods().Informer(), podLog, everything},
		{"configmaps, typed", all.Core().V1().ConfigMaps().Informer(), cmLog, everything},
		{"pods of a node, typed", bound.Core().V1().Pods().Informer(), podLog, func(o *watchlog.Object) bool { return o.Field(0) == "n1" }},
		{"widgets, dynamic", every.ForResource(widgets.GroupVersionResource()).Informer(), widgetLog, everything},
		{"pods, dynamic", every.ForResource(pods.GroupVersionResource()).Informer(), podLog, everything},
		{"widgets by label in a namespace, dynamic", labelled.ForResource(widgets.GroupVersionResource()).Informer(), widgetLog,
			func(o *watchlog.Object) bool { return o.Namespace() == "t1" && o.Labels().Get("app") == "a1" }},
	}
	stop := make(chan struct{})
	for _, f := range []interface{ Start(<-chan struct{}) }{all, bound, labelled, every} {
		f.Start(stop)
	}
	for _, c := range checks {
		if !cache.WaitForCacheSync(t.Context().Done(), c.informer.HasSynced) {
			t.Fatalf("%s never synced", c.name)
		}
	}
	ts.CloseClientConnections()
	writers.Wait()
	for _, c := range checks {
		agrees(t, c.name, c.informer.GetStore(), c.log, c.match)
	}
	close(stop)
	for _, f := range []interface{ Shutdown() }{all, bound, labelled, every} {
		f.Shutdown()
	}
	if n := q.count("watch list"); n < len(checks) {
		t.Errorf("%d watch lists", n)
	}
	if n := q.count("exact list"); n < len(checks) {
		t.Errorf("client-go has checked %d of them", n)
	}
	if n := q.count("list"); n > 0 {
		t.Errorf("%d plain lists: an informer fell back", n)
	}
	if n := q.count("in protobuf"); n < 6 { // the typed ones' watch lists and the lists that these were compared with
		t.Errorf("%d answers in protobuf", n)
	}
}

// TestPlainClientCalls is about what programs do with client-go beside informers.
func TestPlainClientCalls(t *testing.T) {
	w := newWorld(t, 100)
	w.docs.Replace(discovery())
	w.load(pods, thing{"t1", "p1", `"app":"a"`, `,"spec":{"nodeName":"n1"}`}, thing{"t1", "p2", "", ""})
	ts := serve(t, w.server(), true)
	config := &rest.Config{Host: ts.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.CoreV1().RESTClient().(*rest.RESTClient).Client.CloseIdleConnections() })
	ctx := t.Context()
	p, err := c.CoreV1().Pods("t1").Get(ctx, "p1", metav1.GetOptions{})
	if err != nil || p.Spec.NodeName != "n1" || p.ResourceVersion != "100" {
		t.Errorf("%+v %v", p, err)
	}
	l, err := c.CoreV1().Pods("").List(ctx, metav1.ListOptions{LabelSelector: "app=a", Limit: 500})
	if err != nil || len(l.Items) != 1 || l.ResourceVersion != "100" {
		t.Errorf("%+v %v", l, err)
	}
	if _, err = c.CoreV1().Pods("t1").Create(ctx, &corev1.Pod{}, metav1.CreateOptions{}); err == nil {
		t.Error("a write seems to have happened")
	}
	if v, err := c.Discovery().ServerResourcesForGroupVersion("v1"); err != nil || len(v.APIResources) == 0 {
		t.Errorf("%v %v", v, err)
	}
}
