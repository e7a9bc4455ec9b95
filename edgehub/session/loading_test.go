package session

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

func TestLoadingText(t *testing.T) {
	for l, want := range map[loading]string{
		{done: 3120, left: 16880, told: true}: "3,120 of 20,000",
		{done: 999, told: true}:               "999 of 999",
		{done: 1234567}:                       "1,234,567 so far",
	} {
		if got := l.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// loadingText returns the metrics of catch-ups under way.
func loadingText(t *testing.T, c *Client) string {
	t.Helper()
	reg := prometheus.NewRegistry()
	reg.MustRegister(loadingMetrics{c})
	w := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// TestFirstSyncTellsHowFarItIs: in what makes the edge unready, and in the metrics, until it is there.
func TestFirstSyncTellsHowFarItIs(t *testing.T) {
	applying(t, 24*time.Hour, func(h *hubSide) {
		c := h.s.c
		c.await([]schema.GroupResource{{Resource: "nodes"}, {Group: "apps", Resource: "deployments"}})
		h.say(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Subscription{Subscription: &tombolov1.Subscription{
			Resource: &tombolov1.Resource{Resource: "nodes"}, Id: 3, View: "v", Plan: tombolov1.Plan_PLAN_CHANGES,
			Info: &tombolov1.ResourceInfo{Version: "v1", Kind: "Thing", Namespaced: true},
		}}})
		var d delta.Digest
		for i := range uint64(3) {
			op := thing(fmt.Sprint("o", i), 11+i)
			o, err := h.s.ids[3].log.Decoder().DecodeRow(op.GetData(), nil)
			if err != nil {
				t.Fatal(err)
			}
			d.Add(o)
			h.say(batchOf(&tombolov1.Batch{
				Subscription: 3, Operations: []*tombolov1.Operation{op}, UptoRev: 11 + i, More: true, Remaining: 2 - i,
			}))
			want := fmt.Sprintf("not synced yet: nodes: %d of 3; deployments.apps", i+1)
			if err := c.unready(); err == nil || err.Error() != want {
				t.Errorf("unready: %v, want %s", err, want)
			}
		}
		for _, line := range []string{
			`tombolo_edge_loading_objects{resource="nodes",state="here"} 3`,
			`tombolo_edge_loading_objects{resource="nodes",state="to come"} 0`,
		} {
			if text := loadingText(t, c); !strings.Contains(text, line+"\n") {
				t.Errorf("no %s in\n%s", line, text)
			}
		}
		h.say(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Checkpoint{Checkpoint: &tombolov1.Checkpoint{
			Subscription: 3, Rev: 20, Count: d.Count, Digest: d.Bytes(),
		}}})
		if text := loadingText(t, c); text != "" {
			t.Errorf("of what is there:\n%s", text)
		}
		if err := c.unready(); err == nil || err.Error() != "not synced yet: deployments.apps" {
			t.Errorf("unready: %v", err)
		}
	})
}

// reports returns the reports sent since the last call.
func (r *recordedStream) reports() (reports []*tombolov1.Report) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, m := range r.sent {
		if p := m.GetReport(); p != nil {
			reports = append(reports, p)
		}
	}
	r.sent = nil
	return reports
}

// TestReports: the hub hears what the edge holds when that has changed, once a minute at most.
func TestReports(t *testing.T) {
	applying(t, 5*time.Second, func(h *hubSide) {
		alive := func(times int) {
			for range times {
				h.say(&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Progress{Progress: &tombolov1.Progress{}}})
				h.s.c.hears(time.Now())
				time.Sleep(5 * time.Second)
				synctest.Wait()
			}
		}
		alive(20)
		if got := h.stream.reports(); len(got) != 1 || got[0].GetObjects() != 0 || got[0].GetBytes() == 0 {
			t.Fatalf("of nothing new: %v", got)
		}
		rev := uint64(11)
		for range 60 {
			rev++
			h.say(batchOf(&tombolov1.Batch{
				Subscription: 1, Operations: []*tombolov1.Operation{thing(fmt.Sprint("o", rev), rev)}, UptoRev: rev,
			}))
			alive(1)
		}
		if got := h.stream.reports(); len(got) < 4 || len(got) > 6 {
			t.Errorf("in 5 minutes of changes: %v", got)
		}
		alive(24)
		if got := h.stream.reports(); len(got) > 1 || len(got) == 1 && got[0].GetObjects() != 60 {
			t.Errorf("at the end: %v", got)
		}
	})
}
