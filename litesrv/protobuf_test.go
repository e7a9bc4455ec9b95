package litesrv

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const (
	known  = `,"spec":{"nodeName":"n1"}`
	future = `,"spec":{"nodeName":"n1","future":{"of":"pods"}}`
)

var definitions = &watchlog.Resource{
	Group: "apiextensions.k8s.io", Version: "v1", Name: "customresourcedefinitions",
	Kind: "CustomResourceDefinition", ListKind: "CustomResourceDefinitionList",
}

// teapot is the cloud.
var teapot = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })

// teapotWithin is the cloud for reads of what is held; what is asked of it without that is a fault.
func teapotWithin(c *Config) {
	c.Beyond = func(w http.ResponseWriter, r *http.Request) bool {
		teapot(w, r)
		return true
	}
	c.Fallback = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("the answer would not be narrowed") })
}

// frames returns the events of a watch in protobuf: their types and the names and revisions of what is in them.
func frames(t testing.TB, body []byte) (all []string) {
	t.Helper()
	for len(body) > 0 {
		n := binary.BigEndian.Uint32(body)
		var e metav1.WatchEvent
		if err := e.Unmarshal(body[4 : 4+n]); err != nil {
			t.Fatal(err)
		}
		var o metav1.PartialObjectMetadata // a message of any kind begins as this one does
		if err := o.Unmarshal(opened(t, string(e.Object.Raw)).Raw); err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Type+" "+o.Name+" "+o.ResourceVersion)
		body = body[4+n:]
	}
	return all
}

// TestNewerKinds is about objects with fields that this program doesn't know.
func TestNewerKinds(t *testing.T) {
	const path, list = "/api/v1/namespaces/t1/pods/", "/api/v1/pods"
	const either = asProtobuf + ",application/json;q=0.5"
	load := func(set ...func(*Config)) (*world, *Server) {
		w := newWorld(t, 100)
		w.load(pods, thing{ns: "t1", name: "a", rest: known}, thing{ns: "t1", name: "b", rest: future})
		return w, w.server(set...)
	}
	is := func(s *Server, path, accept string, code int, mediaType string) {
		t.Helper()
		got := get(t, s, path, "Accept", accept)
		if got.Code != code || got.Header().Get("Content-Type") != mediaType || len(got.Header()["Warning"]) > 1 {
			t.Errorf("%s as %s: %d %v, want %d %s", path, accept, got.Code, got.Header(), code, mediaType)
		}
	}
	for _, unproducible := range []string{path + "b", list, list + "?limit=5"} {
		w, s := load()
		is(s, path+"a", either, 200, asProtobuf)
		is(s, unproducible, either, 200, "application/json")
		is(s, path+"a", either, 200, "application/json") // from now on
		is(s, path+"b", asProtobuf, 406, asProtobuf)
		is(s, path+"b", asProtoPartial, 200, asProtobuf)
		is(s, path+"none", either, 404, asProtobuf)
		is(s, list+"?watch=1&timeoutSeconds=-1", asProtobuf, 406, asProtobuf)
		w.cut(time.Now())
		is(s, path+"b", either, 200, "application/json")

		w, s = load(teapotWithin)
		is(s, path+"a", either, 200, asProtobuf)
		is(s, unproducible, either, http.StatusTeapot, "")
		is(s, path+"a", either, http.StatusTeapot, "")
		is(s, list+"?watch=1", either, http.StatusTeapot, "")
		is(s, path+"b", "application/json", 200, "application/json")
		is(s, path+"b", asProtoPartial, 200, asProtobuf)
		w.cut(time.Now())
		is(s, path+"b", either, 200, "application/json")
		is(s, path+"b", asProtobuf, 406, asProtobuf)

		w, s = load(teapotWithin)
		w.cut(time.Now())
		is(s, unproducible, either, 200, "application/json")

		for _, unhelpful := range []func(*Config){
			func(c *Config) { c.Fallback = teapot }, // what it sees is not narrowed
			func(c *Config) {
				c.Fallback, c.Beyond = teapot, func(http.ResponseWriter, *http.Request) bool { return false }
			},
			func(c *Config) {
				c.Beyond = func(w http.ResponseWriter, _ *http.Request) bool {
					w.WriteHeader(http.StatusForbidden)
					return true
				}
			},
		} {
			_, s = load(unhelpful)
			is(s, unproducible, either, 200, "application/json")
			is(s, path+"b", asProtobuf, 406, asProtobuf)
		}
	}
}

