//go:build e2e

package protobuf_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

var update = flag.Bool("update", false, "write what was recorded to litesrv/testdata/protobuf.json")

const (
	asProtobuf = "application/vnd.kubernetes.protobuf"
	asPartial  = asProtobuf + ";g=meta.k8s.io;v=v1;as=PartialObjectMetadata"
	asPartials = asProtobuf + ";g=meta.k8s.io;v=v1;as=PartialObjectMetadataList"
	asOlder    = asProtobuf + ";g=meta.k8s.io;v=v1beta1;as=PartialObjectMetadata"
	selected   = "?labelSelector=golden"
)

// golden is what is recorded about a resource: the objects, and what was answered when it was asked about them.
type golden struct {
	Resource watchlog.Resource
	Rev      uint64
	Objects  []string // JSON
	Answers  []answer
	Events   string `json:",omitempty"` // what happened behind Rev, as a watch in JSON
	Watches  []answer
}

// answer is what a request was answered with.
type answer struct {
	Path, Accept string
	Code         int
	Type         string
	Body         []byte
	// Rev is the position that a watch was answered from, if it isn't that of the golden.
	Rev uint64 `json:",omitempty"`
}

// TestProtobufIsUpstreams records and has litesrv compared.
func TestProtobufIsUpstreams(t *testing.T) {
	c := newCloud(t, cluster.New(t, cluster.Config{}))
	c.define()
	c.createAll()
	goldens := map[string]*golden{}
	var running sync.WaitGroup
	for _, r := range c.resources() {
		g := &golden{Resource: r}
		goldens[r.GroupVersionResource().String()] = g
		running.Go(func() { c.recordReads(g) })
	}
	running.Wait()
	for name, g := range goldens {
		if len(g.Objects) == 0 {
			t.Log("none of", name)
			delete(goldens, name)
		}
	}
	c.recordEvents(goldens)
	raw, err := json.MarshalIndent(goldens, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	compare(t, raw)
}

// compare runs litesrv's test with what was recorded.
func compare(t *testing.T, raw []byte) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	litesrv := filepath.Join(filepath.Dir(strings.TrimSpace(string(out))), "litesrv")
	path := filepath.Join(t.TempDir(), "protobuf.json")
	if *update {
		path = filepath.Join(litesrv, "testdata", "protobuf.json")
	}
	if err := os.WriteFile(path, append(raw, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "TestProtobufGoldens", ".")
	cmd.Dir, cmd.Env = litesrv, append(os.Environ(), "TOMBOLO_GOLDENS="+path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// recordReads asks about the objects of a resource.
func (c *cloud) recordReads(g *golden) {
	base := pathOf(&g.Resource)
	var list struct {
		Metadata metav1.ListMeta
		Items    []metav1.PartialObjectMetadata
	}
	c.decode(c.ask(base+selected, "application/json"), &list)
	for i := range list.Items {
		g.Objects = append(g.Objects, string(c.ask(objectPath(&g.Resource, &list.Items[i]), "application/json").Body))
	}
	if len(g.Objects) == 0 {
		return
	}
	g.Rev = number(c.T, list.Metadata.ResourceVersion)
	at := fmt.Sprintf("%s&resourceVersion=%d", selected, g.Rev)
	one := objectPath(&g.Resource, &list.Items[0])
	for _, as := range []string{asProtobuf, asOlder} {
		g.Answers = append(g.Answers, c.ask(one, as))
	}
	for _, as := range []string{asProtobuf, asPartials, "application/json" + strings.TrimPrefix(asPartials, asProtobuf)} {
		g.Answers = append(g.Answers, c.ask(base+at+"&resourceVersionMatch=Exact", as))
	}
	g.Answers = append(g.Answers, c.ask(strings.TrimSuffix(one, list.Items[0].Name)+"none", asProtobuf))
	g.Watches = append(g.Watches, c.ask(base+selected+"&watch=1&timeoutSeconds=1&resourceVersion=0", asProtobuf))
	for _, as := range []string{asProtobuf, asPartial} {
		none := base + "?fieldSelector=" + url.QueryEscape("metadata.name=none") + "&watch=1&timeoutSeconds=1&allowWatchBookmarks=1" +
			"&sendInitialEvents=1&resourceVersionMatch=NotOlderThan"
		mark := c.ask(none, as)
		mark.Rev = bookmarkRev(c.T, mark)
		g.Watches = append(g.Watches, mark)
	}
}

// bookmarkRev returns the revision of the bookmark that a watch consists of; 0 if that was refused.
func bookmarkRev(t *testing.T, a answer) uint64 {
	t.Helper()
	if a.Code != 200 {
		return 0
	}
	var e metav1.WatchEvent
	var u runtime.Unknown
	var o metav1.PartialObjectMetadata // a message of any kind begins as this one does
	if len(a.Body) < 4 || e.Unmarshal(a.Body[4:]) != nil || u.Unmarshal(e.Object.Raw[4:]) != nil {
		t.Fatalf("%s: %q", a.Path, a.Body)
	}
	if err := o.Unmarshal(u.Raw); err != nil {
		t.Fatalf("%s: %q: %v", a.Path, a.Body, err)
	}
	return number(t, o.ResourceVersion)
}

func number(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
