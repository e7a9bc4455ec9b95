package link

import (
	"net"
	"time"
)

// trail forwards the first chunk at once and holds back what follows.
func (l *Link) trail(to, from net.Conn, late time.Duration) {
	defer func() { _ = to.Close() }()
	buffer := make([]byte, 32<<10)
	n, err := from.Read(buffer)
	if err != nil {
		return
	}
	if _, err := to.Write(buffer[:n]); err != nil {
		return
	}
	n, err = from.Read(buffer)
	select {
	case <-time.After(late):
	case <-l.ended:
		return
	}
	for ; n > 0; n, err = from.Read(buffer) {
		if l.pass() != nil {
			return
		}
		if _, werr := to.Write(buffer[:n]); werr != nil || err != nil {
			return
		}
		l.carried.Add(int64(n))
	}
}

// outlet takes everything that the link lets through, whether its connection still does or not.
type outlet struct {
	link *Link
	conn net.Conn
}

func (o outlet) Write(b []byte) (int, error) {
	if err := o.link.pass(); err != nil {
		return 0, err
	}
	if n, _ := o.conn.Write(b); n > 0 {
		o.link.carried.Add(int64(n))
	}
	return len(b), nil
}
