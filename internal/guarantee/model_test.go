package guarantee

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// run is a correct history made by models, settled.
type run struct {
	h                         *History
	c                         *cloud
	source, strict, coalesced *Reader
	lister                    *Reader
}

// newRun plays a random history: writers, a reader of the cloud, and readers of an edge with a selector.
// A steady source sees every change go by.
func newRun(seed uint64, steady bool) *run {
	rng := rand.New(rand.NewPCG(seed, 1))
	h := NewHistory()
	u := &run{h: h, c: newCloud(h, rng)}
	u.source = h.Reader(ReaderConfig{Name: "source", Server: "cloud", Resource: resource, Source: true})
	u.strict = h.Reader(ReaderConfig{Name: "strict", Server: "edge-1", Resource: resource, Match: inTeamA})
	u.coalesced = h.Reader(ReaderConfig{Name: "coalesced", Server: "edge-3", Resource: resource, Match: inTeamA, Coalesced: true})
	u.lister = h.Reader(ReaderConfig{Name: "lister", Server: "edge-2", Resource: resource, Match: inTeamA})
	clients := []*client{{r: u.source, c: u.c, steady: steady}, {r: u.strict, c: u.c, match: inTeamA}, {r: u.coalesced, c: u.c, match: inTeamA}}
	clients[0].start()
	for range 150 {
		if rng.IntN(2) == 0 {
			u.c.write()
		}
		if rng.IntN(100) == 0 {
			h.Restarted("edge-1")
			h.Restarted("edge-2")
		}
		if rng.IntN(10) == 0 {
			u.read()
		}
		clients[rng.IntN(len(clients))].step()
	}
	for _, k := range clients {
		k.settle()
	}
	u.read()
	h.Settle(u.c.rv)
	return u
}

// read lists, now or in the past, and gets an object.
func (u *run) read() {
	rng := u.c.rng
	began := u.lister.Begin()
	u.lister.Listed(u.c.rv, u.c.list(inTeamA), Answer{Began: began})
	if len(u.c.log) > 0 {
		past := u.c.log[rng.IntN(len(u.c.log))].rv
		v := view{objects: u.c.stateAt(past, inTeamA)}
		u.lister.Listed(past, v.list(), Answer{Began: u.lister.Begin(), Exact: true})
	}
	began = u.lister.Begin()
	key := fmt.Sprintf("ns/cm-%02d", rng.IntN(12))
	o := u.c.objects[key]
	if !admits(inTeamA, o) {
		o = Object{Key: key}
	}
	u.lister.Got(o, Answer{Began: began})
}

func TestCorrectHistoriesHaveNoViolation(t *testing.T) {
	for seed := range uint64(100) {
		u := newRun(seed, seed%2 == 0)
		if events, _ := u.strict.Len(); events == 0 {
			t.Fatalf("seed %d: no events, the history tells nothing", seed)
		}
		for _, v := range u.h.Check() {
			t.Errorf("seed %d: %v", seed, v)
		}
		if t.Failed() {
			return
		}
	}
}

func TestCatchUpAfterTheLastWrite(t *testing.T) {
	u := newRun(7, false)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, r := range []*Reader{u.source, u.strict, u.coalesced} {
		if err := r.CatchUp(ctx); err != nil {
			t.Error(err)
		}
	}
}
