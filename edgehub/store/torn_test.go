package store

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

var (
	diskPage   = os.Getpagesize() // the unit in which the file is compared, and that bbolt writes
	diskSector = diskPage / 8     // the unit that the disk writes whole
)

// power simulates power cuts inside an update. bbolt writes the pages of a transaction, waits for the disk, writes one
// page that makes them count, and waits again. From the file before and after the update it makes the files that a cut
// can leave behind on a disk that keeps its promises: some of the pages, whole or torn, in any order; then all of them
// and some of the last one.
type power struct {
	t             *testing.T
	rand          *rand.Rand
	before, after []byte
	pages         []int  // that differ, but for the last one written
	meta          int    // the last one written
	old, next     string // what the file says before and after
	cuts          int
}

func newPower(t *testing.T, r *rand.Rand, before, after []byte) *power {
	p := &power{t: t, rand: r, before: before, after: after, meta: -1}
	p.before = append(bytes.Clone(before), make([]byte, max(0, len(after)-len(before)))...)
	for i := 0; i < len(after); i += diskPage {
		switch {
		case bytes.Equal(p.before[i:i+diskPage], after[i:i+diskPage]):
		case i < 2*diskPage:
			p.meta = i
		default:
			p.pages = append(p.pages, i)
		}
	}
	if p.meta < 0 {
		t.Fatal("the update wrote no meta page")
	}
	p.old, p.next = p.restart(before), p.restart(after)
	return p
}

// restart returns what an edge says that finds the file after a power cut.
func (p *power) restart(file []byte) string {
	p.t.Helper()
	p.cuts++
	dir := p.t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), file, 0o600); err != nil {
		p.t.Fatal(err)
	}
	e := &edge{t: p.t, dir: dir}
	var err error
	if e.store, err = Open(dir, Options{Logger: silent}); err != nil {
		p.t.Fatal(err)
	}
	defer e.store.Close() //nolint:errcheck // the directory goes
	if err := e.store.Recovered(); err != nil {
		p.t.Fatalf("cut %d: %v", p.cuts, err)
	}
	return e.says()
}

// says returns everything that a store tells about the pods.
func (e *edge) says() string {
	e.t.Helper()
	var out []string
	all, err := e.store.Resources()
	if err != nil {
		e.t.Fatal(err)
	}
	for _, st := range all {
		out = append(out, fmt.Sprint(st.Resource.Name, st.Epoch, st.Rev, st.StagedRev))
	}
	c, err := e.store.Load(podsGR, watchlog.NewDecoder(pods))
	if errors.Is(err, ErrUnknownResource) {
		return strings.Join(out, "\n")
	}
	if err != nil {
		e.t.Fatal(err)
	}
	out = append(out, fmt.Sprint(c.Rev, c.Floor, c.Gaps, staged(c)))
	l := e.restored()
	out = append(out, listing(l)...)
	return strings.Join(append(out, watching(e.t, l, c.Floor)...), "\n")
}

// expect restarts on a file and fails unless it says one of the given.
func (p *power) expect(what string, file []byte, allowed ...string) {
	p.t.Helper()
	got := p.restart(file)
	for _, want := range allowed {
		if got == want {
			return
		}
	}
	p.t.Fatalf("%s: says\n%s\nallowed:\n%s", what, got, strings.Join(allowed, "\nor\n"))
}

// write copies a page from after into file, or the sectors of it that the mask names.
func (p *power) write(file []byte, page int, mask uint) {
	for s := range 8 {
		if mask&(1<<s) != 0 {
			at := page + s*diskSector
			copy(file[at:at+diskSector], p.after[at:])
		}
	}
}

const wholePage = 1<<8 - 1

// cut goes through the cuts.
func (p *power) cut() {
	p.t.Helper()
	p.expect("only grown", p.before, p.old)
	file := bytes.Clone(p.before)
	for _, page := range p.pages {
		p.write(file, page, uint(p.rand.IntN(wholePage)))
		p.expect("torn in order", file, p.old)
		p.write(file, page, wholePage)
	}
	for range 4 {
		file := bytes.Clone(p.before)
		for _, page := range p.pages {
			p.write(file, page, uint(p.rand.IntN(wholePage+1)))
		}
		p.expect("any sectors", file, p.old)
	}
	p.expect("all but the last page", file, p.old)
	for range 4 {
		file := bytes.Clone(file)
		n := 1 + p.rand.IntN(100)
		copy(file[p.meta:p.meta+n], p.after[p.meta:])
		p.expect("the last page torn", file, p.old, p.next)
	}
	p.write(file, p.meta, wholePage)
	p.expect("the last page", file, p.next)
}

// Every file that a power cut can leave says exactly what was before the update or what is after it.
func TestPowerCuts(t *testing.T) {
	e := newEdge(t, Options{Window: watchlog.Config{MaxEvents: 8}})
	r := rand.New(rand.NewPCG(1, 1))
	read := func() []byte {
		b, err := os.ReadFile(filepath.Join(e.dir, FileName))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	cuts := 0
	step := func(act func()) {
		t.Helper()
		before := read()
		act()
		p := newPower(t, r, before, read())
		p.cut()
		cuts += p.cuts
	}
	var first []*watchlog.Object
	var ops []watchlog.Op
	for i := range 30 {
		first = append(first, pod(t, fmt.Sprintf("p%02d", i), "u", 5, 700))
		ops = append(ops, put(first[i]))
	}
	step(func() { e.stage(10, ops...) })
	step(func() { e.commit(e.log.Snapshot().PlanReplace(first, 10)) })
	for rev := uint64(11); rev < 20; rev++ {
		step(func() { e.live(put(pod(t, fmt.Sprintf("p%02d", rev*7%30), "u", rev, 700+int(rev)*100))) })
	}
	step(func() { e.stage(40, put(pod(t, "p00", "u2", 30, 10)), del("ns/p01", 0)) })
	step(func() { e.commit(e.log.Snapshot().PlanCatchup(load(t, e.store).Staged, 40)) })
	step(func() { e.commit(watchlog.Batch{Rev: 50}) })
	step(func() {
		if err := e.store.Close(); err != nil {
			t.Fatal(err)
		}
	})
	t.Logf("%d cuts", cuts)
}
