package litesrv

import (
	"net/http"
	"time"
)

// NewHTTPServer returns an http.Server for the handler with the limits of kube-apiserver (its pkg/server/secure_serving.go
// and config.go): headers, which hold the query, of 1 MiB, 32 seconds to send them, idle connections kept for 90
// seconds, 100 streams on one HTTP/2 connection. Address, TLS and logs are the caller's. There is no timeout for whole
// requests: the handler bounds what it writes itself.
func NewHTTPServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		MaxHeaderBytes:    1 << 20,
		ReadHeaderTimeout: 32 * time.Second,
		IdleTimeout:       90 * time.Second,
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 100,
			// A connection whose peer takes nothing at all holds up the streams on it, deadlines or not.
			WriteByteTimeout: outletPatience,
		},
	}
}
