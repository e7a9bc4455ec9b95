package litesrv

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// members returns what each gzip member of a text holds.
func members(t *testing.T, text string) []string {
	t.Helper()
	var all []string
	in := strings.NewReader(text)
	for in.Len() > 0 {
		z, err := gzip.NewReader(in)
		if err != nil {
			t.Fatalf("behind %d members: %v", len(all), err)
		}
		z.Multistream(false)
		part, err := io.ReadAll(z)
		if err != nil {
			t.Fatalf("member %d: %v", len(all), err)
		}
		all = append(all, string(part))
	}
	return all
}

// wantsMember checks that what came since the last look is one whole gzip member with these frames.
func (w *watcher) wantsMember(what string, frames ...string) {
	w.t.Helper()
	got := members(w.t, w.next())
	if len(got) != 1 || got[0] != strings.Join(frames, "") {
		w.t.Errorf("%s:\n got %q\nwant one member of %q", what, got, frames)
	}
}

var gzipAccepted = http.Header{"Accept-Encoding": {"gzip"}}

func TestEachFlushOfAWatchListIsAGzipMember(t *testing.T) {
	for _, query := range []string{
		"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan", "", "&resourceVersion=0", // the last are watch lists in disguise
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 100)
			l := w.load(configmaps, thing{ns: "t1", name: "c1"}, thing{ns: "t1", name: "c2"})
			watcher := openWith(t, w.server(), "/api/v1/configmaps?watch=1&allowWatchBookmarks=1"+query, false, gzipAccepted)
			h := watcher.header
			if h.Get("Content-Encoding") != "gzip" || h.Get("Vary") != "Accept-Encoding" || h.Get("Content-Type") != "application/json" {
				t.Errorf("%s: %v", query, h)
			}
			watcher.wantsMember("initial events", frame("ADDED", cm("t1", "c1", 100)), frame("ADDED", cm("t1", "c2", 100)), bookmark(100, true))
			rev := w.write(l, thing{ns: "t1", name: "c1"})
			watcher.wantsMember("an event", frame("MODIFIED", cm("t1", "c1", rev)))
			w.write(l, thing{ns: "t1", name: "c2"})
			watcher.wantsMember("another", frame("MODIFIED", cm("t1", "c2", rev+1)))
			time.Sleep(time.Minute)
			watcher.wantsMember("a bookmark", bookmark(rev+1, false))
			watcher.leave()
			watcher.wants("the end")
		})
	}
}

func TestPlainWatchesAreNotCompressed(t *testing.T) {
	for _, query := range []string{
		"&resourceVersion=99&allowWatchBookmarks=1",
		"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan",
		"&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=99&allowWatchBookmarks=1",
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 99)
			w.write(w.load(configmaps), thing{ns: "t1", name: "c1"})
			watcher := openWith(t, w.server(), "/api/v1/configmaps?watch=1"+query, false, gzipAccepted)
			defer watcher.leave()
			watcher.wants(query, frame("ADDED", cm("t1", "c1", 100)))
			if h := watcher.header; h.Get("Content-Encoding") != "" || h.Get("Vary") != "" {
				t.Errorf("%s: %v", query, h)
			}
		})
	}
}

func TestAFaultOfACompressedWatchIsCompressed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		w.load(configmaps)
		watcher := openWith(t, w.server(), "/api/v1/configmaps?watch=1&allowWatchBookmarks=1&sendInitialEvents=true&"+
			"resourceVersionMatch=NotOlderThan&resourceVersion=110", false, gzipAccepted)
		time.Sleep(3 * time.Second)
		watcher.wantsMember("a future revision", errorFrame(failure(504, "Timeout",
			"Timeout: Too large resource version: 110, current: 100", futureStatus)))
		if !watcher.ended() {
			t.Error("the watch goes on")
		}
	})
}

// TestGoReadsACompressedEventAtOnce is about a client that shows nothing of a gzip member before it has seen more than its
// data: it must not have to wait for the next event.
func TestGoReadsACompressedEventAtOnce(t *testing.T) {
	w := newWorld(t, 100)
	l := w.load(configmaps, thing{ns: "t1", name: "c1"})
	ts := serve(t, w.server(), false)
	resp, _ := request(t, ts, "/api/v1/configmaps?watch=1&allowWatchBookmarks=1")
	if !resp.Uncompressed {
		t.Fatal("the watch list is not compressed")
	}
	lines := bufio.NewScanner(resp.Body)
	for _, want := range []string{
		frame("ADDED", cm("t1", "c1", 100)), bookmark(100, true), frame("MODIFIED", cm("t1", "c1", 101)), frame("MODIFIED", cm("t1", "c1", 102)),
	} {
		if strings.Contains(want, "MODIFIED") {
			w.write(l, thing{ns: "t1", name: "c1"})
		}
		if !lines.Scan() || lines.Text()+"\n" != want {
			t.Fatalf("got %q, want %q", lines.Text(), want)
		}
	}
}

// TestAGzipWriterIsHeldOnlyWhileThereIsSomethingToSend looks at what an outlet keeps.
func TestAGzipWriterIsHeldOnlyWhileThereIsSomethingToSend(t *testing.T) {
	w := &watcher{t: t, header: http.Header{}}
	o := newOutlet(w)
	o.gzip = true
	for i := range 3 {
		b := o.buffer()
		*b = append(*b, strings.Repeat(fmt.Sprint(i), outletChunk)...)
		o.spill()
		if o.zip == nil {
			t.Fatal("a chunk was not compressed")
		}
		o.flush()
		if o.zip != nil {
			t.Error("a writer is held behind a flush")
		}
		o.release()
	}
	if got := members(t, w.written.String()); len(got) != 3 {
		t.Errorf("%d members, want 3", len(got))
	}
	b := o.buffer()
	*b = append(*b, make([]byte, outletChunk)...)
	o.spill()
	o.release()
	if o.zip != nil {
		t.Error("a writer is held behind the end")
	}
}
