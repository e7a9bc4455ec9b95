package litesrv

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// changed returns a world at revision 105 in which things of a namespaced resource were created, updated and deleted
// behind revision 100, and one that has state returns of it at 102.
//
//	at 102: t1/c1@102 t1/c2@100 t1/c3@101 t2/c1@100
//	at 105: t1/c1@102           t1/c3@101 t1/c4@104 t2/c1@100
func changed(t *testing.T, r *watchlog.Resource) (*world, *watchlog.Log) {
	w := newWorld(t, 100)
	l := w.load(r, thing{ns: "t1", name: "c1"}, thing{ns: "t1", name: "c2"}, thing{ns: "t2", name: "c1"})
	w.write(l, thing{ns: "t1", name: "c3"})
	w.write(l, thing{ns: "t1", name: "c1"})
	w.remove(l, "t1/c2")
	w.write(l, thing{ns: "t1", name: "c4"})
	w.bookmark(l)
	return w, l
}

func TestListByTheTable(t *testing.T) {
	for _, r := range []*watchlog.Resource{configmaps, widgets} {
		w, _ := changed(t, r)
		s := w.server()
		base := "/api/v1"
		if r.Group != "" {
			base = "/apis/" + r.APIVersion()
		}
		t1, all := base+"/namespaces/t1/"+r.Name, base+"/"+r.Name
		item := func(ns, name string, rev uint64) string { return thing{ns: ns, name: name}.item(r, rev) }
		c1, c1old, c2, c3, c4 := item("t1", "c1", 102), item("t1", "c1", 100), item("t1", "c2", 100),
			item("t1", "c3", 101), item("t1", "c4", 104)
		other := item("t2", "c1", 100)
		more := func(rev int64, start string, remaining int) string {
			text := `"continue":"` + token(rev, start) + `"`
			if remaining > 0 {
				text += fmt.Sprintf(`,"remainingItemCount":%d`, remaining)
			}
			if !r.Custom {
				text = "," + text
			}
			return text
		}
		now := list(r, 105, "", c1, c3, c4)
		for _, c := range []struct{ name, path, body string }{
			{"unset", t1, now},
			{"unset, all namespaces", all, list(r, 105, "", c1, c3, c4, other)},
			{"unset, namespace without objects", base + "/namespaces/nope/" + r.Name, list(r, 105, "")},
			{"unset, limit", t1 + "?limit=2", list(r, 105, more(105, "/c3\x00", 1), c1, c3)},
			{"unset, limit, all namespaces", all + "?limit=1", list(r, 105, more(105, "/t1/c1\x00", 3), c1)},
			{"unset, limit that is just enough", t1 + "?limit=3", now},
			{"unset, negative limit is none", t1 + "?limit=-1", now},
			{"unset, the first of two limits counts", t1 + "?limit=2&limit=1", list(r, 105, more(105, "/c3\x00", 1), c1, c3)},
			{"unset, unknown parameters", t1 + "?foo=bar&shardSelector=x", now},
			{"0", t1 + "?resourceVersion=0", now},
			{"0 ignores limit", t1 + "?resourceVersion=0&limit=1", now},
			{"0 NotOlderThan ignores limit", t1 + "?resourceVersion=0&resourceVersionMatch=NotOlderThan&limit=1", now},
			{"0 with a token ignores limit", t1 + "?resourceVersion=0&limit=1&continue=" + token(102, "/c1\x00"), list(r, 102, "", c2, c3)},
			{"N", t1 + "?resourceVersion=102", now},
			{"N, limit is exact", t1 + "?resourceVersion=102&limit=2", list(r, 102, more(102, "/c2\x00", 1), c1, c2)},
			{"N, limit, one key is not older", t1 + "?resourceVersion=101&limit=2&fieldSelector=metadata.name%3Dc1", list(r, 105, "", c1)},
			{"N NotOlderThan", t1 + "?resourceVersion=102&resourceVersionMatch=NotOlderThan", now},
			{"N NotOlderThan, limit", t1 + "?resourceVersion=102&resourceVersionMatch=NotOlderThan&limit=2", list(r, 105, more(105, "/c3\x00", 1), c1, c3)},
			{"N Exact", t1 + "?resourceVersion=102&resourceVersionMatch=Exact", list(r, 102, "", c1, c2, c3)},
			{"N Exact, limit", t1 + "?resourceVersion=102&resourceVersionMatch=Exact&limit=1", list(r, 102, more(102, "/c1\x00", 2), c1)},
			{"N Exact at the beginning", t1 + "?resourceVersion=100&resourceVersionMatch=Exact", list(r, 100, "", c1old, c2)},
			{"N Exact where another resource changed", t1 + "?resourceVersion=105&resourceVersionMatch=Exact", now},
			{"N Exact, one key", t1 + "?resourceVersion=101&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Dc1", list(r, 101, "", c1old)},
			{"token", t1 + "?continue=" + token(102, "/c1\x00"), list(r, 102, "", c2, c3)},
			{"token, limit", t1 + "?limit=1&continue=" + token(102, "/c1\x00"), list(r, 102, more(102, "/c2\x00", 1), c2)},
			{"token without a slash", t1 + "?continue=" + token(102, "c1\x00"), list(r, 102, "", c2, c3)},
			{"token, all namespaces", all + "?continue=" + token(102, "/t1/c2\x00"), list(r, 102, "", c3, other)},
			{"token behind the end", t1 + "?continue=" + token(102, "/zz\x00"), list(r, 102, "")},
			{"token -1 is now", t1 + "?limit=1&continue=" + token(-1, "/c1\x00"), list(r, 105, more(105, "/c3\x00", 1), c3)},
			{"watch=false", t1 + "?watch=false", now},
			{"watch=0", t1 + "?watch=0", now},
		} {
			t.Run(r.Name+" "+c.name, func(t *testing.T) { want(t, get(t, s, c.path), http.StatusOK, c.body) })
		}
	}
}

