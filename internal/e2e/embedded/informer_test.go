//go:build e2e

package embedded_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

func (r *rig) clientset(contentType string) *kubernetes.Clientset {
	r.Helper()
	c, err := kubernetes.NewForConfig(&rest.Config{Host: r.url, QPS: -1, ContentConfig: rest.ContentConfig{
		ContentType: contentType, AcceptContentTypes: contentType + ",application/json",
	}})
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// An informer, which reads protobuf through litesrv, ends up with what was written, and saw it in order.
func TestInformerFollowsWrites(t *testing.T) {
	r := newRig(t)
	client := r.clientset("application/vnd.kubernetes.protobuf")
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().ConfigMaps().Informer()
	var mu sync.Mutex
	last := uint64(0) // guarded by mu
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, obj any) {
		mu.Lock()
		defer mu.Unlock()
		rev, _ := strconv.ParseUint(obj.(*corev1.ConfigMap).ResourceVersion, 10, 64)
		if rev <= last {
			t.Errorf("an update to %d after %d", rev, last)
		}
		last = rev
	}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	factory.Start(ctx.Done())
	defer factory.Shutdown()
	defer cancel()
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		t.Fatal("the informer never had its first state")
	}
	maps := client.CoreV1().ConfigMaps("default")
	want := map[string]string{}
	for i := range 60 {
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", i%7)}, Data: map[string]string{"i": fmt.Sprint(i)}}
		switch got, err := maps.Create(t.Context(), cm, metav1.CreateOptions{}); {
		case err == nil:
			want[cm.Name] = got.ResourceVersion
		case i%5 == 0:
			if err := maps.Delete(t.Context(), cm.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			delete(want, cm.Name)
		default:
			if got, err = maps.Update(t.Context(), cm, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			want[cm.Name] = got.ResourceVersion
		}
	}
	for range 200 {
		if fmt.Sprint(held(informer)) == fmt.Sprint(want) {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("the informer has %v, want %v", held(informer), want)
}

// held returns the resourceVersions in an informer's cache by name.
func held(i cache.SharedIndexInformer) map[string]string {
	m := map[string]string{}
	for _, obj := range i.GetStore().List() {
		cm := obj.(*corev1.ConfigMap)
		m[cm.Name] = cm.ResourceVersion
	}
	return m
}

// A list that begins after a write is not older than it, whatever it is a list of.
func TestListsAreNeverOlderThanAWrite(t *testing.T) {
	r := newRig(t)
	client := r.clientset("application/json")
	for range 20 {
		cm, err := client.CoreV1().ConfigMaps("default").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: "c-"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		list, err := client.AppsV1().Deployments("").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wrote, _ := strconv.ParseUint(cm.ResourceVersion, 10, 64)
		read, _ := strconv.ParseUint(list.ResourceVersion, 10, 64)
		if read < wrote {
			t.Errorf("a list at %d after a write at %d", read, wrote)
		}
	}
}
