// Package run holds the lifecycle of processes: serving HTTP until a context ends, in order and within bounds.
package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

const (
	// readHeader bounds how long a client may take to send a request's header.
	readHeader = 32 * time.Second
	// grace is how long requests may go on after the context has ended. Watches end with their request's context.
	grace = 5 * time.Second
)

// Loopback tells whether addr, host:port, can be reached from this machine alone. An empty host is every interface.
func Loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Listen opens a TCP port. The error names the address and says what is wrong with it.
func Listen(ctx context.Context, name, addr string) (net.Listener, error) {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return lis, nil
}

// Server returns an HTTP server for a handler of ours that only operators and their tools ask.
func Server(h http.Handler) *http.Server {
	return &http.Server{Handler: h, ReadHeaderTimeout: readHeader}
}

// HTTP serves srv on lis until ctx ends, and then returns nil once all requests have ended, or were cut after a grace
// period. The contexts of requests end with ctx, so that long-running ones return. With srv.TLSConfig only TLS is spoken.
// HTTP/2 is for whoever knows it, without TLS too. What the server has to say of connections, failed handshakes and the
// like, goes to logger.
func HTTP(ctx context.Context, lis net.Listener, srv *http.Server, logger *slog.Logger) error {
	srv.ErrorLog = slog.NewLogLogger(logger.With("addr", lis.Addr()).Handler(), slog.LevelWarn)
	srv.Protocols = new(http.Protocols)
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetHTTP2(srv.TLSConfig != nil)
	srv.Protocols.SetUnencryptedHTTP2(srv.TLSConfig == nil)
	srv.BaseContext = func(net.Listener) context.Context { return ctx }
	ended := make(chan error, 1)
	go func() {
		if srv.TLSConfig != nil {
			ended <- srv.ServeTLS(lis, "", "")
			return
		}
		ended <- srv.Serve(lis)
	}()
	select {
	case err := <-ended:
		return fmt.Errorf("serve HTTP on %s: %w", lis.Addr(), err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		_ = srv.Close() // the grace period is over: what is left is cut
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve HTTP on %s: %w", lis.Addr(), err)
	}
	return nil
}
