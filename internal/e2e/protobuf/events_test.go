//go:build e2e

package protobuf_test

import (
	"fmt"
	"net/http"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// recordEvents records what watches of some resources are sent while objects are made, changed, hidden and deleted.
func (c *cloud) recordEvents(goldens map[string]*golden) {
	for _, gvr := range []schema.GroupVersionResource{
		{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "events"},
		{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "ex.io", Version: "v1", Resource: "widgets"},
	} {
		g := goldens[gvr.String()]
		if g == nil {
			c.Fatalf("no %s", gvr)
		}
		at := fmt.Sprintf("?watch=1&resourceVersion=%d&timeoutSeconds=4", g.Rev)
		base := collectionPath(&g.Resource, "golden") + at
		answers := make([]answer, 5)
		var running sync.WaitGroup
		for i, w := range []struct{ path, accept string }{
			{base, "application/json"}, {base, asProtobuf}, {base, asPartial},
			{base + "&labelSelector=golden", asProtobuf}, {base + "&labelSelector=golden", asPartial},
		} {
			running.Go(func() { answers[i] = c.ask(w.path, w.accept) })
		}
		c.change(g)
		running.Wait()
		g.Events = string(answers[0].Body)
		g.Watches = append(g.Watches, answers[1:]...)
	}
}

// change makes, changes and deletes an object, and takes the label off another.
func (c *cloud) change(g *golden) {
	var first map[string]any
	c.decode(answer{Code: 200, Body: []byte(g.Objects[0])}, &first)
	meta := first["metadata"].(map[string]any)
	path := collectionPath(&g.Resource, "golden")
	old := path + "/" + meta["name"].(string)
	for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "finalizers", "ownerReferences"} {
		delete(meta, key)
	}
	meta["name"] = "made"
	c.send(http.MethodPost, path, c.encode(first))
	c.send(http.MethodPatch, path+"/made", []byte(`{"metadata":{"annotations":{"changed":"yes"}}}`))
	c.send(http.MethodPatch, old, []byte(`{"metadata":{"labels":{"golden":null}}}`))
	c.send(http.MethodDelete, path+"/made", []byte(`{"gracePeriodSeconds":0}`))
}
