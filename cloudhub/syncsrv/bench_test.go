package syncsrv

import (
	"fmt"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// discard is a stream that encodes what is sent as gRPC would, and drops it.
type discard struct {
	tombolov1.SyncService_SyncServer
	bytes int
}

func (s *discard) SendMsg(m any) error {
	b, err := newCodec().Marshal(m)
	s.bytes += b.Len()
	b.Free()
	return err
}

func benchSubscription(b *testing.B, c *chronicle, srv *Server, out *discard) *subscription {
	u, _ := testSubscription()
	u.s.srv, u.s.stream, u.s.can = srv, out, capabilities{patches: true, frames: true}
	u.s.buf = make([]*watchlog.Event, 0, pageEvents)
	u.log, u.view = c.log, testView(b, testRules[1])
	u.projection = srv.projections.of(c.log, u.view)
	return u
}

// BenchmarkFirstSync is what the first sync of an edge costs, one of many with the same view that begin together.
func BenchmarkFirstSync(b *testing.B) {
	const edges = 100
	c, srv := newChronicle(b, 8, watchlog.Config{}), sharingServer()
	c.stock(3000)
	out := &discard{}
	b.ReportAllocs()
	for b.Loop() {
		var all []*subscription
		for range edges {
			u := benchSubscription(b, c, srv, out)
			if err := u.beginChanges(0); err != nil {
				b.Fatal(err)
			}
			all = append(all, u)
		}
		for left := edges; left > 0; {
			left = 0
			for _, u := range all {
				if _, err := u.step(b.Context()); err != nil {
					b.Fatal(err)
				}
				if u.phase == changing {
					left++
				}
			}
		}
		for _, u := range all {
			u.close()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/edges, "ns/edge")
	b.ReportMetric(float64(out.bytes)/float64(b.N)/edges, "B/edge")
}

// BenchmarkEvent is what one event costs that many edges with the same view are sent, and one that concerns none of them.
func BenchmarkEvent(b *testing.B) {
	const edges = 1000
	for _, kind := range []string{"patch", "whole", "other"} {
		b.Run(kind, func(b *testing.B) {
			c, srv := newChronicle(b, 7, watchlog.Config{MaxEvents: 1000}), sharingServer()
			c.stock(300)
			var all []*subscription
			out := &discard{}
			for range edges {
				u := benchSubscription(b, c, srv, out)
				u.s.can.patches = kind != "whole"
				reader, err := c.log.NewReader(c.log.Rev(), u, u.view.Terms()...)
				if err != nil {
					b.Fatal(err)
				}
				u.reader = reader
				u.goLive(c.log.Rev())
				all = append(all, u)
			}
			node := "n1"
			if kind == "other" {
				node = "n2"
			}
			i := 0
			out.bytes = 0
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				o := c.log.Snapshot().Get(fmt.Sprint("ns/stock-", 3*(i%100)+int(node[1]-'0')))
				i++
				c.rev++
				c.write(c.object(o.Name(), o.UID(), node, string(o.JSON()[100:3000]), c.rev))
				b.StartTimer()
				for _, u := range all {
					for busy := true; busy; {
						var err error
						if busy, err = u.step(b.Context()); err != nil {
							b.Fatal(err)
						}
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/edges, "ns/edge")
			b.ReportMetric(float64(out.bytes)/float64(b.N)/edges, "B/edge")
		})
	}
}
