//go:build e2e

package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// frame is one event of a watch.
type frame struct {
	typ    string
	rev    uint64
	key    string // of the object; "" for a row without it
	marked bool   // the bookmark at the end of the initial events
	text   string // the object, as it is compared
}

// compareWatch follows the same watch at both. Both must tell all that was written up to a moment, early enough before
// their end.
func (d *differ) compareWatch(ctx context.Context, p inquiry) error {
	mark := make(chan uint64, 1)
	timer := time.AfterFunc(watchMark, func() { mark <- d.written.Load() })
	defer timer.Stop()
	var begun atomic.Uint64 // both watches have surely begun when this is set
	defer time.AfterFunc(watchMark/2, func() { begun.Store(d.written.Load()) }).Stop()
	cloud, edge, err := d.both(ctx, p)
	if err != nil {
		return err
	}
	if err := sameHead(cloud, edge); err != nil {
		return err
	}
	if cloud.status != http.StatusOK {
		return sameAnswer(cloud, edge)
	}
	want, err := framesOf(cloud)
	if err != nil {
		return fmt.Errorf("cloud: %w", err)
	}
	got, err := framesOf(edge)
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	if timer.Stop() { // both ended before the mark, with an error
		mark <- 0
	}
	d.events.Add(int64(len(got)))
	from := uint64(0)
	if !p.asked || p.zero { // each begins at a moment of its own
		from = begun.Load()
	}
	return sameFrames(p.initial, want, got, from, <-mark)
}

// sameFrames compares what two streams tell behind the revision from and up to upto. Of streams that begin with what is there, the states
// that they lead to are compared: their beginnings are of different moments.
func sameFrames(initial bool, want, got []frame, from, upto uint64) error {
	if w, g := failure(want), failure(got); w != g {
		return fmt.Errorf("in the stream %q, want %q", g, w)
	}
	if w, g := marks(want), marks(got); w != g {
		return fmt.Errorf("%d marked bookmarks, want %d", g, w)
	}
	if initial {
		return sameTexts(fold(want, upto), fold(got, upto))
	}
	return sameTexts(between(want, from, upto), between(got, from, upto))
}

func sameTexts(want, got []string) error {
	for i := range max(len(want), len(got)) {
		switch {
		case i >= len(got):
			return fmt.Errorf("%d events, want %d: %.500s is missing", len(got), len(want), want[i])
		case i >= len(want):
			return fmt.Errorf("%d events, want %d: %.500s is too much", len(got), len(want), got[i])
		case want[i] != got[i]:
			return fmt.Errorf("event %d: %s", i, firstDifference(got[i], want[i]))
		}
	}
	return nil
}

// failure is the text of the ERROR that ended a stream.
func failure(all []frame) string {
	for _, f := range all {
		if f.typ == "ERROR" {
			return f.text
		}
	}
	return ""
}

func marks(all []frame) (n int) {
	for _, f := range all {
		if f.marked {
			n++
		}
	}
	return n
}

// between are the events, no bookmarks, with revisions behind from and up to upto.
func between(all []frame, from, upto uint64) (texts []string) {
	for _, f := range all {
		if f.typ != "BOOKMARK" && f.typ != "ERROR" && from < f.rev && f.rev <= upto {
			texts = append(texts, f.typ+" "+f.text)
		}
	}
	return texts
}

// fold is the state that the events with revisions up to upto lead to.
func fold(all []frame, upto uint64) (texts []string) {
	state := map[string]string{}
	for _, f := range all {
		switch {
		case f.rev > upto:
		case f.typ == "ADDED" || f.typ == "MODIFIED":
			state[f.key] = f.text
		case f.typ == "DELETED":
			delete(state, f.key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(state)) {
		texts = append(texts, state[key])
	}
	return texts
}

// framesOf reads the events of a stream that has ended.
func framesOf(a answer) ([]frame, error) {
	if strings.Contains(a.header.Get("Content-Type"), "protobuf") {
		return protobufFrames(a.body)
	}
	var all []frame
	for _, line := range bytes.SplitAfter(a.body, []byte("\n")) {
		if len(line) == 0 {
			continue
		}
		var e struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%w in %.300s", err, line)
		}
		f := frame{
			typ: e.Type, text: withoutColumns(normalize(e.Object)), key: keyOf(e.Object),
			marked: bytes.Contains(line, []byte("initial-events-end")),
		}
		if f.rev = listRevision(answer{body: e.Object}); f.rev == 0 && e.Type != "ERROR" {
			return nil, fmt.Errorf("no revision in %.300s", line)
		}
		all = append(all, f)
	}
	return all, nil
}

// keyOf is the key of an object, or of the one in a table's only row.
func keyOf(object []byte) string {
	type meta struct{ Namespace, Name string }
	var o struct {
		Metadata meta
		Rows     []struct{ Object struct{ Metadata meta } }
	}
	if json.Unmarshal(object, &o) != nil {
		return ""
	}
	if len(o.Rows) == 1 {
		o.Metadata = o.Rows[0].Object.Metadata
	}
	return o.Metadata.Namespace + "/" + o.Metadata.Name
}

// withoutColumns removes the column definitions of a table, which a server may repeat: it shares encoded events between
// watchers.
func withoutColumns(line string) string {
	from := strings.Index(line, `"columnDefinitions":[`)
	to := strings.Index(line, `],"rows":[`)
	if from < 0 || to < from {
		return line
	}
	return line[:from] + `"columnDefinitions":null` + line[to+1:]
}

// protobufFrames reads a stream of length-prefixed WatchEvents.
func protobufFrames(body []byte) ([]frame, error) {
	var all []frame
	for len(body) > 0 {
		if len(body) < 4 || uint32(len(body)-4) < binary.BigEndian.Uint32(body) {
			return nil, fmt.Errorf("a frame is cut short: %d bytes are left", len(body))
		}
		n := binary.BigEndian.Uint32(body)
		event := body[4 : 4+n]
		body = body[4+n:]
		object := unknownRaw(field(field(event, 2), 1))
		f := frame{
			typ: string(field(event, 1)), text: normalize(object), rev: number(field(field(object, 1), 6)),
			key:    string(field(field(object, 1), 3)) + "/" + string(field(field(object, 1), 1)),
			marked: bytes.Contains(object, []byte("initial-events-end")),
		}
		all = append(all, f)
	}
	return all, nil
}

// protobufListRevision is the revision in the metadata of a list.
func protobufListRevision(body []byte) uint64 { return number(field(field(unknownRaw(body), 1), 2)) }

// unknownRaw is what a runtime.Unknown with its magic number holds.
func unknownRaw(body []byte) []byte { return field(bytes.TrimPrefix(body, []byte("k8s\x00")), 2) }

// field is the first length-delimited field of a message with a number; nil when there is none.
func field(message []byte, want protowire.Number) []byte {
	for len(message) > 0 {
		num, typ, n := protowire.ConsumeTag(message)
		if n < 0 {
			return nil
		}
		message = message[n:]
		if num == want && typ == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			return value
		}
		if n = protowire.ConsumeFieldValue(num, typ, message); n < 0 {
			return nil
		}
		message = message[n:]
	}
	return nil
}

// decompressed undoes a Content-Encoding. Streams may have several gzip members.
func decompressed(h http.Header, body []byte) ([]byte, error) {
	if h.Get("Content-Encoding") != "gzip" || len(body) == 0 { // a stream that was ended before anything was sent
		return body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	out, err := io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}
	return out, nil
}
