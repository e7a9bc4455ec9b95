package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// proveObject compares one object with what a quorum read of its metadata says. What is missing is on its way then: the
// log's watch brings it without a delay. cloud is a revision that the cloud has reached since the proof was asked for.
func (f *feed) proveObject(ctx context.Context, part source.Part, cloud uint64) (uint64, error) {
	rev, err := f.readRevision(ctx, part)
	if err != nil {
		return 0, err
	}
	if rev > 0 {
		// The version that was read is the newest: with it the log has all that came before, a deletion of another object
		// of that name included.
		if err := f.entries.WaitRev(ctx, rev); err != nil {
			return 0, err
		}
		return f.entries.Rev(), nil
	}
	key := watchlog.KeyOf(part.Namespace, part.Name)
	return f.when(ctx, cloud, func(snap watchlog.Snapshot) bool { return snap.Get(key) == nil })
}

// when waits until the log is in a state that agrees, or has reached the cloud's revision, and returns its position.
func (f *feed) when(ctx context.Context, cloud uint64, agrees func(watchlog.Snapshot) bool) (uint64, error) {
	for {
		snap := f.entries.Snapshot()
		if rev, ok := f.reached(cloud); ok {
			return rev, nil
		}
		if agrees(snap) {
			return snap.Rev(), nil
		}
		if err := f.entries.WaitRev(ctx, snap.Rev()+1); err != nil {
			return 0, err
		}
	}
}

// readRevision returns the resourceVersion of an object in the cloud, 0 when there is none.
func (f *feed) readRevision(ctx context.Context, part source.Part) (uint64, error) {
	result := f.client.Get().NamespaceIfScoped(part.Namespace, f.resource.Namespaced).Resource(f.resource.Name).
		Name(part.Name).SetHeader("Accept", acceptMetadata).Do(ctx)
	err := result.Error()
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("get %s %s/%s: %w", f.gr, part.Namespace, part.Name, err)
	}
	body, err := result.Raw()
	if err != nil {
		return 0, fmt.Errorf("get %s %s/%s: %w", f.gr, part.Namespace, part.Name, err)
	}
	var o metav1.PartialObjectMetadata
	if err := json.Unmarshal(body, &o); err != nil {
		return 0, fmt.Errorf("get %s %s/%s: %w", f.gr, part.Namespace, part.Name, err)
	}
	return parseRev(o.ResourceVersion)
}
