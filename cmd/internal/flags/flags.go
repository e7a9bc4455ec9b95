// Package flags holds the flags that the binaries share, and how they fail.
package flags

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/tombolo-sync/tombolo/internal/obs"
	"github.com/tombolo-sync/tombolo/internal/pki"
	"github.com/tombolo-sync/tombolo/internal/run"
)

// Execute runs a command until it ends or the process is told to stop, and exits: 0 when all went well, else the code of
// the error's ExitCode method or 1, with one line that says why.
func Execute(root *cobra.Command) {
	run.CollectEarly()
	root.SilenceUsage, root.SilenceErrors = true, true
	root.RunE = func(c *cobra.Command, _ []string) error { return c.Help() } // makes cobra refuse unknown commands
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	err := root.ExecuteContext(ctx)
	stop()
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "%s: %s\n", root.Name(), OneLine(err))
	var coded interface{ ExitCode() int }
	if errors.As(err, &coded) {
		os.Exit(coded.ExitCode())
	}
	os.Exit(1)
}

// OneLine returns an error's text on one line.
func OneLine(err error) string {
	return strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// Log are the flags of the log.
type Log struct{ Level, Format string }

// Add adds the flags to a command.
func (l *Log) Add(c *cobra.Command) {
	c.Flags().StringVar(&l.Level, "log-level", "info", "debug, info, warn or error")
	c.Flags().StringVar(&l.Format, "log-format", "text", "text or json")
}

// Logger returns the logger that the flags ask for. It writes to standard error.
func (l *Log) Logger() (*slog.Logger, error) { return obs.NewLogger(os.Stderr, l.Level, l.Format) }

// Transport are the flags of the connection between hub and edge.
type Transport struct {
	Files    pki.Files
	Insecure bool
}

// Add adds the flags to a command.
func (t *Transport) Add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&t.Files.Cert, "tls-cert", "", "PEM file with the certificate that this side shows (mutual TLS)")
	f.StringVar(&t.Files.Key, "tls-key", "", "PEM file with its key")
	f.StringVar(&t.Files.CA, "tls-ca", "", "PEM file with the CA that the other side's certificate is signed by")
	f.BoolVar(&t.Insecure, "insecure-dev", false, "no TLS and no authentication; on loopback addresses only")
}

var errTransport = errors.New("give --tls-cert, --tls-key and --tls-ca, or --insecure-dev for development on one machine")

// Server returns the credentials of the side that listens on addr.
func (t *Transport) Server(addr string) (credentials.TransportCredentials, error) {
	if err := t.check(addr); err != nil || t.Insecure {
		return insecure.NewCredentials(), err
	}
	cfg, err := t.Files.Server()
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(cfg), nil
}

// Client returns the credentials of the side that connects to addrs.
func (t *Transport) Client(addrs []string) (credentials.TransportCredentials, error) {
	if err := t.check(addrs...); err != nil || t.Insecure {
		return insecure.NewCredentials(), err
	}
	cfg, err := t.Files.Client()
	if err != nil {
		return nil, err
	}
	return credentials.NewTLS(cfg), nil
}

func (t *Transport) check(addrs ...string) error {
	if t.Insecure == t.Files.Given() {
		return errTransport
	}
	if !t.Insecure {
		return nil
	}
	for _, a := range addrs {
		if !run.Loopback(a) {
			return fmt.Errorf("--insecure-dev works on loopback addresses only, %s is not one", a)
		}
	}
	return nil
}

// LoopbackOnly fails for an address of an API without authentication that other machines could reach.
func LoopbackOnly(flag, addr string) error {
	if !run.Loopback(addr) {
		return fmt.Errorf("--%s %s: an API without authentication is served on loopback addresses only (127.0.0.1:port, [::1]:port)", flag, addr)
	}
	return nil
}
