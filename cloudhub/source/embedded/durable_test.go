package embedded_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	bolt "go.etcd.io/bbolt"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Random writes from several goroutines: every change has a revision of its own, the events of each log follow in their
// order and lead to its state, and the file holds that state.
func TestRandomWrites(t *testing.T) {
	r := newWidgets(t)
	start := r.cloud.Rev()
	paths := []string{configMaps, "/api/v1/namespaces/default/secrets", widgets}
	logs := []*watchlog.Log{r.log("", "v1", "configmaps"), r.log("", "v1", "secrets"), r.log("ex.io", "v1", "widgets")}
	var wg sync.WaitGroup
	for seed := range uint64(6) {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1))
			for range 40 {
				randomWrite(r, paths[rnd.IntN(len(paths))], rnd)
			}
		})
	}
	wg.Wait()
	seen := map[uint64]string{}
	states := make([]map[string]string, len(logs))
	for i, l := range logs {
		states[i] = replay(t, r.events(l, start), seen)
		if got := content(l); fmt.Sprint(got) != fmt.Sprint(states[i]) {
			t.Errorf("%s: the events lead to\n%v\nthe state is\n%v", l.Resource().Name, states[i], got)
		}
	}
	end := r.cloud.Rev()
	if len(seen) != int(end-start) {
		t.Errorf("%d events took the revisions from %d to %d", len(seen), start, end)
	}
	r.reopen()
	if r.cloud.Rev() != end {
		t.Errorf("revision %d after the restart, %d before", r.cloud.Rev(), end)
	}
	for i, l := range []*watchlog.Log{r.log("", "v1", "configmaps"), r.log("", "v1", "secrets"), r.log("ex.io", "v1", "widgets")} {
		if got := content(l); fmt.Sprint(got) != fmt.Sprint(states[i]) {
			t.Errorf("%s: the file holds\n%v\nwant\n%v", l.Resource().Name, got, states[i])
		}
	}
}

// randomWrite creates, changes or deletes one of a few objects, whether that can succeed or not.
func randomWrite(r *rig, path string, rnd *rand.Rand) {
	name := string('a' + rune(rnd.IntN(5)))
	var got reply
	switch rnd.IntN(5) {
	case 0, 1:
		kind := ""
		if path == widgets {
			kind = `"apiVersion":"ex.io/v1","kind":"Widget",`
		}
		got = r.do(http.MethodPost, path, "", `{`+kind+`"metadata":{"name":"`+name+`"}}`)
	case 2, 3:
		got = r.do(http.MethodPatch, path+"/"+name, mergePatch, fmt.Sprintf(`{"metadata":{"labels":{"n":"%d"}}}`, rnd.IntN(3)))
	default:
		got = r.do(http.MethodDelete, path+"/"+name, "", "")
	}
	if got.code >= 500 {
		r.Errorf("%d %s", got.code, got.body)
	}
}

// replay returns the state that events lead to, and checks their order and that no revision is used twice.
func replay(t *testing.T, events []*watchlog.Event, seen map[uint64]string) map[string]string {
	state := map[string]string{}
	last := uint64(0)
	for _, e := range events {
		key := e.Object.Key()
		if was, ok := seen[e.Rev]; ok {
			t.Errorf("revision %d is that of %s and of %s", e.Rev, was, key)
		}
		seen[e.Rev] = key
		if e.Rev <= last {
			t.Errorf("%s at %d after %d", key, e.Rev, last)
		}
		last = e.Rev
		if e.Type == watchlog.Deleted {
			delete(state, key)
			continue
		}
		if e.Object.Rev() != e.Rev {
			t.Errorf("%s at %d has the resourceVersion %d", key, e.Rev, e.Object.Rev())
		}
		state[key] = string(e.Object.JSON())
	}
	return state
}

func content(l *watchlog.Log) map[string]string {
	m := map[string]string{}
	for o := range l.Snapshot().All("") {
		m[o.Key()] = string(o.JSON())
	}
	return m
}

// After the answer to a write every log is at its revision.
func TestQuietResourcesFollow(t *testing.T) {
	r := newRig(t)
	held := r.log("apps", "v1", "deployments")
	for range 10 {
		r.must(http.MethodPost, configMaps, "", `{"metadata":{"generateName":"a-"}}`)
		rev := r.cloud.Rev()
		if held.Rev() != rev {
			t.Errorf("deployments are at %d, the write was at %d", held.Rev(), rev)
		}
	}
}

func TestRunDeletesOldEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "cloud.db")
		cloud, stop := running(t, path)
		api := embedded.NewAPI(cloud, http.NotFoundHandler())
		for _, name := range []string{"old", "changed"} {
			post(t, api, "/api/v1/namespaces/default/events", `{"metadata":{"name":"`+name+`"},"involvedObject":{"namespace":"default"}}`)
		}
		time.Sleep(50 * time.Minute)
		req := httptest.NewRequest(http.MethodPatch, "/api/v1/namespaces/default/events/changed", strings.NewReader(`{"count":2}`))
		req.Header.Set("Content-Type", mergePatch)
		api.ServeHTTP(httptest.NewRecorder(), req)
		left(t, cloud, "default/changed default/old")
		time.Sleep(15 * time.Minute)
		left(t, cloud, "default/changed")
		stop()

		cloud, stop = running(t, path)
		time.Sleep(50 * time.Minute)
		left(t, cloud, "")
		stop()
	})
}

