package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
)

// sample is an object that the demo puts into an empty embedded cloud, and the collection that it goes to.
type sample struct {
	path string
	body map[string]any
}

func samples() []sample {
	out := []sample{
		{"/api/v1/namespaces", object("v1", "Namespace", "", "shop", nil)},
		{"/api/v1/nodes", object("v1", "Node", "", edgeName, nil)},
		{"/api/v1/nodes", object("v1", "Node", "", "edge-2", nil)},
		{"/api/v1/namespaces/shop/configmaps", object("v1", "ConfigMap", "shop", "prices", map[string]any{
			"data": map[string]any{"coffee": "2.40", "tea": "2.10"},
		})},
		{"/api/v1/namespaces/shop/services", object("v1", "Service", "shop", "till", map[string]any{
			"spec": map[string]any{"selector": map[string]any{"app": "till"}, "ports": []any{map[string]any{"port": 80}}},
		})},
		{"/apis/apps/v1/namespaces/shop/deployments", object("apps/v1", "Deployment", "shop", "till", map[string]any{
			"spec": map[string]any{
				"replicas": 3, "selector": map[string]any{"matchLabels": map[string]any{"app": "till"}},
				"template": map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": "till"}}, "spec": podSpec("")},
			},
		})},
	}
	for i, node := range []string{edgeName, edgeName, "edge-2"} {
		pod := object("v1", "Pod", "shop", fmt.Sprint("till-", i+1), map[string]any{"spec": podSpec(node)})
		pod["metadata"].(map[string]any)["labels"] = map[string]any{"app": "till"}
		out = append(out, sample{"/api/v1/namespaces/shop/pods", pod})
	}
	return out
}

func object(apiVersion, kind, namespace, name string, rest map[string]any) map[string]any {
	meta := map[string]any{"name": name}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	o := map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	for k, v := range rest {
		o[k] = v
	}
	return o
}

func podSpec(node string) map[string]any {
	spec := map[string]any{"containers": []any{map[string]any{"name": "till", "image": "example.com/till:1"}}}
	if node != "" {
		spec["nodeName"] = node
	}
	return spec
}

// applySamples creates the samples that are not there yet.
func applySamples(ctx context.Context, server string) error {
	for _, s := range samples() {
		if err := create(ctx, server+s.path, s.body); err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
	}
	return nil
}

func create(ctx context.Context, url string, body map[string]any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusCreated || resp.StatusCode == http.StatusConflict {
		return nil
	}
	return fmt.Errorf("%s: %s", resp.Status, text)
}
