package litesrv

import (
	"net/http"

	"github.com/klauspost/compress/gzip"
)

// zipped compresses an answer if it is a whole one. It is used by one goroutine.
type zipped struct {
	http.ResponseWriter
	zip *gzip.Writer // pooled; nil unless the answer is compressed
}

// WriteHeader decides.
func (z *zipped) WriteHeader(code int) {
	if code == http.StatusOK {
		z.Header().Set("Content-Encoding", "gzip")
		z.Header().Del("Content-Length")
		z.Header().Del("Accept-Ranges")
		z.zip = getGzip(z.ResponseWriter)
	}
	z.ResponseWriter.WriteHeader(code)
}

// Write compresses.
func (z *zipped) Write(p []byte) (int, error) {
	if z.zip == nil {
		return z.ResponseWriter.Write(p)
	}
	return z.zip.Write(p)
}

// Unwrap is how http.ResponseController finds what the connection can do.
func (z *zipped) Unwrap() http.ResponseWriter { return z.ResponseWriter }

// close writes the rest.
func (z *zipped) close() {
	if z.zip == nil {
		return
	}
	_ = z.zip.Close() // the client is gone: there is no one to tell
	putGzip(z.zip)
	z.zip = nil
}
