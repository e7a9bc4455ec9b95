package kube

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func (f *fakeAPI) serveResource(w http.ResponseWriter, req *http.Request, r *fakeResource, namespace, name string) {
	f.mu.Lock()
	status, object := r.status, r.objects[key(namespace, name)]
	f.mu.Unlock()
	q := req.URL.Query()
	switch {
	case status != 0:
		fail(w, status, map[int]string{403: "Forbidden", 404: "NotFound"}[status], "refused by the test")
	case name != "" && object.json == "":
		fail(w, http.StatusNotFound, "NotFound", name+" not found")
	case name != "":
		reply(w, r.whole(object.json))
	case q.Get("watch") == "true":
		f.watch(w, req, r)
	default:
		f.serveList(w, req, r, namespace)
	}
}

func reply(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(body + "\n"))
}

// serveList answers a LIST; of field selectors it knows those that match nothing.
func (f *fakeAPI) serveList(w http.ResponseWriter, req *http.Request, r *fakeResource, namespace string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if req.URL.Query().Get("resourceVersionMatch") == "Exact" {
		f.serveExactLocked(w, req, r, namespace)
		return
	}
	var items []string
	selector, _ := labels.Parse(req.URL.Query().Get("labelSelector"))
	for _, k := range slices.Sorted(maps.Keys(r.objects)) {
		var o metav1.PartialObjectMetadata
		_ = json.Unmarshal([]byte(r.objects[k].json), &o)
		if strings.Contains(req.URL.Query().Get("fieldSelector"), "metadata.name=-") ||
			!strings.HasPrefix(k, namespace) || !selector.Matches(labels.Set(o.Labels)) {
			continue
		}
		items = append(items, r.objects[k].json)
	}
	if r.warning != "" {
		w.Header().Set("Warning", `299 - "`+r.warning+`"`)
	}
	list, rv := strings.Join(items, ","), r.spell(f.rev)
	if r.noTable && strings.Contains(req.Header.Get("Accept"), "as=Table") {
		fail(w, http.StatusNotAcceptable, "NotAcceptable", "the resource does not support being converted to a Table")
		return
	}
	if r.wantsTable(req.Header.Get("Accept")) {
		for i := range items {
			items[i] = r.row(r.whole(items[i]))
		}
		reply(w, r.table(rv, r.columns, items...))
		return
	}
	if r.custom {
		reply(w, fmt.Sprintf(`{"apiVersion":%q,"items":[%s],"kind":%q,"metadata":{"continue":"","resourceVersion":%q}}`,
			r.apiVersion(), list, r.kind+"List", rv))
		return
	}
	reply(w, fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q},"items":[%s]}`,
		r.kind+"List", r.apiVersion(), rv, list))
}

// serveExactLocked answers a LIST of one object at a revision.
func (f *fakeAPI) serveExactLocked(w http.ResponseWriter, req *http.Request, r *fakeResource, namespace string) {
	at, _ := strconv.ParseUint(req.URL.Query().Get("resourceVersion"), 10, 64)
	if at < r.floor {
		fail(w, http.StatusGone, "Expired", "The provided resource version is too old")
		return
	}
	name := strings.TrimPrefix(req.URL.Query().Get("fieldSelector"), "metadata.name=")
	item := ""
	now, ok := r.objects[key(namespace, name)]
	if ok && now.rev <= at {
		item = r.whole(now.json)
	}
	for _, e := range r.events {
		if ok && now.rev <= at {
			break // as it is encoded now
		}
		var o metav1.PartialObjectMetadata
		_ = json.Unmarshal([]byte(e.object), &o)
		if e.rev > at || o.Name != name || o.Namespace != namespace {
			continue
		}
		if item = e.object; e.kind == "DELETED" {
			item = ""
		}
	}
	reply(w, fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q},"items":[%s]}`,
		r.kind+"List", r.apiVersion(), r.spell(at), item))
}

