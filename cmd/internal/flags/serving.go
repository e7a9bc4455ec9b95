package flags

import (
	"crypto/tls"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/internal/pki"
)

// Serving are the flags of TLS on an API that clients without certificates use.
type Serving struct{ cert, key string }

// Add adds the flags to a command.
func (s *Serving) Add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.cert, "serve-tls-cert", "", "PEM file with the certificate that the Kubernetes API shows; none: plain HTTP. "+
		"kubectl and client-go send tokens over TLS only")
	f.StringVar(&s.key, "serve-tls-key", "", "PEM file with its key")
}

// TLS returns the configuration that the flags ask for, nil for plain HTTP.
func (s *Serving) TLS() (*tls.Config, error) {
	if *s == (Serving{}) {
		return nil, nil
	}
	cfg, err := pki.Serving(s.cert, s.key)
	if err != nil {
		return nil, fmt.Errorf("--serve-tls-cert, --serve-tls-key: %w", err)
	}
	return cfg, nil
}

// Scheme is that of the API's URL.
func (s *Serving) Scheme() string {
	if *s == (Serving{}) {
		return "http"
	}
	return "https"
}
