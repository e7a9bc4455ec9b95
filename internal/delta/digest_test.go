package delta

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

func object(t testing.TB, key, uid string, rev uint64) *watchlog.Object {
	t.Helper()
	d := watchlog.NewDecoder(&watchlog.Resource{Name: "things"})
	o, err := d.Decode(fmt.Appendf(nil, `{"metadata":{"name":%q,"uid":%q,"resourceVersion":"%d"}}`, key, uid, rev))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestDigestDoesNotDependOnTheWayThere(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	objects := make([]*watchlog.Object, 200)
	for i := range objects {
		objects[i] = object(t, fmt.Sprint("o", i), fmt.Sprint("u", i), uint64(i+1))
	}
	var straight, crooked Digest
	for _, o := range objects[:100] {
		straight.Add(o)
	}
	for _, i := range rng.Perm(200) {
		crooked.Add(objects[i])
	}
	for _, o := range objects[100:] {
		crooked.Remove(o)
	}
	if straight != crooked {
		t.Fatalf("%+v, %+v", straight, crooked)
	}
	parsed, err := Parse(straight.Count, straight.Bytes())
	if err != nil || parsed != straight {
		t.Fatalf("parsed %+v: %v", parsed, err)
	}
	if _, err := Parse(1, []byte("short")); !errors.Is(err, ErrDigest) {
		t.Errorf("short sum: %v", err)
	}
}

func TestDigestTellsEveryPartApart(t *testing.T) {
	seen := map[Digest]string{}
	for _, o := range []*watchlog.Object{
		object(t, "a", "u", 1), object(t, "b", "u", 1), object(t, "a", "v", 1), object(t, "a", "u", 2), object(t, "au", "", 1),
	} {
		var d Digest
		d.Add(o)
		if other, ok := seen[d]; ok {
			t.Errorf("%s@%d has the digest of %s", o.Key(), o.Rev(), other)
		}
		seen[d] = o.Key()
	}
}

// TestDigestTellsContentApart: bytes or cells that differ under one revision are another version.
func TestDigestTellsContentApart(t *testing.T) {
	d := watchlog.NewDecoder(&watchlog.Resource{Name: "things"})
	seen := map[Digest]int{}
	for i, row := range [][2]string{
		{`{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`, ``},
		{`{"metadata":{"name":"a","uid":"u","resourceVersion":"1"},"x":1}`, ``},
		{`{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`, `["1"]`},
		{`{"metadata":{"name":"a","uid":"u","resourceVersion":"1"}}`, `["2"]`},
	} {
		o, err := d.DecodeRow([]byte(row[0]), []byte(row[1]))
		if err != nil {
			t.Fatal(err)
		}
		if want := Checksum([]byte(row[0]), []byte(row[1])); o.Checksum() != want {
			t.Errorf("row %d has checksum %08x, want %08x", i, o.Checksum(), want)
		}
		var sum Digest
		sum.Add(o)
		if other, ok := seen[sum]; ok {
			t.Errorf("row %d has the digest of row %d", i, other)
		}
		seen[sum] = i
	}
}

func TestDigestFollowsEvents(t *testing.T) {
	a1, a2, b := object(t, "a", "u", 1), object(t, "a", "u", 3), object(t, "b", "v", 2)
	var followed, want Digest
	followed.Apply([]*watchlog.Event{
		{Type: watchlog.Added, Object: a1}, {Type: watchlog.Added, Object: b},
		{Type: watchlog.Modified, Object: a2, Prev: a1}, {Type: watchlog.Deleted, Object: b, Prev: b},
	})
	want.Add(a2)
	if followed != want {
		t.Fatalf("%+v, want %+v", followed, want)
	}
}

func BenchmarkDigestAdd(b *testing.B) {
	o := object(b, "a-namespace/a-pod-with-a-name", "6a1f3c0e-0000-4000-8000-000000000000", 123456)
	b.ReportAllocs()
	var d Digest
	for b.Loop() {
		d.Add(o)
	}
}
