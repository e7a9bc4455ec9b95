package litesrv

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// BenchmarkListTable lists 20,000 pods as tables, and plainly to compare with.
func BenchmarkListTable(b *testing.B) {
	w := newWorld(b, 100)
	g := readTables(b)["pods"]
	res := g.Resource
	l := w.open(&res, watchlog.Config{})
	content := watchlog.Content{Rev: 100, Floor: 100}
	for _, x := range bigPods(20_000) {
		cells := fmt.Sprintf(`[%q,"1/1","Running",{"since":"2026-01-02T03:00:00Z","format":"3 (%%s ago)"},`+
			`{"since":"2026-01-01T00:00:00Z","format":"%%s"},"10.0.0.1","node-1","\u003cnone\u003e","\u003cnone\u003e"]`, x.name)
		o, err := l.Decoder().DecodeRow([]byte(x.json(&res, 100)), []byte(cells))
		if err != nil {
			b.Fatal(err)
		}
		content.Objects = append(content.Objects, o)
	}
	if err := l.Load(content); err != nil {
		b.Fatal(err)
	}
	s := w.server()
	for _, c := range []struct{ name, accept, query string }{
		{"plain", "application/json", ""},
		{"none", acceptTable, "&includeObject=None"},
		{"metadata", acceptTable, ""},
		{"object", acceptTable, "&includeObject=Object"},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := httptest.NewRequest(http.MethodGet, "/api/v1/pods?resourceVersion=0"+c.query, nil)
			r.Header.Set("Accept", c.accept)
			b.ReportAllocs()
			for b.Loop() {
				out := &sink{header: http.Header{}}
				s.ServeHTTP(out, r)
				b.SetBytes(out.n)
			}
		})
	}
}
