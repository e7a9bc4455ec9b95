package cloud

import (
	"log/slog"
	"net/http"

	"github.com/tombolo-sync/tombolo/cloudhub"
	"github.com/tombolo-sync/tombolo/cloudhub/callsrv"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/internal/loopback"
)

// Source is where objects come from and where calls go.
type Source interface {
	cloudhub.Source
	callsrv.Cloud
	// Own is the way of the hub's own requests.
	Own() http.RoundTripper
}

// inProcess is an embedded cloud with its API. That knows nobody, so it makes no difference whose calls they are.
type inProcess struct {
	*embedded.Cloud
	api http.RoundTripper
}

// Embedded returns an embedded cloud whose calls go to api.
func Embedded(c *embedded.Cloud, api http.Handler, logger *slog.Logger) Source {
	return inProcess{c, &loopback.Transport{Handler: api, Logger: logger}}
}

// Caller returns the way to the API.
func (p inProcess) Caller() http.RoundTripper { return p.api }

// Own returns the same.
func (p inProcess) Own() http.RoundTripper { return p.api }

// Edge returns the same.
func (p inProcess) Edge(string) http.RoundTripper { return p.api }
