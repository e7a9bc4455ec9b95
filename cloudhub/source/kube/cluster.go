package kube

import (
	"context"
	"fmt"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
)

// clusterEvery is how often it is made sure that the cluster behind the address is still the same. Beside that it is
// before every list and watch, so that no log gets what is of another.
const clusterEvery = 30 * time.Second

// followCluster notices when another cluster has taken the address over.
func (k *Kube) followCluster(ctx context.Context) error {
	for {
		if err := sleep(ctx, clusterEvery); err != nil {
			return err
		}
		if err := k.sameCluster(ctx); err != nil && ctx.Err() == nil {
			k.log.Debug("which cluster it is can't be told", "error", err)
		}
	}
}

// sameCluster fails when the cluster behind the address is not the one that the logs are of, or can't be asked.
func (k *Kube) sameCluster(ctx context.Context) error {
	_, err := k.clusters.Ask(ctx, struct{}{}, 0)
	return err
}

// askCluster compares the cluster's identity with the epoch. When it is another cluster, all logs are closed with
// source.ErrReplaced, and Epoch says which one it is from then on.
func (k *Kube) askCluster(ctx context.Context, _ struct{}, _ func() uint64) (struct{}, error) {
	now, err := fetchEpoch(ctx, k.api)
	if err != nil {
		return struct{}{}, err
	}
	k.mu.Lock()
	was := k.epoch
	var all []*feed
	if now != was && was != "" {
		k.epoch = now
		for _, f := range k.feeds {
			all = append(all, f)
		}
	}
	k.mu.Unlock()
	if now == was || was == "" {
		return struct{}{}, nil
	}
	k.log.Error("another cluster has taken the API server's place", "was", was, "is", now)
	err = fmt.Errorf("%w: %s, was %s", source.ErrReplaced, now, was)
	for _, f := range all {
		k.stop(f, err)
	}
	k.definitionsChanged()
	return struct{}{}, err
}
