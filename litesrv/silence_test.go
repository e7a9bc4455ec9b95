package litesrv

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/internal/loopback"
)

// TestAnInformerThatHearsNothingDoesNotSpin leaves an informer alone for an hour in which nothing happens: it lists once,
// and watches go on from where the last one ended, for as long as the client wants them.
func TestAnInformerThatHearsNothingDoesNotSpin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.load(configmaps, thing{ns: "t1", name: "c1"})
		q := &queries{Handler: w.server(), seen: map[string]int{}}
		client, err := kubernetes.NewForConfig(&rest.Config{
			Host: "http://edge", Transport: &loopback.Transport{Handler: q, Logger: slog.New(slog.DiscardHandler)},
		})
		if err != nil {
			t.Fatal(err)
		}
		factory := informers.NewSharedInformerFactory(client, 0)
		informer := factory.Core().V1().ConfigMaps().Informer()
		stop := make(chan struct{})
		factory.Start(stop)
		factory.WaitForCacheSync(stop)
		time.Sleep(time.Hour)
		w.write(l, thing{ns: "t1", name: "c2"})
		synctest.Wait()
		if n := len(informer.GetStore().List()); n != 2 {
			t.Errorf("%d objects", n)
		}
		close(stop)
		factory.Shutdown()
		// client-go ends a watch after five to ten minutes of its own.
		if lists, watches := q.count("watch list")+q.count("list"), q.count("watch"); lists != 1 || watches < 5 || watches > 12 {
			t.Errorf("%d lists and %d watches in an hour", lists, watches)
		}
	})
}