func TestListOfDirectResources(t *testing.T) {
	w, _ := changed(t, coreEvents)
	s := w.server()
	item := func(name string, rev uint64) string { return thing{ns: "t1", name: name}.item(coreEvents, rev) }
	t.Run("0 honours limit and the token has no slash", func(t *testing.T) {
		want(t, get(t, s, "/api/v1/namespaces/t1/events?resourceVersion=0&limit=1"), http.StatusOK,
			list(coreEvents, 105, `,"continue":"`+token(105, "c1\x00")+`","remainingItemCount":2`, item("c1", 102)))
	})
}

func TestSelectorsDecideTheItemsNotTheState(t *testing.T) {
	w := newWorld(t, 100)
	at := func(node, phase string) string {
		return `,"spec":{"nodeName":"` + node + `"},"status":{"phase":"` + phase + `"}`
	}
	l := w.load(pods,
		thing{"t1", "p1", `"app":"a","n":"1"`, at("n1", "Running")},
		thing{"t1", "p2", `"app":"b","n":"5"`, at("n2", "Running")},
		thing{"t1", "p3", `"app":"a"`, at("n1", "Pending")},
		thing{"t2", "p1", ``, `,"spec":{"nodeName":"n1","hostNetwork":true}`},
	)
	w.bookmark(l)
	s := w.server()
	for query, names := range map[string]string{
		"":                                    "t1/p1 t1/p2 t1/p3 t2/p1",
		"labelSelector=app%3Da":               "t1/p1 t1/p3",
		"labelSelector=app%3D%3Da":            "t1/p1 t1/p3",
		"labelSelector=app%21%3Da":            "t1/p2 t2/p1",
		"labelSelector=app":                   "t1/p1 t1/p2 t1/p3",
		"labelSelector=%21app":                "t2/p1",
		"labelSelector=app+in+(a,b)":          "t1/p1 t1/p2 t1/p3",
		"labelSelector=app+in+(b)":            "t1/p2",
		"labelSelector=app+notin+(a)":         "t1/p2 t2/p1",
		"labelSelector=n%3E1":                 "t1/p2",
		"labelSelector=n%3C2":                 "t1/p1",
		"labelSelector=app%3Da,n":             "t1/p1",
		"labelSelector=app%3Da,app%3Db":       "",
		"fieldSelector=spec.nodeName%3Dn1":    "t1/p1 t1/p3 t2/p1",
		"fieldSelector=spec.host%3Dn1":        "t1/p1 t1/p3 t2/p1",
		"fieldSelector=spec.nodeName%21%3Dn1": "t1/p2",
		"fieldSelector=spec.nodeName%3Dn1,status.phase%3DPending":  "t1/p3",
		"fieldSelector=spec.nodeName%3Dn1&labelSelector=n":         "t1/p1",
		"fieldSelector=status.phase%3D":                            "t2/p1",
		"fieldSelector=spec.hostNetwork%3Dfalse":                   "t1/p1 t1/p2 t1/p3",
		"fieldSelector=metadata.name%3Dp1":                         "t1/p1 t2/p1",
		"fieldSelector=metadata.name%21%3Dp1":                      "t1/p2 t1/p3",
		"fieldSelector=metadata.namespace%3Dt2":                    "t2/p1",
		"fieldSelector=metadata.namespace%3Dt1,metadata.name%3Dp2": "t1/p2",
		"fieldSelector=metadata.namespace%3Dt1,spec.nodeName%3Dn1": "t1/p1 t1/p3",
		"fieldSelector=metadata.namespace%3DNOPE":                  "",
		"fieldSelector=spec.nodeName%3Dnope":                       "",
	} {
		got := keysOf(t, get(t, s, "/api/v1/pods?"+query))
		if got != names {
			t.Errorf("%s: got %q, want %q", query, got, names)
		}
	}
	for query, names := range map[string]string{
		"fieldSelector=spec.nodeName%3Dn1":      "t1/p1 t1/p3",
		"labelSelector=app%3Da":                 "t1/p1 t1/p3",
		"fieldSelector=metadata.name%3Dp1":      "t1/p1",
		"fieldSelector=metadata.namespace%3Dt2": "",
		"fieldSelector=metadata.namespace%3Dt1": "t1/p1 t1/p2 t1/p3",
	} {
		got := keysOf(t, get(t, s, "/api/v1/namespaces/t1/pods?"+query))
		if got != names {
			t.Errorf("in t1, %s: got %q, want %q", query, got, names)
		}
	}
}

