package link

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Link forwards TCP connections to one address. Its methods may be called at the same time.
type Link struct {
	Addr string // where to connect to, 127.0.0.1:PORT

	target   string
	listener net.Listener
	accepted sync.WaitGroup // all goroutines
	carried  atomic.Int64   // bytes forwarded, both ways
	opened   atomic.Int64   // connections accepted while up

	mu      sync.Mutex // guards everything below
	state   state
	delay   time.Duration
	late    time.Duration // of connections accepted from now on
	changed chan struct{} // closed and renewed when state changes
	conns   map[net.Conn]struct{}
	closed  bool
	ended   chan struct{} // closed with the link
}

type state uint8

const (
	up state = iota
	cut
	blackHoled
)

// New starts a link to target, healthy, on a port of its own.
func New(target string) (*Link, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("link to %s: %w", target, err)
	}
	l := &Link{
		Addr: listener.Addr().String(), target: target, listener: listener,
		changed: make(chan struct{}), conns: map[net.Conn]struct{}{}, ended: make(chan struct{}),
	}
	l.accepted.Add(1)
	go l.accept()
	return l, nil
}

// Cut resets every connection, and every new one at once.
func (l *Link) Cut() { l.become(cut, true) }

// BlackHole keeps connections open and accepts new ones, and lets nothing through: what
// was sent meanwhile arrives after Heal, as on a link that lost packets for a while.
func (l *Link) BlackHole() { l.become(blackHoled, false) }

// Heal makes the link work again.
func (l *Link) Heal() { l.become(up, false) }

// Reset resets every connection; new ones work.
func (l *Link) Reset() { l.become(up, true) }

// Delay holds every chunk of data back for that long, each way; 0 ends it.
func (l *Link) Delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

// Late holds back, for that long, what the clients of connections to come send after their first chunk, also when they give
// up meanwhile: what an old connection sent arrives after a new one has done its work. 0 ends it for connections to come.
func (l *Link) Late(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.late = d
}

// Carried returns how many bytes went through since the start, both ways together.
func (l *Link) Carried() int64 { return l.carried.Load() }

// Opened returns how many connections were accepted since the start while the link was not cut.
func (l *Link) Opened() int64 { return l.opened.Load() }

// Close ends the link and returns when all its goroutines have.
func (l *Link) Close() error {
	l.mu.Lock()
	if !l.closed {
		close(l.ended)
	}
	l.closed = true
	l.mu.Unlock()
	err := l.listener.Close()
	l.become(cut, true)
	l.accepted.Wait()
	if err != nil {
		return fmt.Errorf("link to %s: %w", l.target, err)
	}
	return nil
}

func (l *Link) become(s state, reset bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.state = s
	close(l.changed)
	l.changed = make(chan struct{})
	if reset {
		for conn := range l.conns {
			abort(conn)
		}
	}
}

// abort closes a connection with a reset, so that the peer doesn't take it for an orderly end.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func (l *Link) accept() {
	defer l.accepted.Done()
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return // closed
		}
		if !l.register(conn) {
			abort(conn)
			continue
		}
		l.opened.Add(1)
		l.accepted.Add(1)
		go l.serve(conn)
	}
}

// register notes a connection to be reset by Cut; false when the link is cut already.
func (l *Link) register(conn net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == cut || l.closed {
		return false
	}
	l.conns[conn] = struct{}{}
	return true
}

// serve forwards one connection both ways until either way ends.
func (l *Link) serve(near net.Conn) {
	defer l.accepted.Done()
	defer l.drop(near)
	if l.pass() != nil {
		return
	}
	far, err := net.Dial("tcp", l.target)
	if err != nil {
		return
	}
	defer l.drop(far)
	if !l.register(far) {
		return
	}
	l.mu.Lock()
	late := l.late
	l.mu.Unlock()
	var ways sync.WaitGroup
	if late > 0 {
		ways.Go(func() { l.trail(far, near, late) })
		ways.Go(func() { _, _ = io.Copy(outlet{l, near}, far) })
	} else {
		ways.Go(func() { l.pump(far, near) })
		ways.Go(func() { l.pump(near, far) })
	}
	ways.Wait()
}

// drop forgets and resets a connection.
func (l *Link) drop(conn net.Conn) {
	l.mu.Lock()
	delete(l.conns, conn)
	l.mu.Unlock()
	abort(conn)
}

// pump forwards one way. When it ends the other way is ended too.
func (l *Link) pump(to, from net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			if l.pass() != nil {
				break
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				break
			}
			l.carried.Add(int64(n))
		}
		if err != nil {
			break
		}
	}
	_ = from.Close()
	_ = to.Close()
}

var errCut = errors.New("link is cut")

// pass waits until data may go through.
func (l *Link) pass() error {
	for {
		l.mu.Lock()
		s, delay, changed := l.state, l.delay, l.changed
		l.mu.Unlock()
		switch s {
		case cut:
			return errCut
		case up:
			if delay > 0 {
				time.Sleep(delay)
			}
			return nil
		}
		<-changed // Close changes it too
	}
}

var _ io.Closer = (*Link)(nil)
