package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// fetchEpoch returns the UID of namespace kube-system, which every cluster has from its beginning and keeps for its life.
func fetchEpoch(ctx context.Context, a *api) (string, error) {
	const path = "/api/v1/namespaces/kube-system"
	got, err := a.get(ctx, path, mediaJSON, "")
	if err != nil {
		return "", err
	}
	if got.status != http.StatusOK {
		return "", fmt.Errorf("epoch: %w", got.failure(path))
	}
	var ns metav1.PartialObjectMetadata
	if err := json.Unmarshal(got.body, &ns); err != nil {
		return "", fmt.Errorf("epoch: %s: %w", path, err)
	}
	if ns.UID == "" {
		return "", errors.New("epoch: namespace kube-system has no UID")
	}
	return string(ns.UID), nil
}
