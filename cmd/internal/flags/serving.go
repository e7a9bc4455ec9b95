package flags

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/internal/pki"
)

// Serving are the flags of an edge's local API: how it is reached, and who may.
type Serving struct {
	Plain      bool     // HTTP without TLS, for everybody on this machine
	Names      []string // in the certificate that the edge makes
	Socket     string   // path; "" for none
	Kubeconfig string   // path; "" for the one in the data directory
	ClientCA   string   // PEM file; "" for none
	Audiences  []string // of tokens; none: the API server's own

	cert, key, auth string
}

// The values of --local-auth.
const (
	authRBAC = "rbac"
	authNone = "none"
)

// Add adds the flags to a command.
func (s *Serving) Add(c *cobra.Command) {
	f := c.Flags()
	f.BoolVar(&s.Plain, "serve-plain", false, "serve the Kubernetes API by plain HTTP, on a loopback address, to everybody on this machine")
	f.StringVar(&s.auth, "local-auth", authRBAC, "who may use the Kubernetes API over TLS: rbac (who has a certificate or a token, as the "+
		"cloud's roles and bindings that the edge holds say) or none (everybody on this machine, on a loopback address)")
	f.StringVar(&s.cert, "serve-tls-cert", "", "PEM file with the certificate that the Kubernetes API shows; none: one that the edge makes")
	f.StringVar(&s.key, "serve-tls-key", "", "PEM file with its key")
	f.StringSliceVar(&s.Names, "serve-name", nil, "further names and addresses in the certificate that the edge makes")
	f.StringVar(&s.ClientCA, "client-ca-file", "", "PEM file with authorities whose certificates name users (CN) and their groups (O)")
	f.StringSliceVar(&s.Audiences, "token-audience", nil, "audiences of service-account tokens, any of which will do; none: the API server's own")
	f.StringVar(&s.Kubeconfig, "local-kubeconfig", "", "where to write the kubeconfig of this edge's administrator; none: kubeconfig in the data directory")
	f.StringVar(&s.Socket, "serve-socket", "", "path of a Unix socket with the Kubernetes API, for the user of this process alone")
}

// Open tells whether nobody is asked who they are.
func (s *Serving) Open() bool { return s.Plain || s.auth == authNone }

// Validate tells what is wrong with the flags and the address of the API.
func (s *Serving) Validate(addr string) error {
	switch {
	case s.auth != authRBAC && s.auth != authNone:
		return fmt.Errorf("--local-auth %q: rbac or none is needed", s.auth)
	case s.Plain && (s.cert != "" || s.key != "" || s.ClientCA != "" || len(s.Names) > 0 || s.Kubeconfig != ""):
		return errors.New("--serve-plain does without certificates: --serve-tls-cert, --serve-tls-key, --serve-name, --client-ca-file " +
			"and --local-kubeconfig are for TLS")
	case s.Open() && (s.ClientCA != "" || len(s.Audiences) > 0):
		return errors.New("nobody is asked who they are: --client-ca-file and --token-audience are for --local-auth rbac")
	case s.Open():
		return LoopbackOnly("serve", addr)
	}
	return nil
}

// Pair returns the certificate of the flags, nil when the edge is to make one.
func (s *Serving) Pair() (*pki.Pair, error) {
	if s.cert == "" && s.key == "" {
		return nil, nil
	}
	p, err := pki.NewPair(s.cert, s.key)
	if err != nil {
		return nil, fmt.Errorf("--serve-tls-cert, --serve-tls-key: %w", err)
	}
	return p, nil
}

// Scheme is that of the API's URL.
func (s *Serving) Scheme() string {
	if s.Plain {
		return "http"
	}
	return "https"
}
