package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
	"github.com/tombolo-sync/tombolo/cloudhub/enroll/directory"
	"github.com/tombolo-sync/tombolo/cloudhub/enroll/secrets"
)

// desk is where tokens are made and taken back.
type desk interface {
	Add(ctx context.Context, t enroll.Token) error
	Tokens(ctx context.Context) ([]enroll.Token, error)
	Remove(ctx context.Context, id string) error
}

// ledger is where revocations are kept.
type ledger interface {
	Revoke(ctx context.Context, v enroll.Revocation) error
	Revocations(ctx context.Context) ([]enroll.Revocation, error)
	Follow(ctx context.Context, set func([]enroll.Revocation), failed func(error))
}

// register is all that enrolment keeps.
type register interface {
	enroll.Tokens
	desk
	ledger
}

// registerOptions are the flags that say where that is.
type registerOptions struct{ dir, namespace string }

func (o *registerOptions) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.dir, "register", os.Getenv("TOMBOLO_REGISTER"), "directory with join tokens and revocations, for hubs on one machine (or $TOMBOLO_REGISTER)")
	f.StringVar(&o.namespace, "register-namespace", os.Getenv("TOMBOLO_REGISTER_NAMESPACE"),
		"namespace with join tokens and revocations as Secrets, for any number of hubs (or $TOMBOLO_REGISTER_NAMESPACE)")
}

// inside has the register be in the directory of an embedded cloud, unless the flags say otherwise.
func (o *registerOptions) inside(embedded string) {
	if embedded != "" && !o.given() {
		o.dir = filepath.Join(embedded, "register")
	}
}

func (o *registerOptions) given() bool { return *o != (registerOptions{}) }

// open returns the register. Its directory is made if create is set; else it must be there.
func (o *registerOptions) open(kubeconfig string, create bool) (register, error) {
	switch {
	case o.dir != "" && o.namespace != "":
		return nil, errors.New("--register and --register-namespace exclude each other")
	case o.dir != "" && create:
		return directory.New(o.dir)
	case o.dir != "":
		return directory.Open(o.dir)
	case o.namespace != "":
		rc, err := restConfig(kubeconfig)
		if err != nil {
			return nil, err
		}
		rc.UserAgent = "tombolo-cloudhub/" + version
		return secrets.New(rc, o.namespace)
	default:
		return nil, errors.New("give --register DIR or --register-namespace NAMESPACE")
	}
}
