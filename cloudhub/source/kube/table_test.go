package kube

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

const threeColumns = `[{"name":"Name"},{"name":"Text"},{"name":"Age"}]`

// printed returns a resource of a fake server that gives tables.
func printed(api *fakeAPI, name string) *boundResource {
	r := api.resource(name)
	r.columns = threeColumns
	return r
}

const born = `"uid":"u","creationTimestamp":"2000-01-01T00:00:00Z"`

// keptCells are what is kept of the row of an object that was born.
func keptCells(name, text string) string {
	return `["` + name + `","` + text + `",{"since":"2000-01-01T00:00:00Z","format":"%s"}]`
}

func TestCellsComeWithTheObjects(t *testing.T) {
	for name, noWatchList := range map[string]bool{"watched": false, "listed": true} {
		t.Run(name, func(t *testing.T) {
			api := newFakeAPI()
			r := printed(api, "pods")
			r.noWatchList = noWatchList
			r.put("ns", "first", born, `,"print":"x"`)
			bubble(t, api, func(h *harness) {
				log := h.follow(pods)
				h.until(log, r.put("ns", "second", born, `,"print":"y"`))
				for key, cells := range map[string]string{"ns/first": keptCells("first", "x"), "ns/second": keptCells("second", "y")} {
					o := log.Snapshot().Get(key)
					if string(o.JSON()) != r.get(key) || string(o.Cells()) != cells {
						t.Errorf("%s: %s with %s", key, o.JSON(), o.Cells())
					}
				}
				if got := log.Resource().Columns; got != threeColumns {
					t.Errorf("columns %s", got)
				}
				h.until(log, r.drop("ns", "first"))
				h.until(log, api.resource("namespaces").put("", "other", "", "")) // by a bookmark
				if log.Snapshot().Len() != 1 {
					t.Errorf("%d objects", log.Snapshot().Len())
				}
			})
		})
	}
}

func TestAServerWithoutTablesIsFollowedToo(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		h.until(log, r.put("ns", "a", born, ""))
		if o := log.Snapshot().Get("ns/a"); o.Cells() != nil || log.Resource().Columns != "" {
			t.Errorf("cells %s, columns %s", o.Cells(), log.Resource().Columns)
		}
	})
}

// TestOtherColumnsRedefineTheResource changes them while a watch is open, as an upgraded server does.
func TestOtherColumnsRedefineTheResource(t *testing.T) {
	api := newFakeAPI()
	r := printed(api, "pods")
	r.put("ns", "a", born, "")
	for name, columns := range map[string]string{"others": `[{"name":"Name"},{"name":"Other"},{"name":"Age"}]`, "none": ""} {
		r.columns = threeColumns
		bubble(t, api, func(h *harness) {
			log := h.follow(pods)
			r.on(func() { r.columns, r.printed = columns, name })
			r.cutWatches()
			time.Sleep(5 * time.Minute)
			synctest.Wait()
			select {
			case <-log.Done():
			default:
				t.Fatalf("%s: the log goes on", name)
			}
			if _, err := log.NewReader(log.Rev(), make(watchlog.Signal, 1)); !errors.Is(err, source.ErrRedefined) {
				t.Errorf("%s: closed with %v", name, err)
			}
			fresh := h.follow(pods)
			o := fresh.Snapshot().Get("ns/a")
			if fresh.Resource().Columns != columns || (columns != "") != (string(o.Cells()) == keptCells("a", name)) {
				t.Errorf("%s: columns %s, cells %s", name, fresh.Resource().Columns, o.Cells())
			}
		})
	}
}

// TestChangedPrinterColumnsRedefineTheResource changes a CRD in a way that shows in no column.
func TestChangedPrinterColumnsRedefineTheResource(t *testing.T) {
	api := newFakeAPI()
	r := api.addCustom()
	r.columns = threeColumns
	declare := func(path string) {
		api.resource("customresourcedefinitions").put("", "widgets.ex.io", "", `,"spec":{"versions":[{"name":"v1",`+
			`"additionalPrinterColumns":[{"name":"Text","type":"string","jsonPath":".print"},{"name":"Age","type":"date","jsonPath":"`+path+`"}]}]}`)
	}
	declare(".metadata.creationTimestamp")
	api.resource("widgets").put("ns", "a", born, `,"status":{"seen":[{"at":"2000-01-01T00:00:09Z"}]}`)
	bubble(t, api, func(h *harness) {
		log := h.follow(widgets)
		if o := log.Snapshot().Get("ns/a"); string(o.Cells()) != keptCells("a", "") {
			t.Errorf("cells %s", o.Cells())
		}
		declare(".status.seen[0].at")
		time.Sleep(time.Minute)
		synctest.Wait()
		fresh := h.follow(widgets)
		if fresh == log {
			t.Fatal("the log goes on")
		}
		want := `["a","",{"since":"2000-01-01T00:00:09Z","format":"%s"}]`
		if o := fresh.Snapshot().Get("ns/a"); string(o.Cells()) != want {
			t.Errorf("cells %s", o.Cells())
		}
		if fresh.Resource().Printer == log.Resource().Printer {
			t.Error("the view would be the same")
		}
	})
}

// TestARefusedTableIsDoneWithout is of a resource that the server can't print.
func TestARefusedTableIsDoneWithout(t *testing.T) {
	api := newFakeAPI()
	r := api.resource("pods")
	r.noTable = true
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		h.until(log, r.put("ns", "a", born, ""))
		if log.Resource().Columns != "" {
			t.Errorf("columns %s", log.Resource().Columns)
		}
	})
}

// TestAnErrorEventIsNoTable ends a watch that asks for tables with a Status.
func TestAnErrorEventIsNoTable(t *testing.T) {
	api := newFakeAPI()
	r := printed(api, "pods")
	r.put("ns", "a", born, "")
	bubble(t, api, func(h *harness) {
		log := h.follow(pods)
		r.compact()
		r.cutWatches()
		r.compact()
		h.until(log, r.put("ns", "b", born, ""))
		var closed error
		select {
		case <-log.Done():
			closed = watchlog.ErrClosed
		default:
		}
		if closed != nil || log.Snapshot().Len() != 2 {
			t.Errorf("%d objects, %v", log.Snapshot().Len(), closed)
		}
	})
}
