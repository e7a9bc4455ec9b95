package litesrv

import (
	"bufio"
	"net"
	"net/http"
)

// recorder notes what is answered.
type recorder struct {
	http.ResponseWriter
	verb  string
	code  int // 0 until the header is written
	bytes int64
}

// WriteHeader notes the first final code.
func (r *recorder) WriteHeader(code int) {
	if r.code == 0 && code >= 200 || code == http.StatusSwitchingProtocols {
		r.code = code
	}
	r.ResponseWriter.WriteHeader(code)
}

// Write notes the size.
func (r *recorder) Write(p []byte) (int, error) {
	if r.code == 0 {
		r.code = http.StatusOK
	}
	n, err := r.ResponseWriter.Write(p)
	r.bytes += int64(n)
	return n, err
}

// Flush is for handlers that look for http.Flusher; what can't flush doesn't.
func (r *recorder) Flush() {
	_ = http.NewResponseController(r.ResponseWriter).Flush()
}

// Hijack gives the connection away. What is written to it is not seen.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buf, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.code = http.StatusSwitchingProtocols
	}
	return conn, buf, err
}

// Unwrap is how http.ResponseController finds what the connection can do.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
