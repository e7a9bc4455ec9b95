package main

import (
	"errors"
	"fmt"
	"path/filepath"

	"google.golang.org/grpc/credentials"

	identity "github.com/tombolo-sync/tombolo/edgehub/credentials"
)

// folder is where the credentials of an edge that has joined are.
func folder(dataDir string) identity.Folder {
	return identity.Folder{Dir: filepath.Join(dataDir, identity.Name)}
}

// identify returns what the edge got when it joined, nil when the flags give a certificate, or do without. Name and hubs are
// what they were then, unless the flags say otherwise.
func (o *runOptions) identify() (*identity.Identity, error) {
	if o.transport.Insecure || o.transport.Files.Given() {
		return nil, nil
	}
	f := folder(o.dataDir)
	id, err := identity.Open(f)
	if errors.Is(err, identity.ErrNone) {
		return nil, errors.New("the edge has not joined: run edgehub join with a token, or give --tls-cert, --tls-key and --tls-ca, " +
			"or --insecure-dev for development on one machine")
	}
	if err != nil {
		return nil, fmt.Errorf("the edge's identity: %w", err)
	}
	if o.name == "" {
		o.name = id.Edge()
	}
	if o.name != id.Edge() {
		return nil, fmt.Errorf("--name %s: the edge has joined as %s", o.name, id.Edge())
	}
	if len(o.hubs) == 0 {
		o.hubs, err = f.Hubs()
	}
	return id, err
}

// credentials returns those for connections to hubs.
func (o *runOptions) credentials(id *identity.Identity) (credentials.TransportCredentials, error) {
	if id != nil {
		return id.Transport(), nil
	}
	return o.transport.Client(o.hubs)
}
