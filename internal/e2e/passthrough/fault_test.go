package passthrough

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/cloudhub/callsrv"
	"github.com/tombolo-sync/tombolo/edgehub/call"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// failed checks that an answer is a Status, as Kubernetes' clients know it.
func failed(t *testing.T, resp *http.Response, body string, code int, reason metav1.StatusReason, words string) {
	t.Helper()
	var s metav1.Status
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		t.Fatalf("%q: %v", body, err)
	}
	if resp.StatusCode != code || s.Code != int32(code) || s.Reason != reason || s.Kind != "Status" || s.APIVersion != "v1" ||
		s.Status != "Failure" || !strings.Contains(s.Message, words) {
		t.Errorf("%d %s, want %d %s %q", resp.StatusCode, body, code, reason, words)
	}
	again := resp.Header.Get("Retry-After") != ""
	if told := s.Details != nil && s.Details.RetryAfterSeconds > 0; told != again || again != (code == 503 || code == 429) {
		t.Errorf("Retry-After %q, details %+v", resp.Header.Get("Retry-After"), s.Details)
	}
}

func TestOfflineNothingHasHappened(t *testing.T) {
	api := &recorder{}
	r := newRig(t, api)
	r.cut()
	for _, request := range []string{
		"GET /api/v1/pods", "POST /api/v1/namespaces/ns/serviceaccounts/sa/token", "DELETE /api/v1/namespaces/ns/pods",
	} {
		method, path, _ := strings.Cut(request, " ")
		resp, body := r.ask(method, path, "", "Audit-Id", "mine")
		failed(t, resp, body, 503, metav1.StatusReasonServiceUnavailable, "since 2023-11-14T22:13:20Z")
		if resp.Header.Get("Audit-Id") != "mine" {
			t.Errorf("headers %v", resp.Header)
		}
	}
	if got, _ := api.take(); got != nil {
		t.Error("the API server was reached")
	}
}

func TestAnAPIServerThatIsNotThere(t *testing.T) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = lis.Close()
	r := newRigAt(t, "http://"+lis.Addr().String())
	for _, method := range []string{"GET", "POST"} {
		resp, body := r.ask(method, "/api/v1/namespaces/ns/pods", "{}")
		failed(t, resp, body, 503, metav1.StatusReasonServiceUnavailable, "the hub can't reach the API server")
	}
}

// TestALinkThatBreaksBeforeAnAnswer is about what nobody knows: whether a write has happened.
func TestALinkThatBreaksBeforeAnAnswer(t *testing.T) {
	for _, breaks := range []string{"between edge and hub", "between hub and API server"} {
		for _, method := range []string{"GET", "POST", "DELETE"} {
			arrived := make(turns, 1)
			api := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body) // a server learns only behind it that its client is gone
				arrived <- struct{}{}
				if breaks == "between hub and API server" {
					panic(http.ErrAbortHandler)
				}
				<-r.Context().Done()
			})
			r := newRig(t, api)
			if breaks == "between edge and hub" {
				go func() {
					<-arrived
					r.cut()
				}()
			}
			resp, body := r.ask(method, "/api/v1/namespaces/ns/pods", "{}")
			if method == "GET" {
				failed(t, resp, body, 503, metav1.StatusReasonServiceUnavailable, "broke before there was an answer")
			} else {
				failed(t, resp, body, 504, metav1.StatusReasonTimeout, "not known whether the "+method)
			}
		}
	}
}

func TestTooManyCalls(t *testing.T) {
	arrived := make(turns)
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("watch") == "" {
			return
		}
		_ = http.NewResponseController(w).Flush()
		arrived <- struct{}{}
		<-r.Context().Done()
	}), func(c *callsrv.Config) { c.MaxPerEdge = 2 })
	for range 2 {
		resp, err := r.client().Get(r.edge.URL + "/api/v1/pods?watch=1")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		arrived.wait(t, "the watch has begun")
	}
	resp, body := r.ask("GET", "/api/v1/pods", "")
	failed(t, resp, body, 429, metav1.StatusReasonTooManyRequests, "2 calls of edge edge-1 are under way")
}

func TestLimits(t *testing.T) {
	api := &recorder{}
	r := newRig(t, api, func(c *callsrv.Config) { c.MaxBody = 1000 })
	resp, body := r.ask("POST", "/api/v1/namespaces/ns/pods", strings.Repeat("x", 1001))
	failed(t, resp, body, 413, metav1.StatusReasonRequestEntityTooLarge, "limit is 1000")
	req, _ := http.NewRequest("POST", r.edge.URL+"/api/v1/namespaces/ns/pods", struct{ *strings.Reader }{strings.NewReader(strings.Repeat("x", 1001))})
	req.ContentLength = -1
	if resp, err := r.client().Do(req); err != nil || resp.StatusCode != 413 {
		t.Errorf("a body of unknown size: %v %v", resp, err)
	} else {
		_ = resp.Body.Close()
	}
	resp, body = r.ask("GET", "/api/v1/pods?labelSelector="+strings.Repeat("x", 65<<10), "")
	failed(t, resp, body, 414, "", "the URI has")
	resp, body = r.ask("GET", "/api/v1/pods", "", "X-Big", strings.Repeat("x", 129<<10))
	failed(t, resp, body, 431, "", "the header has")
	for _, method := range []string{"TRACE", "PROPFIND"} {
		resp, body = r.ask(method, "/api/v1/pods", "")
		failed(t, resp, body, 405, metav1.StatusReasonMethodNotAllowed, "does not allow this method")
	}
}

