package litesrv

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// statusText returns the message of a Status, "" for any other body.
func statusText(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	var s metav1.Status
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
		t.Fatalf("%v in %q", err, w.Body)
	}
	if s.Kind != "Status" {
		return ""
	}
	return s.Message
}

// bulky returns things whose list is about size bytes.
func bulky(size int) []thing {
	var things []thing
	for i := range max(1, size/10000) {
		rest := fmt.Sprintf(`,"data":{"x":"%s%d"}`, strings.Repeat("0123456789", min(size, 10000)/10-14), i)
		things = append(things, thing{ns: "t1", name: fmt.Sprintf("c%04d", i), rest: rest})
	}
	return things
}

func TestGzipAboveTheThreshold(t *testing.T) {
	for _, c := range []struct {
		size   int
		accept string
		zipped bool
	}{
		{100_000, "gzip", false},
		{140_000, "gzip", true},
		{140_000, "br, gzip", true},
		{140_000, "", false},
		{140_000, "gzip;q=0", false},
		{140_000, "identity", false},
		{1_000_000, "gzip", true}, // several chunks
	} {
		w := newWorld(t, 100)
		w.load(configmaps, bulky(c.size)...)
		s := w.server()
		plain := get(t, s, "/api/v1/configmaps").Body.Bytes()
		answer := get(t, s, "/api/v1/configmaps", "Accept-Encoding", c.accept)
		h := answer.Header()
		if got := h.Get("Content-Encoding") == "gzip"; got != c.zipped || (h.Get("Vary") == "Accept-Encoding") != c.zipped {
			t.Fatalf("%d bytes for %q: %v", len(plain), c.accept, h)
		}
		body := answer.Body.Bytes()
		if c.zipped {
			z, err := gzip.NewReader(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(body, plain) {
			t.Errorf("%d bytes for %q: another body", len(plain), c.accept)
		}
	}
}

func TestListsOfAnySizeAreWhole(t *testing.T) {
	for _, size := range []int{10_000, 190_000, 200_000, 1_000_000, 3_000_000} {
		w := newWorld(t, 100)
		things := bulky(size)
		w.load(configmaps, things...)
		s := w.server()
		var items []string
		for _, x := range things {
			items = append(items, x.item(configmaps, 100))
		}
		whole := list(configmaps, 100, "", items...)
		want(t, get(t, s, "/api/v1/configmaps"), 200, whole)
		var indented bytes.Buffer
		if err := json.Indent(&indented, []byte(strings.TrimSpace(whole)), "", "  "); err != nil {
			t.Fatal(err)
		}
		want(t, get(t, s, "/api/v1/configmaps?pretty=1"), 200, indented.String())
	}
}

// slowWriter is a client that takes its time, as far as its write deadline lets it.
type slowWriter struct {
	http.ResponseWriter
	takes    time.Duration
	deadline time.Time
	writes   int
}

func (w *slowWriter) SetWriteDeadline(d time.Time) error {
	w.deadline = d
	return nil
}

func (w *slowWriter) Write(p []byte) (int, error) {
	w.writes++
	end := time.Now().Add(w.takes)
	if !w.deadline.IsZero() && w.deadline.Before(end) {
		time.Sleep(time.Until(w.deadline))
		return 0, http.ErrHandlerTimeout
	}
	time.Sleep(w.takes)
	return w.ResponseWriter.Write(p)
}

func TestAListIsGivenUpWhenTheClientDoesNotTakeIt(t *testing.T) {
	for takes, whole := range map[time.Duration]bool{time.Minute: true, time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 100)
			w.load(configmaps, bulky(1_000_000)...)
			rec := httptest.NewRecorder()
			slow := &slowWriter{ResponseWriter: rec, takes: takes}
			start := time.Now()
			w.server().ServeHTTP(slow, httptest.NewRequest("GET", "/api/v1/configmaps", nil))
			if got := json.Valid(rec.Body.Bytes()); got != whole {
				t.Errorf("a client that takes a chunk in %v got a whole list: %v", takes, got)
			}
			if !whole && (slow.writes != 1 || time.Since(start) != bodyPatience) {
				t.Errorf("%d writes in %v", slow.writes, time.Since(start))
			}
		})
	}
}

func TestIndenterIsLikeTheStandardLibrary(t *testing.T) {
	for _, doc := range []string{
		`{}`, `[]`, `"a"`, `1`, `null`, `{"a":{}}`, `{"a":[],"b":[[]],"c":[{}]}`, `{"a":"\"{[,:]}\\"}`, `[1,2,[3,{"a":null}]]`,
		` { "a" : [ 1 , 2 ] } `, "{\n}", `{"a":"é\u00e9"}`,
	} {
		checkIndent(t, doc, 1)
		checkIndent(t, doc, 1000)
	}
}

func checkIndent(t *testing.T, doc string, piece int) {
	t.Helper()
	var expect bytes.Buffer
	if err := json.Indent(&expect, []byte(strings.Trim(doc, " \t\r\n")), "", "  "); err != nil {
		t.Fatal(err)
	}
	var got []byte
	var d indenter
	for rest := doc; rest != ""; {
		n := min(piece, len(rest))
		got = d.append(got, []byte(rest[:n]))
		rest = rest[n:]
	}
	if string(got) != expect.String() {
		t.Errorf("%s in pieces of %d:\n got %s\nwant %s", doc, piece, got, expect.String())
	}
}

func FuzzIndenter(f *testing.F) {
	f.Add(`{"a":[1,{"b":"\"{"}],"c":{}}`, 3)
	f.Fuzz(func(t *testing.T, doc string, piece int) {
		if json.Valid([]byte(doc)) {
			checkIndent(t, doc, max(1, piece))
		}
	})
}

func TestStatusOfWrappedErrors(t *testing.T) {
	err := fmt.Errorf("context: %w", errBeyond{apierrors.NewResourceExpired("old"), true})
	if s := statusOf(err); s.Code != http.StatusGone || s.Message != "old" {
		t.Errorf("%+v", s)
	}
	if s := statusOf(io.ErrUnexpectedEOF); s.Code != 500 || s.Reason != metav1.StatusReasonInternalError {
		t.Errorf("%+v", s)
	}
	if s := statusOf(&apierrors.StatusError{}); s.Code != 500 || s.Status != "Failure" || s.Kind != "Status" {
		t.Errorf("%+v", s)
	}
}
