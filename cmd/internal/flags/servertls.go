package flags

import "crypto/tls"

// ServerTLS returns the TLS configuration of the side that listens on addr, nil without TLS.
func (t *Transport) ServerTLS(addr string) (*tls.Config, error) {
	if err := t.check(addr); err != nil || t.Insecure {
		return nil, err
	}
	return t.Files.Server()
}
