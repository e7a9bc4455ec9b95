package call

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// upgrades tells whether a request wants its connection to become another one. HTTP/2 can't.
func upgrades(r *http.Request) bool {
	if r.ProtoMajor != 1 || r.Header.Get("Upgrade") == "" {
		return false
	}
	for _, line := range r.Header["Connection"] {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(token), "upgrade") {
				return true
			}
		}
	}
	return false
}

// upgrade takes over the client's connection and passes bytes both ways until the hub has no more, or either side is
// gone.
func (x *exchange) upgrade(ctx context.Context) error {
	conn, buffered, err := x.rc.Hijack()
	if err != nil {
		return fmt.Errorf("take over the connection: %w", err)
	}
	x.hijacked = true
	_ = conn.SetDeadline(time.Time{})
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer x.uploads.Wait()
	defer conn.Close() //nolint:errcheck // nothing is left to be written
	if err := x.writeSwitch(buffered.Writer); err != nil {
		return err
	}
	// Read from the connection itself: net/http's reader takes its end for that of the request.
	early := io.LimitReader(buffered.Reader, int64(buffered.Reader.Buffered()))
	x.uploads.Go(func() { x.uploadRaw(io.MultiReader(early, conn)) })
	return x.downloadRaw(conn)
}

// writeSwitch writes the beginning of the answer.
func (x *exchange) writeSwitch(w *bufio.Writer) error {
	h := http.Header{}
	for _, f := range x.answer.GetHeader() {
		h[http.CanonicalHeaderKey(f.GetName())] = f.GetValues()
	}
	if _, err := w.WriteString("HTTP/1.1 101 Switching Protocols\r\n"); err != nil {
		return err
	}
	if err := h.Write(w); err != nil { // it takes line ends out of values
		return err
	}
	if _, err := w.WriteString("\r\n"); err != nil {
		return err
	}
	return w.Flush()
}

// uploadRaw sends what comes from the client's connection. Its end is the end of this direction only.
func (x *exchange) uploadRaw(from io.Reader) {
	if err := x.send(from); err != nil {
		x.cancel(err)
		return
	}
	_ = x.stream.CloseSend() // receive reports it
}

// downloadRaw writes what comes from the hub.
func (x *exchange) downloadRaw(conn net.Conn) error {
	for {
		data, err := x.receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		_ = conn.SetWriteDeadline(time.Now().Add(x.c.cfg.Patience))
		if _, err := conn.Write(data); err != nil {
			x.cancel(err)
			return err
		}
	}
}
