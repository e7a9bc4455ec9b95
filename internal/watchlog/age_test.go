package watchlog

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

func TestDurationsReadAsUpstreams(t *testing.T) {
	check := func(d time.Duration) {
		t.Helper()
		var got string
		if err := json.Unmarshal(append(appendDuration([]byte{'"'}, d), '"'), &got); err != nil || got != duration.HumanDuration(d) {
			t.Fatalf("%d s: %s, upstream %s", d/time.Second, got, duration.HumanDuration(d))
		}
	}
	for s := range 800_000 {
		check(time.Duration(s-100)*time.Second + 999*time.Millisecond)
	}
	check(-1500 * time.Millisecond)
	check(-999 * time.Millisecond)
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		check(time.Duration(r.Int64N(int64(20 * 365 * 24 * time.Hour))))
	}
	for y := range 9 {
		for _, d := range []time.Duration{-time.Second, 0, 24 * time.Hour} {
			check(time.Duration(y)*365*24*time.Hour + d)
		}
	}
}

func TestAgesMoveOn(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for cells, want := range map[string]string{
		`["a",1,null]`: `"cells":["a",1,null]`,
		`["a",{"since":"2026-01-02T03:00:00Z","format":"%s"}]`:                        `"cells":["a","4m5s"]`,
		`[{"since":"2026-01-02T03:00:00Z","format":"5 (%s ago)"},2]`:                  `"cells":["5 (4m5s ago)",2]`,
		`[{"since":"2026-01-02T04:00:00+01:00","format":"%s"}]`:                       `"cells":["4m5s"]`,
		`[{"since":"2026-01-02T03:04:04.5Z","format":"%s"}]`:                          `"cells":["0s"]`,
		`[{"since":"2026-01-02T03:05:00Z","format":"%s"}]`:                            `"cells":["\u003cinvalid\u003e"]`,
		`[{"since":"2026-01-02T03:05:00Z","format":"%s ago","ahead":"in %s"}]`:        `"cells":["in 55s"]`,
		`[{"since":"2026-01-02T03:00:00Z","format":"%s ago","ahead":"in %s"}]`:        `"cells":["4m5s ago"]`,
		`[{"since":"2026-01-02T03:00:00Z","format":"say \"%s\" \\"}]`:                 `"cells":["say \"4m5s\" \\"]`,
		`["{\"since\":\"2026-01-02T03:00:00Z\",\"format\":\"%s\"}"]`:                  `"cells":["{\"since\":\"2026-01-02T03:00:00Z\",\"format\":\"%s\"}"]`,
		`[{"since":"yesterday","format":"%s"}]`:                                       `"cells":[{"since":"yesterday","format":"%s"}]`,
		`[{"since":"2026-01-02T03:00:00Z"}]`:                                          `"cells":[{"since":"2026-01-02T03:00:00Z"}]`,
		`[{"since":"2026-99-02T03:00:00Z","format":"%s"}]`:                            `"cells":[{"since":"2026-99-02T03:00:00Z","format":"%s"}]`,
		`{"cells":[{"since":"2026-01-02T03:00:00Z","format":"%s"}],"conditions":[1]}`: `"cells":["4m5s"],"conditions":[1]`,
	} {
		o := &Object{cells: []byte(cells)}
		if got := string(o.AppendCells(nil, now)); got != want {
			t.Errorf("%s:\n got %s\nwant %s", cells, got, want)
		}
	}
}

// FuzzAges holds the scan for ages against encoding/json.
func FuzzAges(f *testing.F) {
	for _, cells := range []string{
		`["a",{"since":"2026-01-02T03:00:00Z","format":"%s"},{"since":"x","format":"%s"}]`,
		`[{"since":"2026-01-02T03:00:00.1Z","format":"\"%s","ahead":"in %s"},"{\"since\":\"\""]`,
		`["{",{"since":"`, `["abc{","since"]`,
	} {
		f.Add([]byte(cells))
	}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, cells []byte) {
		var want []any
		if json.Unmarshal(cells, &want) != nil {
			return
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, cells); err != nil {
			t.Fatal(err)
		}
		var got []any
		out := appendAges(nil, compact.Bytes(), now)
		if err := json.Unmarshal(out, &got); err != nil || len(got) != len(want) {
			t.Fatalf("%s became %s: %v", cells, out, err)
		}
		for i := range want {
			if s, ok := want[i].(string); ok && got[i] != s {
				t.Errorf("the text %q became %v", s, got[i])
			}
		}
	})
}

func BenchmarkAppendCells(b *testing.B) {
	o := &Object{cells: []byte(`["a-pod-with-a-name","1/1","Running",{"since":"2026-01-02T03:00:00Z","format":"3 (%s ago)"},` +
		`{"since":"2026-01-01T00:00:00Z","format":"%s"},"10.0.0.1","node-1","` + strings.Repeat("x", 8) + `"]`)}
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	buf := make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf = o.AppendCells(buf[:0], now)
	}
}