// watch answers a WATCH until its time is over, the client leaves or the test cuts it.
func (f *fakeAPI) watch(w http.ResponseWriter, req *http.Request, r *fakeResource) {
	q := req.URL.Query()
	initial := q.Get("sendInitialEvents") == "true"
	from, _ := strconv.ParseUint(q.Get("resourceVersion"), 10, 64)
	f.mu.Lock()
	f.watches++
	fault, floor, rev, stall := r.fault, r.floor, f.rev, r.stall
	f.mu.Unlock()
	defer f.set(func() { f.watches-- })
	switch {
	case initial && r.noWatchList:
		fail(w, http.StatusUnprocessableEntity, "Invalid", "sendInitialEvents is forbidden for watch")
		return
	case initial && from > rev:
		fail(w, http.StatusGatewayTimeout, "Timeout", "Too large resource version")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	s := &stream{w: w, r: r, table: r.wantsTable(req.Header.Get("Accept"))}
	switch {
	case initial:
		from = f.sendInitial(s)
		if r.cutInitial {
			return
		}
	case from < floor:
		_ = http.NewResponseController(w).Flush()
		time.Sleep(stall)
		s.send("ERROR", string(failure(http.StatusGone, "Expired", "too old resource version")))
		return
	}
	_ = http.NewResponseController(w).Flush()
	s.whole = req.Header.Get("Accept") != acceptMetadata
	f.follow(req, s, from, fault)
}

// follow sends what happens behind from.
func (f *fakeAPI) follow(req *http.Request, s *stream, from uint64, fault chan struct{}) {
	seconds, _ := strconv.Atoi(req.URL.Query().Get("timeoutSeconds"))
	end := time.NewTimer(time.Duration(max(seconds, 1)) * time.Second)
	defer end.Stop()
	mark := time.NewTicker(time.Duration(min(60, max(seconds-2, 1))) * time.Second)
	defer mark.Stop()
	for due := false; ; {
		events, garbage, changed, rev := f.eventsAfter(s, from)
		for _, e := range events {
			s.send(e.kind, e.object)
			from = e.rev
		}
		if garbage != "" {
			s.send("MODIFIED", garbage)
		}
		if due && rev > 0 { // what happened up to there has just been sent
			from = rev
			s.bookmark(rev, false)
		}
		due = false
		select {
		case <-changed:
		case <-mark.C:
			due = true
		case <-end.C:
			return
		case <-req.Context().Done():
			return
		case <-fault:
			_, _ = s.w.Write([]byte(`{"type":"MODIFIED","object":{"met`))
			panic(http.ErrAbortHandler)
		}
	}
}

// eventsAfter returns what a watch is to show next, and the position that its bookmark has then, 0 for none.
func (f *fakeAPI) eventsAfter(s *stream, from uint64) ([]fakeEvent, string, chan struct{}, uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	r := s.r
	if r.held && s.whole {
		return nil, "", f.changed, 0
	}
	garbage := r.garbage
	r.garbage = ""
	i, _ := slices.BinarySearchFunc(r.events, from+1, func(e fakeEvent, rev uint64) int { return cmp.Compare(e.rev, rev) })
	return slices.Clone(r.events[i:]), garbage, f.changed, f.rev
}

// sendInitial sends what exists and returns the position that it is.
func (f *fakeAPI) sendInitial(s *stream) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, k := range slices.Sorted(maps.Keys(s.r.objects)) {
		if s.r.cutInitial && i > 0 {
			return 0
		}
		s.send("ADDED", s.r.whole(s.r.objects[k].json))
	}
	if !s.r.cutInitial {
		s.bookmark(f.rev, true)
	}
	return f.rev
}

// stream writes the frames of a watch.
type stream struct {
	w     http.ResponseWriter
	r     *fakeResource
	table bool
	sent  int
	whole bool // not only metadata
}

func (s *stream) send(kind, object string) {
	if s.table && kind != "ERROR" {
		columns := "null"
		if s.sent == 0 {
			columns = s.r.columns
		}
		object = s.r.table("7", columns, s.r.row(object))
	}
	s.sent++
	fmt.Fprintf(s.w, "{\"type\":%q,\"object\":%s}\n", kind, object)
	_ = http.NewResponseController(s.w).Flush()
}

func (s *stream) bookmark(rev uint64, end bool) {
	mark := ""
	if end {
		mark = `,"annotations":{"k8s.io/initial-events-end":"true"}`
	}
	s.send("BOOKMARK", fmt.Sprintf(`{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":%q%s}}`,
		s.r.kind, s.r.apiVersion(), s.r.spell(rev), mark))
}