// hub answers calls as a test wants.
type hub struct {
	tombolov1.UnimplementedCallServiceServer
	call func(tombolov1.CallService_CallServer) error
}

func (h *hub) Call(s tombolov1.CallService_CallServer) error {
	if _, err := s.Recv(); err != nil {
		return err
	}
	return h.call(s)
}

// badHub returns a rig whose hub is another one.
func badHub(t *testing.T, call func(tombolov1.CallService_CallServer) error) *rig {
	r := newRig(t, http.NotFoundHandler())
	r.cut()
	r.serveWith(func(s *grpc.Server) { tombolov1.RegisterCallServiceServer(s, &hub{call: call}) })
	return r
}

func TestWhatAHubSays(t *testing.T) {
	for _, c := range []struct {
		err    error
		method string
		code   int
		reason metav1.StatusReason
		words  string
	}{
		{status.Error(codes.PermissionDenied, "not you"), "POST", 403, metav1.StatusReasonForbidden, "refuses this edge: not you"},
		{status.Error(codes.Unauthenticated, "who"), "POST", 403, metav1.StatusReasonForbidden, "refuses this edge: who"},
		{status.Error(codes.InvalidArgument, "bad"), "POST", 400, metav1.StatusReasonBadRequest, "bad"},
		{status.Error(codes.ResourceExhausted, "many"), "POST", 429, metav1.StatusReasonTooManyRequests, "many"},
		{status.Error(codes.Internal, "bug"), "POST", 504, metav1.StatusReasonTimeout, "not known whether"},
		{nil, "POST", 504, metav1.StatusReasonTimeout, "without an answer"},
		{nil, "GET", 503, metav1.StatusReasonServiceUnavailable, "without an answer"},
	} {
		r := badHub(t, func(tombolov1.CallService_CallServer) error { return c.err })
		resp, body := r.ask(c.method, "/api/v1/pods", "")
		failed(t, resp, body, c.code, c.reason, c.words)
	}
	r := badHub(t, func(s tombolov1.CallService_CallServer) error {
		return s.Send(&tombolov1.CallResponse{Message: &tombolov1.CallResponse_Answer{Answer: &tombolov1.CallAnswer{Status: 101}}})
	})
	resp, body := r.ask("POST", "/api/v1/pods", "")
	failed(t, resp, body, 504, metav1.StatusReasonTimeout, "status 101")
}

func TestWithinScopeAnswersOrLeavesItToOthers(t *testing.T) {
	api := &recorder{}
	r := newRig(t, api)
	calls, err := call.New(call.Config{Edge: edgeName, Link: r})
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan bool, 64)
	edge := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answers <- calls.WithinScope(w, r) }))
	defer edge.Close()
	ask := func(path string) bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, edge.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Close = true // a connection that was used before might have it sent twice
		resp, err := r.client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		return <-answers
	}
	for path, want := range map[string]bool{
		"/api/v1/pods?limit=1": true, "/api/v1/secrets": false, "/api/v1/namespaces/ns/pods/p": true,
		"/api/v1/namespaces/ns/pods/p/log": false, "/api/v1/watch/pods": false,
	} {
		answered := ask(path)
		if got, _ := api.take(); answered != want || (got != nil) != want {
			t.Errorf("%s: answered %v", path, answered)
		}
	}
	r.cut()
	if ask("/api/v1/pods") {
		t.Error("answered without a link")
	}
}

func TestAStalledCallIsEnded(t *testing.T) {
	gone := make(turns)
	r := newRig(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		close(gone)
	}), func(c *callsrv.Config) { c.Idle = 50 * time.Millisecond })
	resp, err := r.client().Get(r.edge.URL + "/api/v1/pods?watch=1")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := resp.Body.Read(make([]byte, 1)); err == nil {
		t.Error("looks like an end in order")
	}
	gone.wait(t, "the API server's request has ended")
}

// TestNothingIsSentTwice: not even what a client calls idempotent. The API server closes the connection, which has been used
// before, once it has read the request.
func TestNothingIsSentTwice(t *testing.T) {
	for _, name := range []string{"Idempotency-Key", "x-idempotency-key"} {
		t.Run(name, func(t *testing.T) {
			var deleted atomic.Int32
			r := newRig(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodDelete {
					return
				}
				if r.Header.Get("Idempotency-Key")+r.Header.Get("X-Idempotency-Key") != "k" {
					t.Errorf("headers %v", r.Header)
				}
				deleted.Add(1)
				panic(http.ErrAbortHandler)
			}))
			r.ask("GET", "/api/v1/namespaces/ns/pods", "")
			resp, body := r.ask("DELETE", "/api/v1/namespaces/ns/pods/p", "", name, "k")
			failed(t, resp, body, 504, metav1.StatusReasonTimeout, "not known whether the DELETE has taken effect")
			if n := deleted.Load(); n != 1 {
				t.Errorf("sent %d times", n)
			}
		})
	}
}
