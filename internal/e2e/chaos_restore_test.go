//go:build e2e

package e2e

import "slices"

// restore puts etcd back to a backup, and has one taken first if there is none. Writers rest meanwhile, so that it is known
// which history each write is of; hubs, edges and their clients are whatever they are.
func (c *chaos) restore() {
	if c.saved == nil {
		c.backUp()
		c.load.awaitCount(200)
	}
	c.load.stop()
	c.through.stop()
	for _, w := range c.readers[:len(chaosResources)] {
		await(c.t, w.CatchUp)
	}
	head := c.revision()
	c.retireSources()
	if c.restores == 0 {
		c.sparesInventories()
	}
	c.restores++
	c.trail.add("restore etcd to %d from %d", c.saved.Revision, head)
	c.history.Restored(c.saved.Revision, head)
	c.must(c.cluster.Restore(c.t.Context(), *c.saved))
	c.saved = nil
	c.trail.add("the API server is back")
	others, stops := c.readers, c.stops
	c.readers, c.stops = nil, nil
	c.sources(chaosResources...)
	c.readers, c.stops = slices.Concat(c.readers, others), slices.Concat(c.stops, stops)
	c.load.goOn(uint64(c.restores))
	c.through.goOn(c)
}

func (c *chaos) backUp() {
	c.trail.add("stop the cloud for a backup of etcd")
	saved, err := c.cluster.Backup(c.t.Context())
	c.must(err)
	c.saved = &saved
	c.trail.add("the cloud is back, the backup is of %d", saved.Revision)
}

// retireSources ends the readers of the cloud, which have all there is.
func (c *chaos) retireSources() {
	for i := range chaosResources {
		c.stops[i]()
		c.readers[i].Close()
		events, _ := c.readers[i].Len()
		c.changes[i] += events
	}
	c.readers = c.readers[len(chaosResources):]
	c.stops = c.stops[len(chaosResources):]
}
