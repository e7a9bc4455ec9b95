package litesrv

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// bigPods returns n pods of about 7 KB on 1,000 nodes, 20 of them with each label.
func bigPods(n int) []thing {
	things := make([]thing, n)
	for i := range things {
		things[i] = thing{
			ns: fmt.Sprintf("ns%02d", i%50), name: fmt.Sprintf("pod-%06d", i), labels: fmt.Sprintf(`"app":"app%d"`, i/20),
			rest: fmt.Sprintf(`,"spec":{"nodeName":"node-%d","containers":[{"name":"c","image":"%s"}]}`, i%1000, strings.Repeat("0123456789", 690)),
		}
	}
	return things
}

// sink is a client on the same machine that costs next to nothing. It leaves a watch once it has the initial events.
type sink struct {
	header http.Header
	n      int64
	leave  context.CancelFunc
}

func (s *sink) Header() http.Header { return s.header }
func (s *sink) WriteHeader(int)     {}
func (s *sink) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	return len(p), nil
}

func (s *sink) Flush() {
	if s.n > 0 {
		s.leave()
	}
}

// BenchmarkList measures the handler alone, without a connection.
func BenchmarkList(b *testing.B) {
	w := newWorld(b, 100)
	w.load(pods, bigPods(20_000)...)
	w.load(widgets, bigPods(20_000)...)
	s := w.server()
	for _, c := range []struct{ name, path, accept string }{
		{"all", "/api/v1/pods?resourceVersion=0", ""},
		{"metadata of all", "/api/v1/pods?resourceVersion=0", asPartialList},
		{"metadata of all custom ones", "/apis/ex.io/v1/widgets?resourceVersion=0", asPartialList},
		{"first page of 500 as YAML", "/api/v1/pods?limit=500", "application/yaml"},
		{"watch list", "/api/v1/pods?watch=1&timeoutSeconds=100&allowWatchBookmarks=1", ""},
		{"first page of 500", "/api/v1/pods?limit=500", ""},
		{"last page of 500", "/api/v1/pods?limit=500&continue=" + token(100, "/ns48/pod-017000\x00"), ""},
		{"namespace", "/api/v1/namespaces/ns07/pods?resourceVersion=0", ""},
		{"node", "/api/v1/pods?resourceVersion=0&fieldSelector=spec.nodeName%3Dnode-7", ""},
		{"label", "/api/v1/pods?resourceVersion=0&labelSelector=app%3Dapp7", ""},
		{"one", "/api/v1/namespaces/ns07/pods/pod-000007?resourceVersion=0", ""},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			r.Header.Set("Accept", c.accept)
			b.ReportAllocs()
			for b.Loop() {
				ctx, cancel := context.WithCancel(b.Context())
				out := &sink{header: http.Header{}, leave: cancel}
				s.ServeHTTP(out, r.WithContext(ctx))
				cancel()
				b.SetBytes(out.n)
			}
		})
	}
}

// BenchmarkListOverTLS measures lists on one connection, client included. The limit is a handler that writes as much
// from memory.
func BenchmarkListOverTLS(b *testing.B) {
	w := newWorld(b, 100)
	w.load(pods, bigPods(20_000)...)
	s := w.server()
	chunk := make([]byte, chunkSize)
	limit := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for range 142_000_000 / chunkSize {
			_, _ = w.Write(chunk)
		}
	})
	for _, c := range []struct {
		name, path string
		handler    http.Handler
	}{
		{"all", "/api/v1/pods?resourceVersion=0", s},
		{"limit", "/", limit},
		{"label", "/api/v1/pods?resourceVersion=0&labelSelector=app%3Dapp7", s},
	} {
		for _, h2 := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/h2=%v", c.name, h2), func(b *testing.B) {
				ts := serve(b, c.handler, true)
				client := &http.Client{Transport: &http.Transport{
					TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: h2, DisableCompression: true,
				}}
				defer client.CloseIdleConnections()
				b.ReportAllocs()
				for b.Loop() {
					fetch(b, client, ts.URL+c.path)
				}
			})
		}
	}
}

func fetch(b *testing.B, client *http.Client, url string) {
	resp, err := client.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	n, err := io.Copy(io.Discard, resp.Body)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(n)
}

