package fleet

import (
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/fleet/wire"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// late is a script at whose end time passes, the edge is woken, and nothing else happens.
type late struct {
	*script
	e     *edge
	woken bool
}

func (l *late) Next() ([]byte, error) {
	m, err := l.script.Next()
	if err == nil || l.woken {
		return m, err
	}
	l.woken = true
	l.e.f.now.Add(int64(maxAckDelay))
	return nil, wire.ErrWoken
}

// acked returns the acks of a session in which the hub sends what a first sync is, and then messages.
func acked(t *testing.T, wait bool, messages ...*tombolov1.SyncResponse) []*tombolov1.Ack {
	t.Helper()
	e := oneEdge(t)
	s := &script{t: t, messages: encoded(t, append(synced(t), messages...))}
	l := &link{e: e, stream: s, opened: func() {}}
	if wait {
		l.stream = &late{script: s, e: e}
	}
	if err := l.run(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	l.close()
	var out []*tombolov1.Ack
	for _, m := range s.sent {
		if m.GetAck() != nil {
			out = append(out, m.GetAck())
		}
	}
	return out[2:] // those of the first sync
}

func TestAcksWaitUnlessTheyMust(t *testing.T) {
	prompt := batch(11, false, put("a", 11))
	prompt.GetBatch().Prompt = true
	gap := batch(11, false, put("a", 11))
	gap.GetBatch().GapFrom = 9
	long := batch(11, false, put("a", 11))
	long.GetBatch().Frame = make([]byte, ackBytes)
	for name, c := range map[string]struct {
		messages []*tombolov1.SyncResponse
		wait     bool
		want     []uint64
	}{
		"an event":                  {[]*tombolov1.SyncResponse{batch(11, false, put("a", 11))}, false, nil},
		"events, later":             {[]*tombolov1.SyncResponse{batch(11, false, put("a", 11)), batch(12, false, removeB(12))}, true, []uint64{12}},
		"an event, then a prompt":   {[]*tombolov1.SyncResponse{prompt, batch(12, false, removeB(12))}, false, []uint64{11}},
		"a step across a gap":       {[]*tombolov1.SyncResponse{gap}, false, []uint64{11}},
		"a part of a step, later":   {[]*tombolov1.SyncResponse{batch(11, true, put("a", 11))}, true, []uint64{0}},
		"only progress":             {[]*tombolov1.SyncResponse{advance(30)}, true, nil},
		"an event, then progress":   {[]*tombolov1.SyncResponse{batch(11, false, put("a", 11)), advance(30)}, true, []uint64{30}},
		"many bytes without a word": {slices.Repeat([]*tombolov1.SyncResponse{advance(30)}, ackBytes/8+1), false, []uint64{0}},
	} {
		var revs []uint64
		for _, a := range acked(t, c.wait, c.messages...) {
			revs = append(revs, a.GetRev())
		}
		if !slices.Equal(revs, c.want) {
			t.Errorf("%s: acks of %d, want %d", name, revs, c.want)
		}
	}
}

// TestEagerAcks: a hub that does not know of acks that may wait gets one for each batch.
func TestEagerAcks(t *testing.T) {
	w := welcome()
	w.GetWelcome().Capabilities = nil
	messages := append([]*tombolov1.SyncResponse{w}, synced(t)[1:]...)
	sent, err := play(t, oneEdge(t), append(messages, batch(11, false, put("a", 11)), batch(12, false, removeB(12)))...)
	if want := []uint64{0, 9, 11, 12}; !errors.Is(err, io.EOF) || !slices.Equal(acks(sent), want) {
		t.Errorf("acks are %d, want %d: %v", acks(sent), want, err)
	}
	e := oneEdge(t)
	s := &script{t: t}
	l := &link{e: e, stream: s, opened: func() {}}
	for id := range uint32(3) {
		e.replicas = append(e.replicas, &replica{id: id + 1, rev: 20 + uint64(id), moved: true})
	}
	if err := l.ack(); err != nil {
		t.Fatal(err)
	}
	for _, m := range s.sent {
		if len(m.GetAck().GetAlso()) > 0 {
			t.Errorf("%v is of several positions", m)
		}
	}
	if len(s.sent) != 3 {
		t.Errorf("sent %v", s.sent)
	}
}

func TestAnAckTellsAllPositionsAndBytes(t *testing.T) {
	other := subscribe(tombolov1.Plan_PLAN_RESUME)
	other.GetSubscription().Resource.Resource, other.GetSubscription().Id = "things", 2
	second := batch(13, false)
	second.GetBatch().Subscription = 2
	messages := []*tombolov1.SyncResponse{other, batch(11, false, put("a", 11)), second}
	acks := acked(t, true, messages...)
	bytes := 0
	for _, raw := range encoded(t, append(synced(t), messages...)) {
		bytes += len(raw)
	}
	if len(acks) != 1 || acks[0].GetSubscription() != 1 || acks[0].GetRev() != 11 || len(acks[0].GetAlso()) != 1 ||
		acks[0].GetAlso()[0].GetRev() != 13 || acks[0].GetReceivedBytes() != uint64(bytes) {
		t.Errorf("%v, want %d bytes", acks, bytes)
	}
}
