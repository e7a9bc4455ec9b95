package embedded_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// fakeReads answers GET and LIST in JSON and the documents: enough for the clients in these tests. A list knows label
// selectors, metadata.name, limit, and continue tokens, which are keys.
type fakeReads struct{ cloud *embedded.Cloud }

func (f fakeReads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if d, ok := f.cloud.Documents().Get(r.URL.Path, ""); ok {
		_, _ = d.Body.WriteTo(w)
		return
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var gvr schema.GroupVersionResource
	if parts[0] == "api" {
		gvr.Version, parts = parts[1], parts[2:]
	} else {
		gvr.Group, gvr.Version, parts = parts[1], parts[2], parts[3:]
	}
	namespace := ""
	if parts[0] == "namespaces" && len(parts) > 2 {
		namespace, parts = parts[1], parts[2:]
	}
	gvr.Resource = parts[0]
	l, err := f.cloud.Log(gvr)
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if len(parts) > 1 {
		f.get(w, l, watchlog.KeyOf(namespace, parts[1]))
		return
	}
	f.list(w, r, l, namespace)
}

func (f fakeReads) get(w http.ResponseWriter, l *watchlog.Log, key string) {
	o := l.Snapshot().Get(key)
	if o == nil {
		w.WriteHeader(http.StatusNotFound)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":%q,"reason":"NotFound","code":404}`,
			l.Resource().GroupResource().String()+" "+key+" not found")
		return
	}
	_, _ = w.Write(o.JSON())
}

func (f fakeReads) list(w http.ResponseWriter, r *http.Request, l *watchlog.Log, namespace string) {
	query := r.URL.Query()
	selector, err := labels.Parse(query.Get("labelSelector"))
	if err != nil || query.Has("watch") {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"kind":"Status","status":"Failure","message":"%v","reason":"BadRequest","code":400}`, err)
		return
	}
	s, res := l.Snapshot(), l.Resource()
	term := watchlog.Everything()
	if namespace != "" {
		term = watchlog.InNamespace(namespace)
	}
	limit, _ := strconv.Atoi(query.Get("limit"))
	name, byName := strings.CutPrefix(query.Get("fieldSelector"), "metadata.name=")
	var items []string
	next := ""
	for o := range s.Select(term, query.Get("continue")) {
		if limit > 0 && len(items) == limit {
			next = fmt.Sprintf(`,"continue":%q,"remainingItemCount":%d`, o.Key(), s.CountFrom(term, o.Key()))
			break
		}
		if selector.Matches(o.Labels()) && (!byName || o.Name() == name) {
			items = append(items, string(o.AppendItem(nil)))
		}
	}
	_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"%s},"items":[%s]}`+"\n",
		res.ListKind, res.APIVersion(), s.Rev(), next, strings.Join(items, ","))
}
