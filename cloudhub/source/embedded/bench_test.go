package embedded

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func openBench(b *testing.B) *Cloud {
	b.Helper()
	c, err := Open(filepath.Join(b.TempDir(), "cloud.db"), Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}

func (c *Cloud) benchCreate(name string) error {
	return c.write(func(t *tx) error {
		f := t.resources.byGVR[corev1.SchemeGroupVersion.WithResource("configmaps")]
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": "b"}}
		cm.SetGroupVersionKind(f.def().GVK())
		_, err := t.create(f, "default", cm)
		return err
	})
}

// BenchmarkCreate measures creates by one writer, each with a sync of its own, and by many, who share them.
func BenchmarkCreate(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			c := openBench(b)
			var n atomic.Int64
			b.SetParallelism(writers)
			b.ResetTimer()
			if writers == 1 {
				for b.Loop() {
					if err := c.benchCreate(fmt.Sprintf("c%d", n.Add(1))); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if err := c.benchCreate(fmt.Sprintf("c%d", n.Add(1))); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}
