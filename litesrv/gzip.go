package litesrv

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// gzips are writers of the level that kube-apiserver uses (apiserver pkg/endpoints/handlers/responsewriters/
// compression.go). One takes hundreds of kilobytes, so nothing that waits holds one.
var gzips = sync.Pool{New: func() any {
	z, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is a constant that exists
	}
	return z
}}

// getGzip returns a writer of one gzip member to w, to be given back with putGzip.
func getGzip(w io.Writer) *gzip.Writer {
	z := gzips.Get().(*gzip.Writer)
	z.Reset(w)
	return z
}

// putGzip takes back a writer that nobody uses any more.
func putGzip(z *gzip.Writer) {
	z.Reset(nil)
	gzips.Put(z)
}

// takesGzip tells whether the client takes a compressed answer. Only a gzip without parameters counts (apiserver
// pkg/endpoints/handlers/responsewriters/compression.go).
func takesGzip(r *http.Request) bool {
	for rest := r.Header.Get("Accept-Encoding"); rest != ""; {
		var token string
		token, rest, _ = strings.Cut(rest, ",")
		if strings.TrimSpace(token) == "gzip" {
			return true
		}
	}
	return false
}
