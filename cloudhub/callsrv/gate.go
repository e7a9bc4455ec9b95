package callsrv

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// gate counts the calls under way and lets in no more than it may.
type gate struct {
	perEdge, all int

	mu     sync.Mutex // guards all below
	edges  map[string]int
	total  int
	closed bool
	empty  chan struct{} // closed once the gate is closed and nobody is inside
}

func newGate(perEdge, all int) *gate {
	return &gate{perEdge: perEdge, all: all, edges: map[string]int{}, empty: make(chan struct{})}
}

// enter lets a call of an edge in; leave must be called when it ends. Errors are statuses.
func (g *gate) enter(edge string) (leave func(), err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.closed:
		return nil, status.Error(codes.Unavailable, "the hub is shutting down")
	case g.edges[edge] >= g.perEdge:
		return nil, status.Errorf(codes.ResourceExhausted, "%d calls of edge %s are under way, the hub takes no more", g.edges[edge], edge)
	case g.total >= g.all:
		return nil, status.Errorf(codes.ResourceExhausted, "%d calls are under way, the hub takes no more", g.total)
	}
	g.edges[edge]++
	g.total++
	return func() { g.leave(edge) }, nil
}

func (g *gate) leave(edge string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.edges[edge]--; g.edges[edge] == 0 {
		delete(g.edges, edge)
	}
	g.total--
	g.checkEmptyLocked()
}

// close lets nobody in any more.
func (g *gate) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		g.checkEmptyLocked()
	}
}

func (g *gate) checkEmptyLocked() {
	if g.closed && g.total == 0 {
		close(g.empty)
	}
}