// TestAnotherLogBeginsWithoutNotes: that a resource can't be had in protobuf is forgotten with its log.
func TestAnotherLogBeginsWithoutNotes(t *testing.T) {
	const path = "/api/v1/namespaces/t1/pods/a"
	const either = asProtobuf + ",application/json;q=0.5"
	w := newWorld(t, 100)
	first, second := *pods, *pods // each log has one of its own
	w.load(&first, thing{ns: "t1", name: "a", rest: future})
	s := w.server()
	for range 2 {
		if got := get(t, s, path, "Accept", either).Header().Get("Content-Type"); got != "application/json" {
			t.Errorf("of the first log: %s", got)
		}
	}
	w.load(&second, thing{ns: "t1", name: "a", rest: known})
	if got := get(t, s, path, "Accept", either).Header().Get("Content-Type"); got != asProtobuf {
		t.Errorf("of the second log: %s", got)
	}
	if !s.proto.can(&second, shape{}) || s.proto.can(&first, shape{}) {
		t.Error("the note is of another log")
	}
}

// TestAnEncoderThatPanicsIsNotAskedAgain: the request fails, and those that follow are answered without it.
func TestAnEncoderThatPanicsIsNotAskedAgain(t *testing.T) {
	w := newWorld(t, 100)
	l := w.load(pods, thing{ns: "t1", name: "a", rest: known})
	s := w.server()
	o := l.Snapshot().Get("t1/a")
	func() {
		defer func() { _ = recover() }()
		_, _ = s.proto.cache.get(messageKey{object: weak.Make(o), rev: o.Rev()}, func() ([]byte, error) { panic("a fault") })
	}()
	got := get(t, s, "/api/v1/namespaces/t1/pods/a", "Accept", asProtobuf+",application/json;q=0.5")
	if as := got.Header().Get("Content-Type"); got.Code != http.StatusOK || as != "application/json" {
		t.Errorf("%d as %s", got.Code, as)
	}
}

// TestKindsWithoutAType is about built-in kinds that are never had in protobuf.
func TestKindsWithoutAType(t *testing.T) {
	w := newWorld(t, 100)
	w.load(definitions, thing{name: "a"})
	const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
	alone, backed := w.server(), w.server(teapotWithin)
	for _, c := range []struct {
		s      *Server
		accept string
		code   int
		as     string
	}{
		{alone, asProtobuf, 406, asProtobuf},
		{alone, asProtobuf + ",application/yaml", 200, "application/yaml"},
		{alone, asProtoPartialList, 200, asProtobuf},
		{backed, asProtobuf, http.StatusTeapot, ""},
		{backed, "application/json," + asProtobuf, 200, "application/json"},
		{backed, asProtoPartialList, 200, asProtobuf},
	} {
		got := get(t, c.s, path, "Accept", c.accept)
		if got.Code != c.code || got.Header().Get("Content-Type") != c.as {
			t.Errorf("%s: %d %v, want %d %s", c.accept, got.Code, got.Header(), c.code, c.as)
		}
	}
}

// TestAWatchEndsBeforeANewerObject checks that a client of protobuf is sent all up to the object that it can't have, and
// can go on from there in another encoding.
func TestAWatchEndsBeforeANewerObject(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(pods, thing{ns: "t1", name: "a", rest: known})
		s := w.server()
		ended := make(chan *httptest.ResponseRecorder, 2)
		watch := func(query, accept string) {
			r := httptest.NewRequest("GET", "/api/v1/pods?watch=1&allowWatchBookmarks=1&"+query, nil)
			r.Header.Set("Accept", accept)
			got := httptest.NewRecorder()
			s.ServeHTTP(got, r.WithContext(t.Context()))
			ended <- got
		}
		is := func(want ...string) {
			t.Helper()
			got := <-ended
			if all := frames(t, got.Body.Bytes()); len(all) != len(want) || got.Header().Get("Content-Type") != asProtobuf+";stream=watch" {
				t.Errorf("%v %v, want %v", got.Header(), all, want)
			} else {
				for i := range all {
					if all[i] != want[i] {
						t.Errorf("%v, want %v", all, want)
					}
				}
			}
		}
		go watch("resourceVersion=100", asProtobuf+",application/json")
		synctest.Wait()
		w.write(l, thing{ns: "t1", name: "b", rest: known})
		w.write(l, thing{ns: "t1", name: "b", rest: future})
		w.write(l, thing{ns: "t1", name: "c", rest: known})
		is("ADDED b 101")
		go watch("resourceVersion=101&timeoutSeconds=1", asProtobuf+",application/json")
		synctest.Wait()
		got := <-ended
		want(t, got, 200, frame("MODIFIED", thing{ns: "t1", name: "b", rest: future}.json(pods, 102))+
			frame("ADDED", thing{ns: "t1", name: "c", rest: known}.json(pods, 103)))
		s = w.server() // another one, that doesn't know yet
		go watch("sendInitialEvents=1&resourceVersionMatch=NotOlderThan", asProtobuf)
		is("ADDED a 100")
		s = w.server()
		go watch("sendInitialEvents=1&resourceVersionMatch=NotOlderThan&timeoutSeconds=1&fieldSelector=metadata.name%3Db", asProtobuf+",application/json")
		want(t, <-ended, 200, frame("ADDED", thing{ns: "t1", name: "b", rest: future}.json(pods, 102))+
			frame("BOOKMARK", `{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"103","annotations":{"k8s.io/initial-events-end":"true"}},"spec":{"containers":null},"status":{}}`))
	})
}

