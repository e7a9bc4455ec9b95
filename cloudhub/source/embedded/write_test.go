package embedded

import (
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func openTest(t *testing.T) *Cloud {
	t.Helper()
	c, err := Open(filepath.Join(t.TempDir(), "cloud.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// add returns a write that creates a namespace.
func add(name string) *job {
	return &job{run: func(t *tx) error { return t.addNamespace(name) }}
}

// transactions returns how many transactions the file has seen.
func transactions(t *testing.T, c *Cloud) int {
	t.Helper()
	id := 0
	if err := c.file.db.View(func(tx *bolt.Tx) error { id = tx.ID(); return nil }); err != nil {
		t.Fatal(err)
	}
	return id
}

func TestWaitingWritesShareATransaction(t *testing.T) {
	c := openTest(t)
	before, rev := transactions(t, c), c.Rev()
	jobs := []*job{add("a"), add("b"), add("c")}
	c.turn.Lock()
	c.do(jobs)
	c.turn.Unlock()
	for _, j := range jobs {
		if j.err != nil || !j.done {
			t.Errorf("job: %+v", j)
		}
	}
	if n := transactions(t, c) - before; n != 1 {
		t.Errorf("%d transactions", n)
	}
	if c.Rev() != rev+3 {
		t.Errorf("revision %d after %d", c.Rev(), rev)
	}
}

// One write that fails, however it does, takes nothing from the others.
func TestAFailedWriteLeavesNoTrace(t *testing.T) {
	c := openTest(t)
	rev := c.Rev()
	spoiled := errors.New("spoiled")
	jobs := []*job{
		add("a"),
		{run: func(t *tx) error { return errors.Join(t.addNamespace("b"), t.addNamespace("c"), spoiled) }},
		{run: func(t *tx) error {
			_ = t.addNamespace("d")
			panic("oops")
		}},
		{run: func(t *tx) error {
			t.dry = true
			return t.addNamespace("e")
		}},
		add("f"),
	}
	c.turn.Lock()
	c.do(jobs)
	c.turn.Unlock()
	if jobs[0].err != nil || !errors.Is(jobs[1].err, spoiled) || jobs[2].err == nil || jobs[3].err != nil || jobs[4].err != nil {
		t.Errorf("errors: %v %v %v %v %v", jobs[0].err, jobs[1].err, jobs[2].err, jobs[3].err, jobs[4].err)
	}
	var names []string
	for o := range c.resources.Load().namespaces.logs[0].Snapshot().All("") {
		if o.Rev() > rev {
			names = append(names, o.Name())
		}
	}
	if got := strings.Join(names, " "); got != "a f" || c.Rev() != rev+2 {
		t.Errorf("namespaces %q, revision %d after %d", got, c.Rev(), rev)
	}
}

// A later write of the same transaction finds what an earlier one did.
func TestWritesOfATransactionSeeOneAnother(t *testing.T) {
	c := openTest(t)
	configMap := func(namespace string) *job {
		return &job{run: func(t *tx) error {
			f := t.resources.byGVR[corev1.SchemeGroupVersion.WithResource("configmaps")]
			cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}
			cm.SetGroupVersionKind(f.def().GVK())
			_, err := t.create(f, namespace, cm)
			return err
		}}
	}
	remove := &job{run: func(t *tx) error {
		_, _, err := t.delete(place{face: face{t.resources.namespaces, 0}, name: "a"}, nil)
		return err
	}}
	jobs := []*job{configMap("a"), add("a"), configMap("a"), configMap("a"), remove, configMap("a")}
	c.turn.Lock()
	c.do(jobs)
	c.turn.Unlock()
	want := []string{`namespaces "a" not found`, "", "", `configmaps "x" already exists`, "", `namespaces "a" not found`}
	for i, j := range jobs {
		got := ""
		if j.err != nil {
			got = j.err.Error()
		}
		if got != want[i] {
			t.Errorf("write %d: %q, want %q", i, got, want[i])
		}
	}
}

func TestAWriteThatWasNeverCarriedOutIsAnError(t *testing.T) {
	c := openTest(t)
	c.turn.Lock()
	done := make(chan error)
	go func() { done <- c.write(func(*tx) error { return nil }) }()
	for len(c.pending.take()) == 0 { // take it away, as a writer that dies half way would
		runtime.Gosched()
	}
	c.turn.Unlock()
	if err := <-done; !errors.Is(err, errLost) {
		t.Errorf("got %v", err)
	}
}
