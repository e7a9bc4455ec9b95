// Package link is a link that can be cut: a TCP relay between an edge and its hub, so that offline reading can be seen.
package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Link relays connections to one address.
type Link struct {
	lis net.Listener
	to  string

	mu    sync.Mutex // guards all below
	cut   bool
	conns map[net.Conn]struct{} // both ends of what is relayed
	wg    sync.WaitGroup
}

// New returns a link to an address, listening on a free loopback port. It relays nothing before Run.
func New(ctx context.Context, to string) (*Link, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link: %w", err)
	}
	return &Link{lis: lis, to: to, conns: map[net.Conn]struct{}{}}, nil
}

// Addr is where to connect to.
func (l *Link) Addr() string { return l.lis.Addr().String() }

// Run relays until ctx ends.
func (l *Link) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		_ = l.lis.Close() // Accept reports it
		l.Set(true)
	})
	defer stop()
	for {
		in, err := l.lis.Accept()
		if err != nil {
			l.wg.Wait()
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("link: %w", err)
		}
		l.wg.Go(func() { l.relay(ctx, in) })
	}
}

// Set cuts the link, at once for what is relayed already, or heals it.
func (l *Link) Set(cut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = cut
	if !cut {
		return
	}
	for c := range l.conns {
		_ = c.Close() // the copies end with it
	}
}

// IsCut tells whether the link is cut.
func (l *Link) IsCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}

func (l *Link) relay(ctx context.Context, in net.Conn) {
	defer l.drop(in)
	if !l.keep(in) {
		return
	}
	out, err := (&net.Dialer{}).DialContext(ctx, "tcp", l.to)
	if err != nil {
		return // the edge sees its connection end, and tries again
	}
	defer l.drop(out)
	if !l.keep(out) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		l.pipe(out, in)
	}()
	l.pipe(in, out)
	<-done
}

// pipe copies until either side ends, and ends both.
func (l *Link) pipe(to, from net.Conn) {
	_, _ = io.Copy(to, from) // a cut link is no error
	_ = to.Close()
	_ = from.Close()
}

// keep notes a connection; false when the link is cut.
func (l *Link) keep(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		return false
	}
	l.conns[c] = struct{}{}
	return true
}

func (l *Link) drop(c net.Conn) {
	_ = c.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}