// keysOf returns the keys of a list's items in their order.
func keysOf(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Code != http.StatusOK {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var l struct {
		Items []struct {
			Metadata struct{ Namespace, Name string }
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, i := range l.Items {
		keys = append(keys, watchlog.KeyOf(i.Metadata.Namespace, i.Metadata.Name))
	}
	return strings.Join(keys, " ")
}

func TestPagesWithSelectors(t *testing.T) {
	w := newWorld(t, 100)
	on := func(node string) string { return `,"spec":{"nodeName":"` + node + `"}` }
	w.load(pods,
		thing{"t1", "p1", `"app":"a"`, on("n1")}, thing{"t1", "p2", `"app":"a"`, on("n1")},
		thing{"t1", "p3", `"app":"b"`, on("n2")}, thing{"t2", "p1", `"app":"b"`, on("n1")},
	)
	s := w.server()
	for _, c := range []struct{ name, path, next string }{
		{"nothing that matches follows, but something is stored", "/api/v1/pods?labelSelector=app%3Da&limit=2", "/t1/p2\x00"},
		{"nothing is stored behind the last one", "/api/v1/pods?labelSelector=app%3Db&limit=2", ""},
		{"an index of kube-apiserver's knows that more follow", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn1&limit=2", "/t1/p2\x00"},
		{"it knows that none follow", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2&limit=1", ""},
		{"it knows that none follow in the namespace", "/api/v1/namespaces/t1/pods?fieldSelector=spec.nodeName%3Dn1&limit=2", ""},
		{"an exact list has no such index", "/api/v1/pods?fieldSelector=spec.nodeName%3Dn2&limit=1&resourceVersion=100&resourceVersionMatch=Exact", "/t1/p3\x00"},
		{"a further page is not narrowed by a namespace in the selector",
			"/api/v1/pods?fieldSelector=metadata.namespace%3Dt1&limit=2&continue=" + token(100, "/t1/p1\x00"), "/t1/p3\x00"},
		{"a token is relative to the path, not to the selector", "/api/v1/pods?fieldSelector=metadata.namespace%3Dt1&limit=1", "/t1/p1\x00"},
	} {
		var l struct {
			Metadata struct {
				Continue           string
				RemainingItemCount *int
			}
		}
		answer := get(t, s, c.path)
		if err := json.Unmarshal(answer.Body.Bytes(), &l); err != nil {
			t.Fatal(err)
		}
		next := ""
		if c.next != "" {
			next = token(100, c.next)
		}
		if l.Metadata.Continue != next || l.Metadata.RemainingItemCount != nil {
			t.Errorf("%s: continue %q, remaining %v; want %q and none", c.name, l.Metadata.Continue, l.Metadata.RemainingItemCount, next)
		}
	}
}

func TestPagesAddUp(t *testing.T) {
	w := newWorld(t, 100)
	var things []thing
	for i := range 1000 {
		things = append(things, thing{ns: fmt.Sprintf("t%d", i%3), name: fmt.Sprintf("c%d", i)})
	}
	l := w.load(configmaps, things...)
	s := w.server()
	whole := keysOf(t, get(t, s, "/api/v1/configmaps"))
	var got []string
	path := "/api/v1/configmaps?limit=100"
	for pages := 1; ; pages++ {
		w.write(l, thing{ns: "t0", name: fmt.Sprintf("new%d", pages)}) // must not show on later pages
		answer := get(t, s, path)
		got = append(got, keysOf(t, answer))
		var p struct {
			Metadata struct {
				ResourceVersion, Continue string
				RemainingItemCount        int
			}
		}
		if err := json.Unmarshal(answer.Body.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		if pages == 1 {
			whole = keysOf(t, get(t, s, "/api/v1/configmaps"))
		}
		if p.Metadata.ResourceVersion != "101" {
			t.Fatalf("page %d is at %s", pages, p.Metadata.ResourceVersion)
		}
		if p.Metadata.Continue == "" {
			if pages != 11 {
				t.Fatalf("%d pages", pages)
			}
			break
		}
		if left := 1001 - 100*pages; p.Metadata.RemainingItemCount != left {
			t.Fatalf("page %d: %d remain, want %d", pages, p.Metadata.RemainingItemCount, left)
		}
		path = "/api/v1/configmaps?limit=100&continue=" + url.QueryEscape(p.Metadata.Continue)
	}
	if strings.Join(got, " ") != whole {
		t.Error("the pages are not the list")
	}
}

func TestListOfNothingHasARevision(t *testing.T) {
	w := newWorld(t, 7)
	w.load(configmaps)
	w.load(widgets)
	s := w.server()
	want(t, get(t, s, "/api/v1/configmaps"), http.StatusOK,
		`{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`+"\n")
	want(t, get(t, s, "/apis/ex.io/v1/widgets"), http.StatusOK,
		`{"apiVersion":"ex.io/v1","items":[],"kind":"WidgetList","metadata":{"continue":"","resourceVersion":"7"}}`+"\n")
}

const futureStatus = `{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}],"retryAfterSeconds":1}`

func TestFutureRevisionsAreWaitedForThreeSeconds(t *testing.T) {
	for _, query := range []string{
		"resourceVersion=110", "resourceVersion=110&resourceVersionMatch=NotOlderThan",
		"resourceVersion=110&resourceVersionMatch=Exact", "resourceVersion=110&limit=1",
		"continue=" + token(110, "/c1\x00"),
	} {
		synctest.Test(t, func(t *testing.T) {
			w, l := changed(t, configmaps)
			s := w.server()
			start := time.Now()
			answer := get(t, s, "/api/v1/namespaces/t1/configmaps?"+query)
			if took := time.Since(start); took != 3*time.Second {
				t.Errorf("%s: waited %v", query, took)
			}
			want(t, answer, http.StatusGatewayTimeout,
				failure(504, "Timeout", "Timeout: Too large resource version: 110, current: 105", futureStatus))
			if answer.Header().Get("Retry-After") != "1" {
				t.Errorf("Retry-After %q", answer.Header().Get("Retry-After"))
			}
			// The same arrives in time.
			go func() {
				time.Sleep(2 * time.Second)
				w.commit(l, watchlog.Batch{Rev: 110})
			}()
			start = time.Now()
			answer = get(t, s, "/api/v1/namespaces/t1/configmaps?"+query)
			if took := time.Since(start); took != 2*time.Second || answer.Code != http.StatusOK {
				t.Errorf("%s: %d after %v", query, answer.Code, took)
			}
		})
	}
}

func TestFutureRevisionsOfDirectResourcesAndKeysHaveNoRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := changed(t, coreEvents)
		w.load(configmaps, thing{ns: "t1", name: "c1"})
		s := w.server()
		const causes = `{"causes":[{"reason":"ResourceVersionTooLarge","message":"Too large resource version"}]}`
		for _, path := range []string{
			"/api/v1/events?resourceVersion=110", "/api/v1/namespaces/t1/events/c1?resourceVersion=110",
			"/api/v1/namespaces/t1/configmaps?resourceVersion=110&limit=1&fieldSelector=metadata.name%3Dc1",
			"/api/v1/namespaces/t1/configmaps?resourceVersion=110&resourceVersionMatch=Exact&fieldSelector=metadata.name%3Dc1",
		} {
			answer := get(t, s, path)
			want(t, answer, 504, failure(504, "Timeout", "Timeout: Too large resource version: 110, current: 105", causes))
			if h := answer.Header().Get("Retry-After"); h != "" {
				t.Errorf("%s: Retry-After %s", path, h)
			}
		}
	})
}

func TestTheTimeoutParameterEndsAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := changed(t, configmaps)
		s := w.server()
		start := time.Now()
		answer := get(t, s, "/api/v1/configmaps?resourceVersion=110&timeout=1s")
		if took := time.Since(start); took != time.Second {
			t.Errorf("waited %v", took)
		}
		want(t, answer, 504, `{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the `+
			`allotted timeout","reason":"Timeout","details":{},"code":504}`+"\n")
		if h := answer.Header().Get("Content-Type"); h != "text/plain; charset=utf-8" {
			t.Errorf("Content-Type %s", h)
		}
	})
}

func TestTheEndOfARequestEndsItsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, _ := changed(t, configmaps)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			time.Sleep(time.Second)
			cancel()
		}()
		start := time.Now()
		r := httptest.NewRequest(http.MethodGet, "/api/v1/configmaps?resourceVersion=110", nil).WithContext(ctx)
		answer := httptest.NewRecorder()
		w.server().ServeHTTP(answer, r)
		if took := time.Since(start); took != time.Second {
			t.Errorf("waited %v", took)
		}
		// It may as well have been the server that was told to stop: never an empty success.
		want(t, answer, 503, failure(503, "ServiceUnavailable", "apiserver is shutting down", `{"retryAfterSeconds":1}`))
	})
}

// compacted returns a world in which revisions up to 101 have left the window of the resource.
func compacted(t *testing.T, r *watchlog.Resource) *world {
	w := newWorld(t, 100)
	l := w.loadWindow(r, watchlog.Config{MaxEvents: 1}, thing{ns: "t1", name: "c1"}, thing{ns: "t1", name: "c2"})
	w.write(l, thing{ns: "t1", name: "c3"})
	w.write(l, thing{ns: "t1", name: "c4"})
	return w
}

func TestListsBeforeTheWindow(t *testing.T) {
	w := compacted(t, configmaps)
	s := w.server()
	const path = "/api/v1/namespaces/t1/configmaps?"
	for _, query := range []string{"resourceVersion=100&resourceVersionMatch=Exact", "resourceVersion=100&limit=1"} {
		want(t, get(t, s, path+query), http.StatusGone,
			failure(410, "Expired", "The resourceVersion for the provided list is too old.", ""))
	}
	answer := get(t, s, path+"limit=1&continue="+token(100, "/c1\x00"))
	body := strings.Replace(failure(410, "Expired", expiredContinue, ""), `"metadata":{}`,
		`"metadata":{"continue":"`+token(-1, "c1\x00")+`"}`, 1)
	want(t, answer, http.StatusGone, body)
	// The token in the answer goes on with what there is now.
	want(t, get(t, s, path+"limit=1&continue="+token(-1, "c1\x00")), http.StatusOK,
		list(configmaps, 102, `,"continue":"`+token(102, "/c2\x00")+`","remainingItemCount":2`,
			thing{ns: "t1", name: "c2"}.item(configmaps, 100)))
}

func TestAGapIsNotListedExactly(t *testing.T) {
	w := newWorld(t, 100)
	l := w.load(configmaps, thing{ns: "t1", name: "c1"})
	o := w.decode(l, thing{ns: "t1", name: "c1"}.json(configmaps, 110))
	w.commit(l, l.Snapshot().PlanCatchup([]watchlog.Op{{Key: "t1/c1", Rev: 110, Object: o}}, 120))
	s := w.server()
	const path = "/api/v1/configmaps?resourceVersionMatch=Exact&resourceVersion="
	if answer := get(t, s, path+"115"); answer.Code != http.StatusGone {
		t.Errorf("inside the gap: %d %s", answer.Code, answer.Body)
	}
	for _, rev := range []string{"100", "120"} {
		if answer := get(t, s, path+rev); answer.Code != http.StatusOK {
			t.Errorf("at %s: %d %s", rev, answer.Code, answer.Body)
		}
	}
}
