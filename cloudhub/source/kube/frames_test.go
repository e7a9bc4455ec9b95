package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// silent is the health of requests that nobody follows.
type silent struct{ errs []error }

func (s *silent) requestFailed(err error)  { s.errs = append(s.errs, err) }
func (s *silent) resuming(context.Context) {}
func (s *silent) resumed()                 {}
func (s *silent) redefined()               {}
func (s *silent) rewound(error)            {}

func podResource() *watchlog.Resource {
	return &watchlog.Resource{Version: "v1", Name: "pods", Kind: "Pod", ListKind: "PodList", Namespaced: true}
}

// framesOf returns the decoder of a watch response.
func framesOf(body io.Reader) (*frames, *silent) {
	r, health := podResource(), &silent{}
	lw := &listWatch{resource: r, dec: watchlog.NewDecoder(r), health: health, relist: &relist{}}
	ctx, cancel := context.WithCancel(context.Background())
	return newFrames(ctx, cancel, io.NopCloser(body), lw), health
}

func podJSON(name string, rev, size int) string {
	return fmt.Sprintf(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":%q,"namespace":"ns","resourceVersion":"%d"},"x":%q}`,
		name, rev, strings.Repeat("x", size))
}

func TestFramesOfAnySizeKeepTheirBytes(t *testing.T) {
	var body bytes.Buffer
	sizes := []int{0, 10, 64<<10 - 150, 64 << 10, 200 << 10, 5 << 20, 20}
	for i, n := range sizes {
		fmt.Fprintf(&body, "{\"type\":\"ADDED\",\"object\":%s}\n", podJSON(fmt.Sprint(i), i+1, n))
	}
	f, _ := framesOf(&body)
	for i, n := range sizes {
		kind, object, err := f.Decode()
		if err != nil || kind != watch.Added {
			t.Fatalf("frame %d: %s, %v", i, kind, err)
		}
		if got := string(object.(item).object.JSON()); got != podJSON(fmt.Sprint(i), i+1, n) {
			t.Errorf("frame %d: %d bytes differ", i, len(got))
		}
	}
	if _, _, err := f.Decode(); !errors.Is(err, io.EOF) {
		t.Errorf("end: %v", err)
	}
}

func TestHowAWatchEndsDecidesWhetherItResumes(t *testing.T) {
	event := `{"type":"ADDED","object":` + podJSON("a", 1, 0) + "}\n"
	for name, c := range map[string]struct {
		body    string
		initial bool
		asked   bool
		want    error // nil: an ERROR event that makes the reflector resume
		reports int
	}{
		"in order":                   {body: event, want: io.EOF},
		"in the middle of an event":  {body: event + event[:20], want: io.ErrUnexpectedEOF, reports: 1},
		"before any event":           {body: "", want: nil},
		"in the first event":         {body: event[:20], want: nil, reports: 1},
		"within the initial events":  {body: event, initial: true, want: errEndedEarly, reports: 1},
		"behind the initial events":  {body: event + endMark, initial: true, want: nil},
		"in the first live event":    {body: event + endMark + event[:20], initial: true, want: nil, reports: 1},
		"behind a live event":        {body: event + endMark + event, initial: true, want: io.EOF},
		"behind a periodic bookmark": {body: event + mark, initial: true, want: errEndedEarly, reports: 1},
		"given up":                   {body: event, asked: true, want: errAsked},
	} {
		t.Run(name, func(t *testing.T) {
			f, health := framesOf(strings.NewReader(c.body))
			f.initial = c.initial
			if c.asked {
				f.lw.relist.ask()
			}
			var kind watch.EventType
			var object runtime.Object
			var err error
			for err == nil && kind != watch.Error {
				kind, object, err = f.Decode()
			}
			if c.want == nil && !apierrors.IsTooManyRequests(apierrors.FromObject(object)) {
				t.Errorf("ended with %s %v, want a 429", kind, object)
			}
			if !errors.Is(err, c.want) || len(health.errs) != c.reports {
				t.Errorf("ended with %v (%v reported), want %v", err, health.errs, c.want)
			}
		})
	}
}

const (
	mark    = `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7"}}}` + "\n"
	endMark = `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"7",` +
		`"annotations":{"k8s.io/initial-events-end":"true"}}}}` + "\n"
)

