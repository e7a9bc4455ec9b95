package litesrv

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const acceptTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// columned returns a resource whose cloud gives tables of two columns.
func columned(r *watchlog.Resource) *watchlog.Resource {
	c := *r
	c.Columns = `[{"name":"Name"},{"name":"Age"}]`
	return &c
}

func TestATableThatThereIsNotIsTheNextChoice(t *testing.T) {
	const teapot = http.StatusTeapot
	for name, c := range map[string]struct {
		r        *watchlog.Resource
		accept   string
		fallback bool
		lost     bool
		want     int
		table    bool
	}{
		"columns":              {columned(configmaps), acceptTable, true, false, 200, true},
		"next choice":          {configmaps, acceptTable + ",application/json", true, false, 200, false},
		"next choice, lost":    {configmaps, acceptTable + ",application/json", true, true, 200, false},
		"next choice, alone":   {configmaps, acceptTable + ",application/json", false, false, 200, false},
		"no choice, lost":      {configmaps, acceptTable, true, true, 406, false},
		"no choice, alone":     {configmaps, acceptTable, false, false, 406, false},
		"protobuf of a table":  {columned(configmaps), strings.Replace(acceptTable, "json", "vnd.kubernetes.protobuf", 1), false, false, 406, false},
		"behind protobuf":      {columned(widgets), "application/vnd.kubernetes.protobuf," + acceptTable, false, false, 200, true},
		"another group's":      {columned(configmaps), "application/json;as=Table;v=v1;g=other.io", false, false, 406, false},
		"another version":      {columned(configmaps), "application/json;as=Table;v=v2;g=meta.k8s.io", false, false, 406, false},
		"the version that is ": {columned(configmaps), "application/json;as=Table;v=v2;g=meta.k8s.io," + acceptTable, false, false, 200, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 100)
			l := w.load(c.r, thing{ns: "ns", name: "a"})
			if c.lost {
				l.SetLost(time.Now())
			} else {
				l.SetFollowing()
			}
			s := w.server(func(cfg *Config) {
				if c.fallback {
					cfg.Fallback = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(teapot) })
				}
			})
			base := "/api/v1/namespaces/ns/configmaps"
			if c.r.Custom {
				base = "/apis/ex.io/v1/namespaces/ns/widgets"
			}
			for _, path := range []string{base, base + "/a", base + "?watch=1&timeoutSeconds=0&resourceVersion=abc"} {
				if strings.Contains(path, "watch") && c.want == 200 {
					continue
				}
				got := get(t, s, path, "Accept", c.accept)
				if got.Code != c.want || strings.Contains(got.Body.String(), `"kind":"Table"`) != c.table {
					t.Errorf("%s: %d %s", path, got.Code, got.Body)
				}
			}
		})
	}
}

// TestARowFromBeforeItsColumnsHasAName is of an edge that was told the columns and has yet to fetch the cells.
func TestARowFromBeforeItsColumnsHasAName(t *testing.T) {
	w := newWorld(t, 100)
	w.load(columned(configmaps), thing{ns: "ns", name: "a"})
	want(t, get(t, w.server(), "/api/v1/configmaps?includeObject=None", "Accept", acceptTable), 200,
		`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"100"},"columnDefinitions":`+
			`[{"name":"Name"},{"name":"Age"}],"rows":[{"cells":["a",null],"object":null}]}`+"\n")
}

// TestEmptyTablesAreNullWithoutAPrinter has no rows as kube-apiserver's two makers of tables have none.
func TestEmptyTablesAreNullWithoutAPrinter(t *testing.T) {
	created := func(r *watchlog.Resource) *watchlog.Resource {
		plain := *r
		plain.Columns = `[{"name":"Name"},{"name":"Created At"}]`
		return &plain
	}
	for _, c := range []struct {
		resource *watchlog.Resource
		path     string
		rows     string
	}{
		{columned(configmaps), "/api/v1/configmaps", "[]"},
		{created(configmaps), "/api/v1/configmaps", "null"},
		{created(gizmos), "/apis/ex.io/v1/gizmos", "[]"},
	} {
		w := newWorld(t, 100)
		w.load(c.resource)
		body := get(t, w.server(), c.path, "Accept", acceptTable).Body.String()
		if !strings.HasSuffix(body, `,"rows":`+c.rows+"}\n") {
			t.Errorf("%s: %s", c.resource.Columns, body)
		}
	}
}

