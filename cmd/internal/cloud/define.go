package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"sigs.k8s.io/yaml"
)

const definitions = "http://cloud/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// Define makes CustomResourceDefinitions, given in YAML, those of a cloud, whatever it had under their names.
func Define(ctx context.Context, api http.RoundTripper, texts ...[]byte) error {
	for _, text := range texts {
		var d map[string]any
		if err := yaml.Unmarshal(text, &d); err != nil {
			return err
		}
		if err := define(ctx, api, d); err != nil {
			return fmt.Errorf("define %s: %w", nameOf(d), err)
		}
	}
	return nil
}

func nameOf(d map[string]any) string {
	m, _ := d["metadata"].(map[string]any)
	name, _ := m["name"].(string)
	return name
}

func define(ctx context.Context, api http.RoundTripper, d map[string]any) error {
	err := exchange(ctx, api, http.MethodGet, definitions+"/"+nameOf(d), "", nil)
	if errors.Is(err, errNotFound) {
		body, err := json.Marshal(d)
		if err != nil {
			return err
		}
		return exchange(ctx, api, http.MethodPost, definitions, "application/json", body)
	}
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"spec": d["spec"]})
	if err != nil {
		return err
	}
	return exchange(ctx, api, http.MethodPatch, definitions+"/"+nameOf(d), "application/merge-patch+json", body)
}

var errNotFound = errors.New("not found")

// exchange sends one request and fails unless the answer is a good one.
func exchange(ctx context.Context, api http.RoundTripper, method, url, contentType string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	resp, err := api.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	out, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusNotFound:
		return errNotFound
	case resp.StatusCode >= 300:
		return fmt.Errorf("%s: %.300s", resp.Status, out)
	}
	return nil
}
