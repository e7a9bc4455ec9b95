//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"

	"github.com/tombolo-sync/tombolo/internal/guarantee"
)

// informerSet is a typed and a dynamic informer on the same objects, as controllers use them.
type informerSet struct {
	typed   cache.SharedIndexInformer
	dynamic cache.SharedIndexInformer
	stop    func()
}

// startInformers starts informers on a server; setting protobuf makes the typed one ask as controllers do.
func startInformers(t testing.TB, base, contentType string) *informerSet {
	t.Helper()
	config := &rest.Config{Host: base, QPS: -1}
	config.ContentType = contentType
	config.AcceptContentTypes = contentType + ",application/json"
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	untyped, err := dynamic.NewForConfig(&rest.Config{Host: base, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory := informers.NewSharedInformerFactory(typed, 0)
	dynamicFactory := dynamicinformer.NewDynamicSharedInformerFactory(untyped, 0)
	set := &informerSet{
		typed:   factory.Core().V1().ConfigMaps().Informer(),
		dynamic: dynamicFactory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Informer(),
	}
	factory.Start(ctx.Done())
	dynamicFactory.Start(ctx.Done())
	set.stop = func() {
		cancel()
		factory.Shutdown()
		dynamicFactory.Shutdown()
	}
	t.Cleanup(set.stop)
	return set
}

// awaitSynced waits until both have their first state.
func (s *informerSet) awaitSynced(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), s.typed.HasSynced, s.dynamic.HasSynced) {
		t.Fatalf("informers don't sync: typed %t, dynamic %t", s.typed.HasSynced(), s.dynamic.HasSynced())
	}
}

// awaitHolds waits until both hold exactly those versions, by key.
func (s *informerSet) awaitHolds(t testing.TB, want map[string]string) {
	t.Helper()
	eventually(t, func() error {
		for name, informer := range map[string]cache.SharedIndexInformer{"typed": s.typed, "dynamic": s.dynamic} {
			if err := holds(informer, want); err != nil {
				return fmt.Errorf("%s informer: %w", name, err)
			}
		}
		return nil
	})
}

func holds(informer cache.SharedIndexInformer, want map[string]string) error {
	have := map[string]string{}
	for _, item := range informer.GetStore().List() {
		switch o := item.(type) {
		case *corev1.ConfigMap:
			have[o.Namespace+"/"+o.Name] = o.ResourceVersion
		case *unstructured.Unstructured:
			have[o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion()
		}
	}
	if !labels.Equals(have, want) {
		return fmt.Errorf("has %d objects %v, want %d %v", len(have), have, len(want), want)
	}
	return nil
}

// versions are those of the ConfigMaps the edge has to hold, by key.
func (s *site) versions(namespace string) map[string]string {
	s.t.Helper()
	want := map[string]string{}
	for _, item := range s.cloud.list(s.t, configMaps.path(namespace)).Items {
		o, err := guarantee.ParseObject(item)
		if err != nil {
			s.t.Fatal(err)
		}
		want[o.Key] = fmt.Sprint(o.RV)
	}
	return want
}

// TestInformers runs client-go's informers against an edge, with the consistency check of every
// state they get: see detector.
func TestInformers(t *testing.T) {
	const protobuf = "application/vnd.kubernetes.protobuf"
	s := newSite(t, hubConfig{})
	s.fill(200, 100)
	early := startInformers(t, s.local.base, "application/json")
	early.awaitSynced(t)
	early.awaitHolds(t, s.versions("default"))

	t.Run("online, while objects change", func(t *testing.T) {
		l := startLoad(t, s.history, s.cloud, seed(t), 200, loadKinds[0])
		late := startInformers(t, s.local.base, protobuf)
		late.awaitSynced(t)
		l.awaitCount(300)
		l.stop()
		early.awaitHolds(t, s.versions("default"))
		late.awaitHolds(t, s.versions("default"))
	})
	t.Run("offline", func(t *testing.T) {
		s.cut()
		want := s.versions("default")
		began := time.Now()
		offline := startInformers(t, s.local.base, protobuf)
		offline.awaitSynced(t)
		t.Logf("synced offline in %s", time.Since(began))
		offline.awaitHolds(t, want)
	})
	t.Run("across a restart of the edge, first offline, then back", func(t *testing.T) {
		s.restartEdge()
		early.awaitHolds(t, s.versions("default"))
		after := startInformers(t, s.local.base, protobuf)
		after.awaitSynced(t)
		l := startLoad(t, s.history, s.cloud, seed(t)+1, 200, loadKinds[0])
		l.awaitCount(200)
		s.heal()
		s.restartEdge()
		l.awaitCount(100)
		l.stop()
		early.awaitHolds(t, s.versions("default"))
		after.awaitHolds(t, s.versions("default"))
	})
}
