package kube

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
)

// recheck holds the open resources against the catalogue and ends those that are not what they were.
func (k *Kube) recheck(ctx context.Context) {
	k.mu.Lock()
	var open []*feed
	for _, f := range k.feeds {
		if f.isOpen() {
			open = append(open, f)
		}
	}
	k.mu.Unlock()
	for _, f := range open {
		if err := k.verdict(ctx, f); err != nil && ctx.Err() == nil {
			k.stop(f, err)
		}
	}
}

// verdict returns the reason to end a feed, nil if there is none or it can't be known now.
func (k *Kube) verdict(ctx context.Context, f *feed) error {
	c, r := k.docs.catalogue.Load(), f.resource
	s, ok := c.version(f.gr, r.Version)
	switch {
	case !ok:
		return k.missing(ctx, f, c)
	case s.kind != r.Kind || s.namespaced != r.Namespaced:
		return fmt.Errorf("%s: %w: kind or scope", f.gr, source.ErrRedefined)
	case !r.Custom:
		return nil
	}
	def, err := k.customDefinition(ctx, r)
	if err != nil {
		f.log.Debug("the resource's CRD can't be read", "error", err)
		return nil
	}
	switch {
	case !slices.Equal(def.fields, r.Fields):
		return fmt.Errorf("%s: %w: selectable fields", f.gr, source.ErrRedefined)
	case r.Columns != "" && def.printer() != r.Printer:
		return fmt.Errorf("%s: %w: printer columns", f.gr, source.ErrRedefined)
	case def.generation > 0 && def.deprecated != r.Deprecated:
		return fmt.Errorf("%s: %w: deprecation", f.gr, source.ErrRedefined)
	case def.generation != f.generation:
		f.generation = def.generation
		f.log.Info("the CRD has changed: everything is read again", "generation", def.generation)
		// A schema's defaults and pruning apply to what is stored already, with no event and no new resourceVersion. The
		// server changes over a little later than its CRD, and ends its watches then.
		f.store.relist.askTwice()
	}
	return nil
}

// missing judges a feed whose version discovery does not have. Discovery alone is not believed: only a server that also
// says that the path does not exist.
func (k *Kube) missing(ctx context.Context, f *feed, c *catalogue) error {
	_, err := newProbe(ctx, f.client, f.gr.Resource, f.resource.Namespaced)
	if !apierrors.IsNotFound(err) {
		return nil
	}
	if _, other := c.lookup(f.gr); other {
		return fmt.Errorf("%s: %w: version %s is not served any more", f.gr, source.ErrRedefined, f.resource.Version)
	}
	return fmt.Errorf("%s: %w: it is not served any more", f.gr, source.ErrUnknownResource)
}