// TestAgesMoveOnWhileTheCloudIsLost lists the same state twice.
func TestAgesMoveOnWhileTheCloudIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 100)
		l := w.open(columned(configmaps), watchlog.Config{})
		o, err := l.Decoder().DecodeRow([]byte(thing{ns: "ns", name: "a"}.json(configmaps, 100)),
			[]byte(`["a",{"since":"`+time.Now().UTC().Format(time.RFC3339)+`","format":"%s"}]`))
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Load(watchlog.Content{Objects: []*watchlog.Object{o}, Rev: 100, Floor: 100}); err != nil {
			t.Fatal(err)
		}
		s := w.server()
		for _, age := range []string{`"0s"`, `"5m"`, `"2d"`} {
			if body := get(t, s, "/api/v1/configmaps", "Accept", acceptTable).Body.String(); !strings.Contains(body, `"cells":["a",`+age+`]`) {
				t.Errorf("no %s in %s", age, body)
			}
			l.SetLost(time.Now())
			time.Sleep(map[string]time.Duration{`"0s"`: 5 * time.Minute, `"5m"`: 48*time.Hour - 5*time.Minute}[age])
		}
	})
}

// TestBookmarksOfTables has rows with empty cells, as those of kube-apiserver; the mark that ends the initial events is
// seen whatever is included.
func TestBookmarksOfTables(t *testing.T) {
	const partial = `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"100"`
	const mark = `"annotations":{"k8s.io/initial-events-end":"true"}`
	bookmark := func(columns, cells, object string) string {
		return `{"type":"BOOKMARK","object":{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":"100"},` +
			`"columnDefinitions":` + columns + `,"rows":[{"cells":` + cells + `,"object":` + object + "}]}}\n"
	}
	const columns = `[{"name":"Name"},{"name":"Age"}]`
	const pod = `["","0/0","","0","\u003cunknown\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e","\u003cnone\u003e"]`
	for include, c := range map[string]struct{ pod, later, widget string }{
		"None":     {partial + "," + mark + "}}", "null", partial + "," + mark + "}}"},
		"Metadata": {partial + "," + mark + "}}", partial + "}}", partial + "," + mark + "}}"},
		"Object": {
			`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"100",` + mark + `},"spec":{"containers":null},"status":{}}`,
			`{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":"100"},"spec":{"containers":null},"status":{}}`,
			`{"apiVersion":"ex.io/v1","kind":"Widget","metadata":{` + mark + `,"resourceVersion":"100"}}`,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, 100)
			w.load(columned(pods))
			w.load(columned(widgets))
			query := "?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=4&includeObject=" + include
			s := w.server()
			later := bookmark("null", pod, c.later)
			want(t, get(t, s, "/api/v1/pods"+query, "Accept", acceptTable), 200, bookmark(columns, pod, c.pod)+later)
			got := get(t, s, "/apis/ex.io/v1/widgets"+query, "Accept", acceptTable).Body.String()
			if first, _, _ := strings.Cut(got, "\n"); first+"\n" != bookmark(columns, `["",null]`, c.widget) {
				t.Errorf("%s: %s", include, first)
			}
		})
	}
}

// TestATableWatchThatFailsEndsWithAStatus has compacted what the client asks for.
func TestATableWatchThatFailsEndsWithAStatus(t *testing.T) {
	w := newWorld(t, 100)
	w.load(columned(pods))
	got := get(t, w.server(), "/api/v1/pods?watch=1&resourceVersion=5", "Accept", acceptTable)
	if !strings.HasPrefix(got.Body.String(), `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1"`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