// running returns an open cloud whose Run is under way, and a function that ends both.
func running(t *testing.T, path string) (*embedded.Cloud, func()) {
	t.Helper()
	cloud, err := embedded.Open(path, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- cloud.Run(ctx) }()
	return cloud, func() {
		cancel()
		if err := errors.Join(<-done, cloud.Close()); err != nil {
			t.Error(err)
		}
	}
}

// left holds the keys of the events that are there against want, in both encodings.
func left(t *testing.T, cloud *embedded.Cloud, want string) {
	t.Helper()
	synctest.Wait()
	for _, group := range []string{"", "events.k8s.io"} {
		l, err := cloud.Log(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "events"})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(slices.Sorted(maps.Keys(content(l))), " "); got != want {
			t.Errorf("events of %q: %q, want %q", group, got, want)
		}
	}
}

func TestCloseEndsTheLogs(t *testing.T) {
	cloud, err := embedded.Open(filepath.Join(t.TempDir(), "cloud.db"), embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := cloud.Log(podsResource)
	if err != nil {
		t.Fatal(err)
	}
	if err := cloud.Close(); err != nil {
		t.Error(err)
	}
	if err := l.WaitRev(t.Context(), 1<<60); !errors.Is(err, source.ErrStopped) {
		t.Errorf("a log of a closed cloud ends with %v", err)
	}
	rev := cloud.Rev()
	w := post(t, embedded.NewAPI(cloud, http.NotFoundHandler()), configMaps, `{"metadata":{"name":"a"}}`)
	if w.Code != http.StatusInternalServerError || cloud.Rev() != rev {
		t.Errorf("a write to a closed cloud: %d %s, revision %d", w.Code, w.Body, cloud.Rev())
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "cloud.db")
	cloud, err := embedded.Open(path, embedded.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Open(path, embedded.Options{}); !errors.Is(err, embedded.ErrLocked) {
		t.Errorf("twice: %v", err)
	}
	if err := cloud.Close(); err != nil {
		t.Fatal(err)
	}
	setMeta(t, path, "format", "\x00\x00\x00\x00\x00\x00\x00\x02")
	before := read(t, path)
	if _, err := embedded.Open(path, embedded.Options{}); !errors.Is(err, embedded.ErrNewerFormat) {
		t.Errorf("newer format: %v", err)
	}
	if read(t, path) != before {
		t.Error("the newer file was changed")
	}
	setMeta(t, path, "format", "\x00\x00\x00\x00\x00\x00\x00\x01")
	setMeta(t, path, "rev", "")
	if _, err := embedded.Open(path, embedded.Options{}); err == nil || !strings.Contains(err.Error(), "lost its revision") {
		t.Errorf("without a revision: %v", err)
	}
	garbage := filepath.Join(dir, "garbage")
	if err := os.WriteFile(garbage, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := embedded.Open(garbage, embedded.Options{}); err == nil {
		t.Error("garbage was opened")
	}
}

func setMeta(t *testing.T, path, key, value string) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	err = db.Update(func(tx *bolt.Tx) error { return tx.Bucket([]byte("meta")).Put([]byte(key), []byte(value)) })
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What was answered is there after a kill, and the revision goes on from it.
func TestKilledProcessKeepsWhatItAnswered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cloud.db")
	last := uint64(0)
	for round := range 3 {
		acked := killed(t, path, 20+round*17)
		cloud, err := embedded.Open(path, embedded.Options{})
		if err != nil {
			t.Fatal(err)
		}
		l, err := cloud.Log(configMapsResource)
		if err != nil {
			t.Fatal(err)
		}
		for name, rev := range acked {
			if o := l.Snapshot().Get("default/" + name); o == nil || o.Rev() != rev {
				t.Errorf("round %d: %s was answered at %d and is %v", round, name, rev, o)
			}
			last = max(last, rev)
		}
		if cloud.Rev() < last {
			t.Errorf("round %d: revision %d, answered was %d", round, cloud.Rev(), last)
		}
		if err := cloud.Close(); err != nil {
			t.Error(err)
		}
	}
}

// killed runs a victim until it has answered n writes, kills it and returns the answers: names and revisions.
func killed(t *testing.T, path string, n int) map[string]uint64 {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), victimVar+"="+path)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	acked := map[string]uint64{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var name string
		var rev uint64
		if _, err := fmt.Sscan(lines.Text(), &name, &rev); err != nil {
			t.Errorf("victim: %s", lines.Text())
		}
		acked[name] = rev
		if len(acked) == n {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait() // it was killed
	if len(acked) < n {
		t.Fatalf("the victim answered %d writes, want %d", len(acked), n)
	}
	return acked
}