func TestErrorsInFramesAreReported(t *testing.T) {
	for _, line := range []string{
		"\n", "null\n", "{}\n", `{"type":"ADDED"}` + "\n", `{"type":"ADDED","object":null}` + "\n",
		`{"type":"MOVED","object":{}}` + "\n", `{"type":"ADDED","object":{"metadata":{}}}` + "\n",
		`{"type":"BOOKMARK","object":7}` + "\n", `{"type":"ERROR","object":7}` + "\n", "garbage\n",
		`{"type":"ADDED","object":` + podJSON("a", 1, 0) + `,"object":{}}` + "\n", `{"type":"` + "\n",
	} {
		f, health := framesOf(strings.NewReader(line))
		if kind, object, err := f.Decode(); err == nil || errors.Is(err, io.EOF) || len(health.errs) != 1 {
			t.Errorf("%q: %s %v, %v, %v reported", line, kind, object, err, health.errs)
		}
	}
}

func TestUnusualFrameLayoutsAreUnderstood(t *testing.T) {
	object := podJSON("a", 1, 0)
	for _, line := range []string{
		`{"object":` + object + `,"type":"DELETED"}`,
		`{ "type": "DELETED", "object": ` + object + ` }`,
		`{"type":"DELETED","object":` + object + "}\r",
	} {
		f, _ := framesOf(strings.NewReader(line + "\n"))
		kind, got, err := f.Decode()
		if err != nil || kind != watch.Deleted || string(got.(item).object.JSON()) != object {
			t.Errorf("%q: %s %v, %v", line, kind, got, err)
		}
	}
}

func TestEndlessLineIsAnError(t *testing.T) {
	f, _ := framesOf(endless{})
	if _, _, err := f.Decode(); !errors.Is(err, errTooLong) {
		t.Errorf("%v", err)
	}
}

// endless never comes to the end of its line.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = 'x'
	}
	return len(b), nil
}

// What the fast path takes for an event must be what a JSON decoder sees.
func FuzzSplitFrame(f *testing.F) {
	f.Add([]byte(`{"type":"ADDED","object":{"a":1}}`))
	f.Add([]byte(`{"object":{"a":1},"type":"ADDED"}`))
	f.Add([]byte(`{"type":"ADDED","object":{"a":"\",\"object\":"}}`))
	f.Add([]byte(`{"type":"ADDED","object":{},"Object":{}}`))
	f.Add([]byte(`{"type":"\u0041","object":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		kind, raw, err := splitFrame(bytes.TrimSpace(line))
		if err != nil || !json.Valid(raw) || !utf8.ValidString(string(kind)) {
			return
		}
		var want metav1.WatchEvent
		if err := json.Unmarshal(line, &want); err != nil {
			return // the event's envelope; its object is the decoder's part
		}
		if string(kind) != want.Type || !bytes.Equal(bytes.TrimSpace(raw), bytes.TrimSpace(want.Object.Raw)) {
			t.Errorf("%q: %s %s, want %s %s", line, kind, raw, want.Type, want.Object.Raw)
		}
	})
}

// BenchmarkLiveEvent is the way of one event of 9 KB from the socket's buffer into the log.
func BenchmarkLiveEvent(b *testing.B) {
	log := watchlog.New(podResource(), watchlog.Config{})
	s := &logStore{log: log, relist: &relist{}, events: nobody{}, past: &past{}}
	if err := s.Replace(nil, "1"); err != nil {
		b.Fatal(err)
	}
	f, _ := framesOf(newVersions(1_000_000_000, 9000))
	b.ReportAllocs()
	b.SetBytes(9000)
	for b.Loop() {
		_, object, err := f.Decode()
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Update(object); err != nil {
			b.Fatal(err)
		}
	}
}

// versions is a watch that has a new version of one object whenever it is read.
type versions struct {
	frame []byte
	rest  []byte
	rev   int
}

func newVersions(rev, size int) *versions {
	return &versions{frame: fmt.Appendf(nil, "{\"type\":\"MODIFIED\",\"object\":%s}\n", podJSON("a", rev, size)), rev: rev}
}

func (v *versions) Read(b []byte) (int, error) {
	if len(v.rest) == 0 {
		was := strconv.Itoa(v.rev)
		v.rev++
		copy(v.frame[bytes.Index(v.frame, []byte(`"`+was+`"`))+1:], strconv.Itoa(v.rev))
		v.rest = v.frame
	}
	n := copy(b, v.rest)
	v.rest = v.rest[n:]
	return n, nil
}

// nobody hears what a store did.
type nobody struct{}

func (nobody) stored()                 {}
func (nobody) replaced(int, int, bool) {}
func (nobody) lost(err error)          { panic(err) }
func (nobody) rewound(err error)       { panic(err) }