// BenchmarkFanOut measures one event of 7 KB to 200 watchers over TLS, clients included.
func BenchmarkFanOut(b *testing.B) {
	const watchers = 200
	for _, c := range []struct {
		name, query string
		hit         bool
	}{{"all see it", "", true}, {"none see it", "&labelSelector=app%3Dnone", false}} {
		b.Run(c.name, func(b *testing.B) {
			w := newWorld(b, 100)
			l := w.load(pods)
			ts := serve(b, w.server(), true)
			var got sync.WaitGroup
			for range watchers {
				client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
				b.Cleanup(client.CloseIdleConnections)
				req, err := http.NewRequestWithContext(b.Context(), http.MethodGet, ts.URL+"/api/v1/pods?watch=1&resourceVersion=100"+c.query, nil)
				if err != nil {
					b.Fatal(err)
				}
				resp, err := client.Do(req)
				if err != nil {
					b.Fatal(err)
				}
				go func() {
					defer resp.Body.Close()
					r := bufio.NewReaderSize(resp.Body, 16<<10)
					for {
						if _, err := r.ReadSlice('\n'); err != nil {
							return
						}
						got.Done()
					}
				}()
			}
			x := bigPods(1)[0]
			b.ReportAllocs()
			for b.Loop() {
				if c.hit {
					got.Add(watchers)
				}
				w.write(l, x)
				got.Wait()
			}
			if c.hit {
				b.SetBytes(int64(len(x.json(pods, 100))) * watchers)
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/watchers, "ns/delivery")
			}
		})
	}
}

// fullPods returns n pods of about 8 KB as a real cluster has them: many fields, little text.
func fullPods(n int) []thing {
	container := `{"name":"c%d","image":"registry.example/team/app:1.0.%d","args":["--v=2","--leader-elect=false"],"env":[` +
		`{"name":"POD","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}},{"name":"A","value":"b"}],` +
		`"resources":{"limits":{"cpu":"500m","memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},"volumeMounts":[` +
		`{"name":"data","mountPath":"/data"},{"name":"token","readOnly":true,"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],` +
		`"livenessProbe":{"httpGet":{"path":"/healthz","port":"http","scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,` +
		`"successThreshold":1,"failureThreshold":3},"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",` +
		`"imagePullPolicy":"IfNotPresent","securityContext":{"capabilities":{"drop":["ALL"]},"runAsNonRoot":true}}`
	status := `{"name":"c%d","state":{"running":{"startedAt":"2026-01-02T03:04:05Z"}},"lastState":{},"ready":true,"restartCount":0,` +
		`"image":"registry.example/team/app:1.0","imageID":"registry.example/team/app@sha256:0123456789abcdef",` +
		`"containerID":"containerd://0123456789abcdef0123456789abcdef","started":true}`
	things := make([]thing, n)
	for i := range things {
		var containers, statuses []string
		for j := range 6 {
			containers = append(containers, fmt.Sprintf(container, j, i))
			statuses = append(statuses, fmt.Sprintf(status, j))
		}
		things[i] = thing{
			ns: fmt.Sprintf("ns%02d", i%50), name: fmt.Sprintf("pod-%06d", i), labels: fmt.Sprintf(`"app":"app%d"`, i/20),
			rest: fmt.Sprintf(`,"spec":{"nodeName":"node-%d","restartPolicy":"Always","containers":[%s]},"status":{"phase":"Running","podIP":"10.0.0.1","containerStatuses":[%s]}`,
				i%1000, strings.Join(containers, ","), strings.Join(statuses, ",")),
		}
	}
	return things
}

// BenchmarkProtobuf measures lists with and without what was encoded before, and the frames of one event for many.
func BenchmarkProtobuf(b *testing.B) {
	w := newWorld(b, 100)
	l := w.load(pods, fullPods(5000)...)
	s := w.server()
	for _, c := range []struct {
		name, path, accept string
		cold               bool
	}{
		{"5,000 pods in JSON", "/api/v1/pods?resourceVersion=0", "", false},
		{"5,000 pods, cold", "/api/v1/pods?resourceVersion=0", asProtobuf, true},
		{"5,000 pods, again", "/api/v1/pods?resourceVersion=0", asProtobuf, false},
		{"500 pods, cold", "/api/v1/pods?limit=500", asProtobuf, true},
		{"500 pods, again", "/api/v1/pods?limit=500", asProtobuf, false},
		{"metadata of 5,000, cold", "/api/v1/pods?resourceVersion=0", asProtoPartialList, true},
		{"metadata of 5,000, again", "/api/v1/pods?resourceVersion=0", asProtoPartialList, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			r.Header.Set("Accept", c.accept)
			b.ReportAllocs()
			for b.Loop() {
				if c.cold {
					s.proto.cache = newMessageCache()
				}
				out := &sink{header: http.Header{}, leave: func() {}}
				s.ServeHTTP(out, r)
				b.SetBytes(out.n)
			}
		})
	}
	b.Run("frame that was made", func(b *testing.B) {
		f := framer{res: pods, proto: s.proto}
		o := l.Snapshot().Get("ns00/pod-000000")
		var buf []byte
		b.ReportAllocs()
		for b.Loop() {
			buf, _ = f.appendObject(buf[:0], verbAdded, o, o.Rev())
		}
		b.SetBytes(int64(len(buf)))
	})
}
