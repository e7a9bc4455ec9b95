package printer

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// TestCustomResourcesArePrintedAsByKubeAPIServer prints what kube-apiserver 1.37.2 printed.
func TestCustomResourcesArePrintedAsByKubeAPIServer(t *testing.T) {
	raw, err := os.ReadFile("../../kube/testdata/tables.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Resource watchlog.Resource
		Columns  string
		Rows     []string
		Seen     time.Time
		CRD      string
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"widgets.ex.io", "plains.ex.io"} {
		table := all[name]
		var crd struct {
			Spec struct {
				Versions []struct {
					Columns []Column `json:"additionalPrinterColumns"`
				}
			}
		}
		if err := json.Unmarshal([]byte(table.CRD), &crd); err != nil {
			t.Fatal(err)
		}
		p := Custom(crd.Spec.Versions[0].Columns)
		if got := html(p.Columns()); got != html(table.Columns) {
			t.Errorf("%s: columns\n got %s\nwant %s", name, got, table.Columns)
		}
		for _, row := range table.Rows {
			object := watchlog.Member([]byte(row), "object")
			o, err := watchlog.NewDecoder(&table.Resource).DecodeRow(object, p.Cells(object))
			if err != nil {
				t.Fatal(err)
			}
			shown := false
			for d := -time.Second; d <= time.Second; d += 500 * time.Millisecond {
				shown = shown || strings.HasPrefix(row, "{"+string(o.AppendCells(nil, table.Seen.Add(d)))+",")
			}
			if !shown {
				t.Errorf("%s %s:\n got %s\nwant %s", name, o.Key(), o.AppendCells(nil, table.Seen), row[:200])
			}
		}
	}
}

// html undoes what json.Marshal does for browsers, and kube-apiserver doesn't everywhere.
func html(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(s)
}

func TestBuiltinKinds(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct{ group, name, object, want string }{
		{"", "configmaps", `{"metadata":{"name":"a","creationTimestamp":"2026-01-02T03:00:00Z"},"data":{"x":"1","y":"2"},"binaryData":{"z":""}}`, `["a",3,"4m5s"]`},
		{"", "secrets", `{"metadata":{"name":"a"},"type":"Opaque"}`, `["a","Opaque",0,"\u003cunknown\u003e"]`},
		{"", "namespaces", `{"metadata":{"name":"a","creationTimestamp":"2026-01-01T00:00:00Z"},"status":{"phase":"Active"}}`, `["a","Active","27h"]`},
		{"", "pods", `{"metadata":{"name":"a"},"spec":{"containers":[{},{}]},"status":{"phase":"Running","containerStatuses":[{"ready":true,` +
			`"restartCount":2},{"state":{"waiting":{"reason":"CrashLoopBackOff"}},"restartCount":3}]}}`, `["a","1/2","CrashLoopBackOff","5","\u003cunknown\u003e"]`},
		{"", "pods", `{"metadata":{"name":"a","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"containers":[{}]}}`, `["a","0/1","Terminating","0","\u003cunknown\u003e"]`},
		{"", "nodes", `{"metadata":{"name":"a"},"spec":{"unschedulable":true},"status":{"conditions":[{"type":"Ready","status":"False"}]}}`,
			`["a","NotReady,SchedulingDisabled","\u003cunknown\u003e"]`},
		{"", "nodes", `{"metadata":{"name":"a"}}`, `["a","Unknown","\u003cunknown\u003e"]`},
		{"apps", "deployments", `{"metadata":{"name":"a"},"spec":{"replicas":3},"status":{"readyReplicas":1,"updatedReplicas":2}}`,
			`["a","1/3",2,0,"\u003cunknown\u003e"]`},
		{"", "events", `{"metadata":{"name":"a"},"involvedObject":{"kind":"Pod","name":"p"},"reason":"R","message":"m","lastTimestamp":"2026-01-02T03:00:00Z",` +
			`"type":"Normal"}`, `["4m5s","Normal","R","pod/p","m","a"]`},
		{"events.k8s.io", "events", `{"metadata":{"name":"a"},"regarding":{"kind":"Pod"},"note":"n","series":{"lastObservedTime":"2026-01-02T03:04:00.5Z"}}`,
			`["4s","","","pod","n","a"]`},
		{"other", "things", `{"metadata":{"name":"a","creationTimestamp":"2026-01-02T03:00:00Z"}}`, `["a","4m5s"]`},
	} {
		r := &watchlog.Resource{Group: c.group, Version: "v1", Name: c.name}
		p := For(r)
		raw := strings.Replace(c.object, `"name":"a"`, `"name":"a","resourceVersion":"1"`, 1)
		o, err := watchlog.NewDecoder(r).DecodeRow([]byte(raw), p.Cells([]byte(raw)))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(o.AppendCells(nil, now)); got != `"cells":`+c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
		var columns []json.RawMessage
		cells := 0
		watchlog.Elements(o.Cells(), func(int, []byte) bool { cells++; return true })
		if err := json.Unmarshal([]byte(p.Columns()), &columns); err != nil || len(columns) != cells {
			t.Errorf("%s: %d cells in columns %s: %v", c.name, cells, p.Columns(), err)
		}
	}
}
