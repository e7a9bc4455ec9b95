package embedded

import (
	"fmt"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
)

// redefine makes the custom resources those of the CustomResourceDefinitions. turn is held, or nobody has the cloud yet.
func (c *Cloud) redefine() error {
	now := c.resources.Load()
	var custom []*resource
	for o := range now.definitions.logs[0].Snapshot().All("") {
		obj, err := codec.DecodeStored(now.definitions.kind.Stored(), o.JSON())
		if err != nil {
			return err
		}
		r, err := c.custom(now, catalog.FromDefinition(obj.(*catalog.Definition)))
		if err != nil {
			return fmt.Errorf("%s: %w", o.Name(), err)
		}
		custom = append(custom, r)
	}
	next := now.with(custom)
	c.install(next)
	c.describe()
	for _, r := range now.all {
		if next.has(r) {
			continue
		}
		if again := next.defined(r.kind.DefinitionName); again != nil {
			r.close(source.ErrRedefined, again.logs...)
		} else {
			r.close(source.ErrUnknownResource)
		}
	}
	return nil
}

// install makes the resources those of r, whose logs are at the revision of the last change.
func (c *Cloud) install(r *registry) {
	c.publishing.Lock()
	defer c.publishing.Unlock()
	c.resources.Store(r)
}

// custom returns the resource of a custom kind: the one that is there if nothing about it has changed, else a new one,
// which takes over the logs of the versions that stay as they are.
func (c *Cloud) custom(now *registry, k *catalog.Kind) (*resource, error) {
	was := now.defined(k.DefinitionName)
	if was == nil || was.kind.Definition != k.Definition {
		r := newResource(k, c.window)
		return r, c.loadResource(r)
	}
	if sameKind(was.kind, k) {
		return was, nil
	}
	r := newResource(k, c.window)
	for i := range r.logs {
		for j := range was.logs {
			if sameResource(&k.Faces[i].Resource, &was.kind.Faces[j].Resource) {
				r.logs[i] = was.logs[j]
			}
		}
	}
	l := newLoader(r)
	for o := range was.logs[0].Snapshot().All("") {
		if err := l.add(o.Key(), o.JSON()); err != nil {
			return nil, err
		}
	}
	return r, l.load(c.rev)
}
