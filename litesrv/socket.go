package litesrv

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/websocket"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// socketIntake bounds a message of a client, which has nothing to say.
	socketIntake = 64 << 10
	// socketGoodbye bounds the time in which a client must take the end of a stream.
	socketGoodbye = 5 * time.Second
)

var errNoOrigin = errors.New("null origin")

// socket is a WebSocket as what an outlet writes to: each frame of a watch becomes a message. It is what golang.org/x/
// net/websocket makes of it, as in kube-apiserver.
type socket struct {
	*websocket.Conn // writes may come from any goroutine
	header          http.Header
	binary          bool // frames say their length, and are sent as binary messages without it
}

// Header is of no use: the header is sent.
func (s *socket) Header() http.Header { return s.header }

// WriteHeader does nothing, see Header.
func (s *socket) WriteHeader(int) {}

// Flush does nothing: each message is sent at once.
func (s *socket) Flush() {}

// Write sends whole frames.
func (s *socket) Write(frames []byte) (int, error) {
	for rest := frames; len(rest) > 0; {
		var message []byte
		message, rest = s.cut(rest)
		if _, err := s.Conn.Write(message); err != nil {
			return 0, err
		}
	}
	return len(frames), nil
}

// cut returns the first of some frames as a message. A line keeps its end.
func (s *socket) cut(frames []byte) (message, rest []byte) {
	if s.binary {
		end := 4 + int(binary.BigEndian.Uint32(frames))
		return frames[4:end], frames[end:]
	}
	end := bytes.IndexByte(frames, '\n') + 1
	return frames[:end], frames[end:]
}

// ignore reads until the client or the server closes. It is where pings are answered.
func (s *socket) ignore() {
	s.MaxPayloadBytes = socketIntake
	var message []byte
	var err error
	for err == nil {
		err = websocket.Message.Receive(s.Conn, &message)
	}
}

// wantsSocket tells whether a watch is to be sent over a WebSocket (k8s.io/streaming pkg/httpstream).
func wantsSocket(r *http.Request) bool {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return false
	}
	for _, v := range r.Header["Connection"] {
		if strings.Contains(strings.ToLower(v), "upgrade") {
			return true
		}
	}
	return false
}

// overSocket runs serve with a stream that writes to a WebSocket, if the client can shake hands. A subprotocol is agreed
// to when the client names one, and refused when it names several; a client has to say what its origin is.
func overSocket(ctx context.Context, q *read, t *stream, serve func(context.Context)) error {
	conn, buf, err := http.NewResponseController(q.w).Hijack()
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("unable to start watch: %w", err))
	}
	header := http.Header{}
	if w := q.w.Header()["Warning"]; w != nil {
		header["Warning"] = w
	}
	server := websocket.Server{
		Config: websocket.Config{Header: header},
		Handshake: func(c *websocket.Config, r *http.Request) error {
			origin, err := websocket.Origin(c, r)
			if err == nil && origin == nil {
				err = errNoOrigin
			}
			return err
		},
		Handler: func(c *websocket.Conn) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			s := &socket{Conn: c, header: http.Header{}, binary: q.form.encoding != encodeJSON}
			if s.binary {
				c.PayloadType = websocket.BinaryFrame
			}
			t.out = newOutlet(s)
			var reader sync.WaitGroup
			reader.Go(func() {
				defer cancel()
				s.ignore()
			})
			serve(ctx)
			_ = c.SetDeadline(time.Now().Add(socketGoodbye))
			_ = c.Close() // with 1000, normal closure
			reader.Wait()
		},
	}
	server.ServeHTTP(hijacked{q.w, conn, buf}, q.r)
	return nil
}

// hijacked is an answer whose connection has been taken over.
type hijacked struct {
	http.ResponseWriter
	conn net.Conn
	buf  *bufio.ReadWriter
}

// Hijack returns the connection.
func (h hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) { return h.conn, h.buf, nil }