// TestProtobufPages compares lists with apimachinery's encoding of them, tokens and counts included.
func TestProtobufPages(t *testing.T) {
	w := newWorld(t, 100)
	w.load(pods, bigPods(200)...)
	s := w.server()
	for _, held := range []int64{0, holdLimit - 100_000, holdLimit} { // some, few and no messages are held on to
		s.proto.held.Store(held)
		for _, query := range []string{"", "?limit=7", "?limit=7&labelSelector=app", "?labelSelector=none"} {
			got := get(t, s, "/api/v1/pods"+query, "Accept", asProtobuf)
			u := opened(t, got.Body.String())
			var have, want corev1.PodList
			if err := have.Unmarshal(u.Raw); err != nil || u.Kind != "PodList" || u.APIVersion != "v1" {
				t.Fatal(u.TypeMeta, err)
			}
			if err := json.Unmarshal(get(t, s, "/api/v1/pods"+query).Body.Bytes(), &want); err != nil {
				t.Fatal(err)
			}
			raw, err := want.Marshal()
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(raw, u.Raw) || len(have.Items) == 0 != (query == "?labelSelector=none") {
				t.Errorf("%s: %d items, %v", query, len(have.Items), have.ListMeta)
			}
		}
		if now := s.proto.held.Load(); now != held {
			t.Errorf("%d bytes are held for nothing", now-held)
		}
	}
}

// TestProtobufIsCompressed checks what is compressed of a list.
func TestProtobufIsCompressed(t *testing.T) {
	w := newWorld(t, 100)
	w.load(pods, bigPods(200)...)
	got := get(t, w.server(), "/api/v1/pods", "Accept", asProtobuf, "Accept-Encoding", "gzip")
	if got.Header().Get("Content-Encoding") != "gzip" || got.Header().Get("Content-Type") != asProtobuf {
		t.Error(got.Header())
	}
}

// TestErrorFrame has the frame that kube-apiserver 1.37.2 ends a watch with.
func TestErrorFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 305)
		w.load(configmaps)
		got := get(t, w.server(), "/api/v1/configmaps?watch=1&resourceVersion=216", "Accept", asProtobuf)
		want(t, got, 200, "\x00\x00\x00\x65\x0a\x05ERROR\x12\x5c\x0a\x5ak8s\x00\x0a\x0c\x0a\x02v1\x12\x06Status\x12\x42\x0a\x06\x0a\x00\x12\x00"+
			"\x1a\x00\x12\x07Failure\x1a\x23too old resource version: 216 (305)\x22\x07Expired0\x9a\x03\x1a\x00\x22\x00")
	})
}

// TestAClientLeavesAList checks that a client that leaves in the midst of a list is no harm.
func TestAClientLeavesAList(t *testing.T) {
	w := newWorld(t, 100)
	w.load(pods, bigPods(200)...)
	s := w.server()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest("GET", "/api/v1/pods", nil).WithContext(ctx)
	r.Header.Set("Accept", asProtobuf)
	s.ServeHTTP(&broken{header: http.Header{}}, r)
	if held := s.proto.held.Load(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// broken is a client that is gone.
type broken struct{ header http.Header }

func (b *broken) Header() http.Header       { return b.header }
func (b *broken) WriteHeader(int)           {}
func (b *broken) Write([]byte) (int, error) { return 0, context.Canceled }
