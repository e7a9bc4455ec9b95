package embedded_test

import (
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// fakeReads answers GET and LIST in JSON, without any option, and the documents: enough for the clients in these tests.
type fakeReads struct{ cloud *embedded.Cloud }

func (f fakeReads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if d, ok := f.cloud.Documents().Get(r.URL.Path, ""); ok {
		_, _ = w.Write(d.Body)
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
	f.list(w, l, namespace)
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

func (f fakeReads) list(w http.ResponseWriter, l *watchlog.Log, namespace string) {
	s := l.Snapshot()
	term := watchlog.Everything()
	if namespace != "" {
		term = watchlog.InNamespace(namespace)
	}
	res := l.Resource()
	_, _ = fmt.Fprintf(w, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"},"items":[`, res.ListKind, res.APIVersion(), s.Rev())
	sep := ""
	for o := range s.Select(term, "") {
		_, _ = fmt.Fprintf(w, "%s%s", sep, o.AppendItem(nil))
		sep = ","
	}
	_, _ = w.Write([]byte("]}"))
}
