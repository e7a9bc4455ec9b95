package kube

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// recordedTable is a table as kube-apiserver 1.37.2 gave it, with whole objects.
type recordedTable struct {
	Resource watchlog.Resource
	Columns  string
	Rows     []string
	Seen     time.Time // when it was asked, give or take a second
	CRD      string    // of a custom resource
}

func recordedTables(t testing.TB) map[string]*recordedTable {
	t.Helper()
	raw, err := os.ReadFile("testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]*recordedTable
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// printer returns what the source makes of the resource.
func (r *recordedTable) printer(t testing.TB) *printer {
	t.Helper()
	var c custom
	var columns []column
	err := json.Unmarshal([]byte(r.Columns), &columns)
	if err == nil && r.CRD != "" {
		c, err = readCustom([]byte(r.CRD), r.Resource.Version)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &printer{ages: agesOf(&r.Resource, columns, c.columns.ages())}
}

// event returns the row as an event of a watch carries it.
func (r *recordedTable) event(row string) []byte {
	return []byte(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"7"},"columnDefinitions":` +
		r.Columns + `,"rows":[` + row + `]}`)
}

// fixed are texts that look like ages and are none: how long something took.
var fixed = map[string]string{"jobs.batch": `"16m"`}

// TestCellsTellTheirAgesAtAnyTime takes every recorded row apart and renders it as of when it was recorded.
func TestCellsTellTheirAgesAtAnyTime(t *testing.T) {
	looksLikeAge := regexp.MustCompile(`"(\d+[smhdy])+"|\([^)]* ago\)`)
	for name, table := range recordedTables(t) {
		j := rowJoiner{printer: table.printer(t), dec: watchlog.NewDecoder(&table.Resource)}
		for _, raw := range table.Rows {
			columns, row, ok := cutTable(table.event(raw))
			if !ok || string(columns) != table.Columns {
				t.Fatalf("%s: not cut: %s", name, raw)
			}
			o, err := j.join(row)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !strings.HasSuffix(raw, string(o.JSON())+"}") {
				t.Errorf("%s: the bytes of %s are others", name, o.Key())
			}
			want := strings.TrimPrefix(raw[:len(raw)-len(o.JSON())-len(`,"object":}`)], "{")
			if !table.shows(o, want) {
				t.Errorf("%s %s:\n got %s\nwant %s", name, o.Key(), o.AppendCells(nil, table.Seen), want)
			}
			kept := strings.ReplaceAll(string(o.Cells()), fixed[name], "")
			if found := looksLikeAge.FindString(kept); found != "" && !strings.Contains(found, "%s") {
				t.Errorf("%s %s keeps %s in %s", name, o.Key(), found, kept)
			}
		}
	}
}

// shows tells whether the cells of o were want within a second of when they were recorded.
func (r *recordedTable) shows(o *watchlog.Object, want string) bool {
	for d := -1500 * time.Millisecond; d <= 1500*time.Millisecond; d += 500 * time.Millisecond {
		if string(o.AppendCells(nil, r.Seen.Add(d))) == want {
			return true
		}
	}
	return false
}

// TestRowsOfAnotherFormAreReadToo has the members in another order and with spaces.
func TestRowsOfAnotherFormAreReadToo(t *testing.T) {
	table := recordedTables(t)["pods"]
	var fast, slow rawRow
	for _, raw := range table.Rows {
		event := table.event(raw)
		var loose bytes.Buffer
		if err := json.Indent(&loose, event, "", " "); err != nil {
			t.Fatal(err)
		}
		if _, _, ok := cutTable(loose.Bytes()); ok {
			t.Fatal("cut, although it looks different")
		}
		var err error
		if _, fast, err = splitTable(event); err != nil {
			t.Fatal(err)
		}
		if _, slow, err = splitTable(loose.Bytes()); err != nil {
			t.Fatal(err)
		}
		for _, pair := range [][2][]byte{{fast.Cells, slow.Cells}, {fast.Object, slow.Object}, {fast.Conditions, slow.Conditions}} {
			var a, b bytes.Buffer
			if len(pair[0]) == 0 && len(pair[1]) == 0 {
				continue
			}
			if json.Compact(&a, pair[0]) != nil || json.Compact(&b, pair[1]) != nil || a.String() != b.String() {
				t.Errorf("%s and %s", pair[0], pair[1])
			}
		}
	}
	if _, _, err := splitTable([]byte(`{"kind":"Table","rows":[]}`)); err == nil {
		t.Error("an event without a row")
	}
}

// TestAnAgeOfAnUnknownResourceHasToAgree takes a column's word for it only if its text is what the creation gives.
func TestAnAgeOfAnUnknownResourceHasToAgree(t *testing.T) {
	r := &watchlog.Resource{Group: "aggregated.example.com", Version: "v1", Name: "things"}
	p := &printer{ages: agesOf(r, []column{{"Name"}, {"Age"}, {"Uptime"}}, nil)}
	created := time.Now().Add(-5 * time.Hour).UTC().Format(time.RFC3339)
	object := []byte(`{"metadata":{"name":"a","creationTimestamp":"` + created + `"}}`)
	for cells, want := range map[string]string{
		`["a","5h","5h"]`: `["a",{"since":"` + created + `","format":"%s"},"5h"]`,
		`["a","4h","5h"]`: `["a","4h","5h"]`,
		`["a",5,"5h"]`:    `["a",5,"5h"]`,
		`["a"]`:           `["a"]`,
	} {
		if got := string(p.appendRow(nil, rawRow{Cells: []byte(cells), Object: object})); got != want {
			t.Errorf("%s becomes %s", cells, got)
		}
	}
}

// TestEvictionsTellWhatIsAhead is of a resource that needs a feature gate.
func TestEvictionsTellWhatIsAhead(t *testing.T) {
	r := &watchlog.Resource{Group: "lifecycle.k8s.io", Version: "v1alpha1", Name: "evictions"}
	p := &printer{ages: agesOf(r, []column{{"Responder Status"}, {"Responder Expected Finish"}, {"Responder Heartbeat"}}, nil)}
	object := []byte(`{"metadata":{"name":"a"},"status":{"targetResponders":[{"name":"old","state":"Completed"},{"name":"r","state":"Active"}],` +
		`"responders":[{"name":"old"},{"name":"r","startTime":"2026-01-02T03:00:00Z","heartbeatTime":"2026-01-02T03:01:00Z",` +
		`"expectedCompletionTime":"2026-01-02T04:00:00Z"}]}}`)
	got := string(p.appendRow(nil, rawRow{Cells: []byte(`["Started (5m ago)","in 55m","4m ago"]`), Object: object}))
	want := `[{"since":"2026-01-02T03:00:00Z","format":"Started (%s ago)"},` +
		`{"since":"2026-01-02T04:00:00Z","format":"%s ago","ahead":"in %s"},{"since":"2026-01-02T03:01:00Z","format":"%s ago"}]`
	if got != want {
		t.Errorf(" got %s\nwant %s", got, want)
	}
}

func FuzzCutTable(f *testing.F) {
	for _, table := range recordedTables(f) {
		f.Add(table.event(table.Rows[0]))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		columns, row, ok := cutTable(raw)
		if !ok {
			return
		}
		whole := tableHead + string(columns) + string(row.Cells) + string(row.Conditions) + string(row.Object)
		if len(whole) > len(raw) {
			t.Errorf("%d bytes out of %d", len(whole), len(raw))
		}
	})
}

// BenchmarkJoinRow makes objects of live events, with their cells and without.
func BenchmarkJoinRow(b *testing.B) {
	table := recordedTables(b)["pods"]
	j := rowJoiner{printer: table.printer(b), dec: watchlog.NewDecoder(&table.Resource)}
	event := []byte(strings.Replace(string(table.event(table.Rows[8])), table.Columns, "null", 1))
	for name, join := range map[string]func() (*watchlog.Object, error){
		"row": func() (*watchlog.Object, error) {
			_, row, _ := cutTable(event)
			return j.join(row)
		},
		"plain": func() (*watchlog.Object, error) {
			_, row, _ := cutTable(event)
			return j.dec.Decode(bytes.Clone(row.Object))
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(event)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := join(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
