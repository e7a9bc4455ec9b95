package litesrv

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// protobufGolden is what kube-apiserver 1.37.2 answered in protobuf about one resource, recorded by
// internal/e2e/protobuf.
type protobufGolden struct {
	golden
	Resource         watchlog.Resource
	Answers, Watches []protobufAnswer
}

// protobufAnswer is the answer to one request.
type protobufAnswer struct {
	Path, Accept string
	Code         int
	Type         string
	Body         []byte
	Rev          uint64 // the position that it was answered from, 0 for that of the golden
}

func readProtobufGoldens(t *testing.T) map[string]*protobufGolden {
	t.Helper()
	path := os.Getenv("TOMBOLO_GOLDENS")
	if path == "" {
		path = "testdata/protobuf.json"
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]*protobufGolden
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestProtobufGoldens compares objects, lists, errors and watches with kube-apiserver's, byte for byte.
func TestProtobufGoldens(t *testing.T) {
	for name, g := range readProtobufGoldens(t) {
		for _, a := range g.Answers {
			t.Run(name+" "+a.Path+" "+a.Accept, func(t *testing.T) { g.compare(t, a, false) })
		}
		for _, a := range g.Watches {
			t.Run(name+" "+a.Path+" "+a.Accept, func(t *testing.T) { g.compare(t, a, true) })
		}
	}
}

// compare has a request answered, a watch from a revision behind the events that follow it.
func (g *protobufGolden) compare(t *testing.T, want protobufAnswer, watch bool) {
	synctest.Test(t, func(t *testing.T) {
		at := g.golden
		if want.Rev != 0 {
			at.Rev = want.Rev
		}
		w, l := at.world(t, &g.Resource)
		if watch && want.Rev == 0 && !strings.Contains(want.Path, "resourceVersion=0") {
			g.replay(t, w, l)
		}
		got := get(t, w.server(), want.Path, "Accept", want.Accept, "User-Agent", "x")
		body := bytes.TrimSuffix(got.Body.Bytes(), []byte("\n"))
		if got.Code != want.Code || got.Header().Get("Content-Type") != want.Type || !bytes.Equal(body, want.Body) {
			t.Errorf("\n got %d %s %q\nwant %d %s %q",
				got.Code, got.Header().Get("Content-Type"), body, want.Code, want.Type, want.Body)
		}
	})
}
