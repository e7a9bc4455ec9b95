package call

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failing is a connection to a hub that goes away: before a call begins, or while it takes the request.
type failing struct {
	grpc.ClientConnInterface
	begins bool
}

func (f *failing) Conn() grpc.ClientConnInterface { return f }
func (*failing) Contact() (bool, time.Time)       { return true, time.Time{} }

var errGone = status.Error(codes.Unavailable, "the hub has gone")

func (f *failing) NewStream(ctx context.Context, _ *grpc.StreamDesc, _ string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	if !f.begins {
		return nil, errGone
	}
	return &failingStream{ctx: ctx}, nil
}

// failingStream takes one message.
type failingStream struct {
	grpc.ClientStream
	ctx  context.Context
	sent int
}

func (s *failingStream) SendMsg(any) error {
	if s.sent++; s.sent > 1 {
		return io.EOF
	}
	return nil
}

func (*failingStream) CloseSend() error     { return nil }
func (*failingStream) Trailer() metadata.MD { return nil }
func (s *failingStream) RecvMsg(any) error {
	time.Sleep(time.Millisecond) // the body has been read by then, or not
	return errGone
}

// TestAFailedCallSpoilsNoLaterRequest: whoever keeps a connection open for many requests is answered after a call that failed.
func TestAFailedCallSpoilsNoLaterRequest(t *testing.T) {
	for _, begins := range []bool{false, true} {
		for _, body := range []string{"", "x", strings.Repeat("x", 3*frame)} {
			t.Run(fmt.Sprintf("begins %t, body of %d", begins, len(body)), func(t *testing.T) {
				calls, err := New(Config{Edge: "edge", Link: &failing{begins: begins}})
				if err != nil {
					t.Fatal(err)
				}
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/call" {
						calls.ServeHTTP(w, r)
						return
					}
					time.Sleep(time.Millisecond)
					_, _ = fmt.Fprint(w, r.Context().Err())
				}))
				defer srv.Close()
				for range 20 {
					if code, _ := ask(t, srv, http.MethodPost, "/call", body); code < 500 {
						t.Fatalf("the call was answered with %d", code)
					}
					if code, text := ask(t, srv, http.MethodGet, "/", ""); code != http.StatusOK || text != "<nil>" {
						t.Fatalf("the next request: %d, its context: %s", code, text)
					}
				}
			})
		}
	}
}

func ask(t *testing.T, srv *httptest.Server, method, path, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	res, err := srv.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // read
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text)
}
