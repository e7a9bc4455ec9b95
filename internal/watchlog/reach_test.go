package watchlog

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
)

// beat returns a version of an object with so much text that does not change: a lease that is renewed, a node that reports.
func beat(t testing.TB, d *Decoder, key int, noise string, rev uint64) *Object {
	at := fmt.Sprintf("2026-01-02T%02d:%02d:%02d.%06dZ", rev/3600%24, rev/60%60, rev%60, rev*7919%1_000_000)
	o, err := d.Decode(fmt.Appendf(nil, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"node-%d",`+
		`"namespace":"kube-node-lease","uid":"0c2a4e1e-%04x-4f4e-9c53-1d1f7d5f4a1e","resourceVersion":"%d",`+
		`"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"app":"x"},"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"node-%d"}],`+
		`"managedFields":[{"manager":"kubelet","operation":"Update","apiVersion":"coordination.k8s.io/v1","time":"%s","fieldsV1":`+
		`{"f:spec":{"f:holderIdentity":{},"f:leaseDurationSeconds":{},"f:renewTime":{}}}}]},"spec":{"holderIdentity":"node-%d",`+
		`"leaseDurationSeconds":40,"renewTime":"%s"},"noise":"%d %s"}`, key, key, rev, key, at[:19]+"Z", key, at, key, noise))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// noise returns letters that don't repeat.
func noise(n int) string {
	rng := rand.New(rand.NewPCG(5, 5))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte('a' + rng.IntN(26))
	}
	return string(b)
}

// fill beats until the window of a log drops events or holds limit of them, and returns how many it holds.
func fill(t testing.TB, l *Log, keys int, noise string, limit int) int {
	c := Content{Rev: 1_000_000, Floor: 1_000_000}
	for k := range keys {
		c.Objects = append(c.Objects, beat(t, l.Decoder(), k, noise, uint64(k+1)))
	}
	if err := l.Load(c); err != nil {
		t.Fatal(err)
	}
	for i := 0; l.Oldest() == c.Rev && i < limit; i++ {
		rev := l.Rev() + 1
		o := beat(t, l.Decoder(), i%keys, noise, rev)
		if err := l.Commit(Batch{Rev: rev, Events: []*Event{
			{Rev: rev, Shown: rev, Type: Modified, Object: o, Prev: l.Snapshot().Get(o.key)},
		}}); err != nil {
			t.Fatal(err)
		}
		if i%50 == 0 {
			l.packers.Wait() // a real cluster beats more slowly than this
		}
	}
	l.packers.Wait()
	return l.win.len()
}

// TestAHeartbeatTakesLittle: whatever the size of the object, and not only by the window's own accounting.
func TestAHeartbeatTakesLittle(t *testing.T) {
	l := New(pods, Config{})
	l.hot = heat{events: 100, bytes: 1 << 30, step: 50}
	const n, keys = 20_000, 200
	before := heapInUse()
	if got := fill(t, l, keys, noise(2000), n); got != n {
		t.Fatalf("%d events", got)
	}
	after := heapInUse()
	state := int64(keys * 4000)
	counted, taken := l.win.bytes/n, (after-before-state)/n
	t.Logf("%d bytes for an event, %d by the heap", counted, taken)
	if counted > 350 || taken > 350 || taken > 2*counted {
		t.Errorf("a heartbeat costs %d bytes, and takes %d", counted, taken)
	}
	runtime.KeepAlive(l)
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkReach prints how many minutes of a busy cluster a window of 8 MiB holds, in events of 1,000 nodes of 12 KB and
// of 2,000 leases that beat every ten seconds each: a window of 64 MiB holds eight times as much.
func BenchmarkReach(b *testing.B) {
	for _, c := range []struct {
		name        string
		keys, noise int
		rate        float64 // events per second
	}{{"nodes", 1000, 11_500, 100}, {"leases", 2000, 0, 200}} {
		b.Run(c.name, func(b *testing.B) {
			text := noise(c.noise)
			events := 0
			for b.Loop() {
				l := New(pods, Config{MaxBytes: 8 << 20})
				events = fill(b, l, c.keys, text, 1<<30)
				l.Close(nil)
			}
			b.ReportMetric(float64(events)/c.rate/60, "minutes")
			b.ReportMetric(float64(8<<20)/float64(events), "B/event")
		})
	}
}
