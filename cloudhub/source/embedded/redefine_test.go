package embedded_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Objects are written in all versions while these come and go with their definition: no write is half done, no log shows
// what is not so, and in the end all versions and the file agree.
func TestWritesWhileTheDefinitionChanges(t *testing.T) {
	r := newWidgets(t)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for seed := range uint64(4) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 2))
			for !stopped(stop) {
				writeWidget(r, rnd)
			}
		})
	}
	wg.Go(func() {
		for !stopped(stop) {
			readWidgets(r)
		}
	})
	redefineWidgets(r)
	close(stop)
	wg.Wait()

	v1, v2 := content(r.log("ex.io", "v1", "widgets")), content(r.log("ex.io", "v2", "widgets"))
	if len(v1) == 0 {
		t.Error("the test left nothing to compare")
	}
	for key, raw := range v1 {
		if v2[key] != strings.Replace(raw, "ex.io/v1", "ex.io/v2", 1) {
			t.Errorf("%s:\nv1 %s\nv2 %s", key, raw, v2[key])
		}
	}
	r.reopen()
	if again := content(r.log("ex.io", "v1", "widgets")); fmt.Sprint(again) != fmt.Sprint(v1) {
		t.Errorf("the file holds\n%v\nwant\n%v", again, v1)
	}
}

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// redefineWidgets changes the definition a few times, the last time to v1 and v2.
func redefineWidgets(r *rig) {
	for i := range 12 {
		if i%4 == 3 {
			r.must(http.MethodDelete, definitions+"/widgets.ex.io", "", "")
			r.must(http.MethodPost, definitions, "", widgetDefinition(widgetV1+","+widgetV2))
			continue
		}
		versions := `[` + widgetV1 + `,` + widgetV2 + `]`
		if i%2 == 0 {
			versions = `[` + strings.Replace(widgetV1, `"selectableFields":[{"jsonPath":".spec.color"}]`, `"selectableFields":[]`, 1) + `]`
		}
		r.must(http.MethodPatch, definitions+"/widgets.ex.io", mergePatch, `{"spec":{"versions":`+versions+`}}`)
	}
	for _, name := range []string{"x", "y"} {
		r.must(http.MethodPost, widgets, "", widget(name, ""))
	}
}

func writeWidget(r *rig, rnd *rand.Rand) {
	version := []string{"v1", "v2"}[rnd.IntN(2)]
	path := "/apis/ex.io/" + version + "/namespaces/default/widgets"
	name := string('a' + rune(rnd.IntN(4)))
	var got reply
	switch rnd.IntN(3) {
	case 0:
		got = r.do(http.MethodPost, path, "", strings.Replace(widget(name, ""), "ex.io/v1", "ex.io/"+version, 1))
	case 1:
		got = r.do(http.MethodPatch, path+"/"+name, mergePatch, fmt.Sprintf(`{"spec":{"color":"c%d"}}`, rnd.IntN(9)))
	default:
		got = r.do(http.MethodDelete, path+"/"+name, "", "")
	}
	if got.code >= 500 {
		r.Errorf("%d %s", got.code, got.body)
	}
}

// readWidgets follows the log of a version to its end and checks the order of its events.
func readWidgets(r *rig) {
	l, err := r.cloud.Log(schema.GroupVersionResource{Group: "ex.io", Version: "v1", Resource: "widgets"})
	if err != nil {
		return // gone for now
	}
	wake := make(watchlog.Signal, 1)
	reader, err := l.Snapshot().NewReader(wake)
	if err != nil {
		return
	}
	defer reader.Close()
	last := uint64(0)
	for range 20 {
		page, err := reader.Read(make([]*watchlog.Event, 0, 16))
		if err != nil {
			if !errors.Is(err, source.ErrRedefined) && !errors.Is(err, source.ErrUnknownResource) {
				r.Errorf("the log ended with %v", err)
			}
			return
		}
		for _, e := range page.Events {
			if e.Rev <= last {
				r.Errorf("%s at %d after %d", e.Object.Key(), e.Rev, last)
			}
			last = e.Rev
		}
	}
}
