package guarantee

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// fakeAPI is a small API server for the ConfigMaps of one namespace, "/api/v1/namespaces/ns/configmaps".
// Every third stream it ends after a few events.
type fakeAPI struct {
	mu      sync.Mutex // guards everything below
	rv      uint64
	objects map[string]string // by name
	log     []fakeEvent
	changed chan struct{}
	streams int

	oldest   uint64 // watches from before are 410
	loseNext bool   // a watch loses the first event behind its start
}

type fakeEvent struct {
	rv   uint64
	typ  EventType
	body string
}

func newFakeAPI() *fakeAPI {
	return &fakeAPI{rv: 10, objects: map[string]string{}, changed: make(chan struct{})}
}

const fakePath = "/api/v1/namespaces/ns/configmaps"

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(strings.TrimPrefix(r.URL.Path, fakePath), "/")
	switch {
	case r.Method == http.MethodGet && r.URL.Query().Get("watch") != "":
		f.watch(w, r)
	case r.Method == http.MethodGet && name == "":
		f.list(w, r)
	case r.Method == http.MethodGet:
		f.reply(w, f.find(name))
	case r.Method == http.MethodDelete:
		f.remove(w, name)
	default:
		body, _ := io.ReadAll(r.Body)
		f.put(w, body)
	}
}

func (f *fakeAPI) find(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.objects[name]
}

func (f *fakeAPI) reply(w http.ResponseWriter, body string) {
	if body == "" {
		http.Error(w, `{"kind":"Status","code":404}`, http.StatusNotFound)
		return
	}
	_, _ = fmt.Fprintln(w, body)
}

func (f *fakeAPI) put(w http.ResponseWriter, asked []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := struct{ Name, UID, Data string }{}
	_ = json.Unmarshal(asked, &o)
	f.rv++
	stored := fmt.Sprintf(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","uid":%q,"resourceVersion":"%d"},"data":{"n":%q}}`,
		o.Name, o.UID, f.rv, o.Data)
	typ := Added
	if f.objects[o.Name] != "" {
		typ = Modified
	}
	f.objects[o.Name] = stored
	f.appendLocked(fakeEvent{f.rv, typ, stored})
	f.reply(w, stored)
}

func (f *fakeAPI) remove(w http.ResponseWriter, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.rv++
	f.appendLocked(fakeEvent{f.rv, Deleted, withRV(f.objects[name], f.rv)})
	delete(f.objects, name)
	f.reply(w, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Success"}`)
}

func (f *fakeAPI) appendLocked(e fakeEvent) {
	f.log = append(f.log, e)
	close(f.changed)
	f.changed = make(chan struct{})
}

// list pages by name; the token is the last name and the first page's revision.
func (f *fakeAPI) list(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
	from := r.URL.Query().Get("continue")
	var items []string
	next := ""
	for _, name := range sortedNames(f.objects) {
		if name <= from {
			continue
		}
		if limit > 0 && len(items) == limit {
			next = lastName(items)
			break
		}
		items = append(items, strings.TrimPrefix(f.objects[name], `{"kind":"ConfigMap","apiVersion":"v1",`))
	}
	for i := range items {
		items[i] = "{" + items[i]
	}
	_, _ = fmt.Fprintf(w, `{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"%d","continue":%q},"items":[%s]}`+"\n",
		f.rv, next, strings.Join(items, ","))
}

func lastName(items []string) string {
	o, _ := ParseObject([]byte("{" + items[len(items)-1]))
	return strings.TrimPrefix(o.Key, "ns/")
}

func sortedNames(objects map[string]string) []string {
	var names []Object
	for name := range objects {
		names = append(names, Object{Key: name})
	}
	sorted(names)
	keys := make([]string, len(names))
	for i, n := range names {
		keys[i] = n.Key
	}
	return keys
}

func (f *fakeAPI) watch(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseUint(r.URL.Query().Get("resourceVersion"), 10, 64)
	f.mu.Lock()
	f.streams++
	most := 1 << 30
	if f.streams%3 == 0 {
		most = 5
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		after = f.initialLocked(w)
	} else if after < f.oldest {
		f.mu.Unlock()
		_, _ = fmt.Fprintln(w, `{"type":"ERROR","object":{"kind":"Status","code":410}}`)
		return
	}
	lose := f.loseNext
	f.loseNext = false
	f.mu.Unlock()
	for sent := 0; sent < most; sent++ {
		e, ok := f.next(r, after, w.(http.Flusher).Flush)
		if !ok {
			return
		}
		after = e.rv
		if lose {
			lose = false
			continue
		}
		_, _ = fmt.Fprintf(w, `{"type":%q,"object":%s}`+"\n", e.typ, e.body)
		_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"%d"}}}`+"\n", e.rv)
	}
}

func (f *fakeAPI) initialLocked(w http.ResponseWriter) uint64 {
	for _, name := range sortedNames(f.objects) {
		_, _ = fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n", f.objects[name])
	}
	_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"ConfigMap","metadata":{"resourceVersion":"%d","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", f.rv)
	return f.rv
}

// next waits for the event behind after; before it waits it flushes.
func (f *fakeAPI) next(r *http.Request, after uint64, flush func()) (fakeEvent, bool) {
	for {
		f.mu.Lock()
		changed := f.changed
		for _, e := range f.log {
			if e.rv > after {
				f.mu.Unlock()
				return e, true
			}
		}
		f.mu.Unlock()
		flush()
		select {
		case <-changed:
		case <-r.Context().Done():
			return fakeEvent{}, false
		}
	}
}
