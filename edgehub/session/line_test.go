package session

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/stats"
)

// TestLineIsKeptForItsCalls: a connection that its session has left ends with the last call on it, or when calls have had
// their time, or with the edge.
func TestLineIsKeptForItsCalls(t *testing.T) {
	for name, test := range map[string]struct {
		ends, stops time.Duration // the call and the edge; 0: never
		want        time.Duration
	}{
		"no call":            {want: lineLinger},
		"a call that ends":   {ends: 20 * time.Second, want: 20 * time.Second},
		"a call that stays":  {want: lineLinger + callGrace},
		"an edge that stops": {stops: 10 * time.Second, want: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &Client{keys: newKeys(insecure.NewCredentials())}
				ctx, stop := context.WithCancel(t.Context())
				wait := c.lines.open(ctx)
				l, err := c.dialLine("127.0.0.1:1")
				if err != nil {
					t.Fatal(err)
				}
				if name != "no call" {
					l.HandleRPC(ctx, &stats.Begin{})
				}
				start := time.Now()
				if test.ends > 0 {
					time.AfterFunc(test.ends, func() { l.HandleRPC(ctx, &stats.End{}) })
				}
				if test.stops > 0 {
					time.AfterFunc(test.stops, stop)
				}
				c.lines.leave(l)
				for l.conn.GetState() != connectivity.Shutdown {
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
				}
				if took := time.Since(start); took < test.want || took > test.want+200*time.Millisecond {
					t.Errorf("closed after %v, want %v", took, test.want)
				}
				stop()
				wait()
			})
		})
	}
}
