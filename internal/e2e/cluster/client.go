package cluster

import (
	"crypto/tls"
	"fmt"
	"net/http"
)

// AdminClient returns a client that acts as the admin, for requests of any
// length: it has no timeout. The caller closes its idle connections.
func (c *Cluster) AdminClient() (*http.Client, error) {
	roots, err := readRoots(c.CAFile)
	if err != nil {
		return nil, err
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	transport.MaxIdleConnsPerHost = 64
	return &http.Client{Transport: &authorized{transport}}, nil
}

// authorized adds the admin's token to every request.
type authorized struct{ transport *http.Transport }

func (a *authorized) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+AdminToken)
	resp, err := a.transport.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	return resp, nil
}

// CloseIdleConnections lets http.Client.CloseIdleConnections through.
func (a *authorized) CloseIdleConnections() { a.transport.CloseIdleConnections() }
