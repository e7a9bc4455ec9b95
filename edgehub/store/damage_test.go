package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// damages change a file as failing disks, file systems and people do.
var damages = map[string]func(r *rand.Rand, file []byte) []byte{
	"a bit": func(r *rand.Rand, file []byte) []byte {
		file[r.IntN(len(file))] ^= 1 << r.IntN(8)
		return file
	},
	"a bit of a page's header": func(r *rand.Rand, file []byte) []byte {
		file[r.IntN(len(file)/diskPage)*diskPage+r.IntN(pageHeader+4*pageElement)] ^= 1 << r.IntN(8)
		return file
	},
	"some bytes": func(r *rand.Rand, file []byte) []byte {
		for range 1 + r.IntN(20) {
			file[r.IntN(len(file))] = byte(r.Uint32())
		}
		return file
	},
	"a page of zeros": func(r *rand.Rand, file []byte) []byte {
		at := r.IntN(len(file)/diskPage) * diskPage
		clear(file[at : at+diskPage])
		return file
	},
	"a page in another's place": func(r *rand.Rand, file []byte) []byte {
		from, to := r.IntN(len(file)/diskPage)*diskPage, r.IntN(len(file)/diskPage)*diskPage
		copy(file[to:to+diskPage], file[from:])
		return file
	},
	"the end cut off": func(r *rand.Rand, file []byte) []byte { return file[:r.IntN(len(file))] },
	"pages of another time": func(r *rand.Rand, file []byte) []byte {
		for at := 2 * diskPage; at < min(len(file), len(olderFile)); at += diskPage {
			if r.IntN(4) == 0 {
				copy(file[at:at+diskPage], olderFile[at:])
			}
		}
		return file
	},
}

// damageRounds is how often each damage is done.
const damageRounds = 25

// olderFile is an earlier state of the file that is damaged.
var olderFile []byte

// damaged returns a file of some size, and an earlier state of it.
func damaged(t *testing.T) (file, older []byte) {
	t.Helper()
	e := newEdge(t, Options{Window: watchlog.Config{MaxEvents: 60}})
	describe(t, e.store, deployments)
	r := rand.New(rand.NewPCG(3, 3))
	var first []*watchlog.Object
	for i := range 150 {
		first = append(first, pod(t, fmt.Sprintf("pod-with-a-long-name-%03d", i), "u", 5, r.IntN(3000)))
	}
	e.commit(e.log.Snapshot().PlanReplace(first, 10))
	for rev := uint64(11); rev < 100; rev++ {
		e.live(put(pod(t, fmt.Sprintf("pod-with-a-long-name-%03d", r.IntN(200)), "u", rev, r.IntN(3000))))
		if rev == 60 {
			older = e.read()
		}
	}
	e.stage(200, put(pod(t, "staged", "u", 150, 10)))
	if err := e.store.Close(); err != nil {
		t.Fatal(err)
	}
	return e.read(), older
}

// read returns the bytes of the edge's file.
func (e *edge) read() []byte {
	e.t.Helper()
	b, err := os.ReadFile(filepath.Join(e.dir, FileName))
	if err != nil {
		e.t.Fatal(err)
	}
	return b
}

// outcome says what became of a damaged file: "fresh" when it was set aside, "corrupt" when it was refused by a reader,
// "empty" when no resource is there, else what it says.
func outcome(dir string) (string, error) {
	s, err := Open(dir, Options{Logger: silent})
	if err != nil {
		return "", err
	}
	defer s.Close() //nolint:errcheck // looked at by the second Open
	if s.Recovered() != nil {
		return "fresh", nil
	}
	all, err := s.Resources()
	if err != nil {
		return corrupt(err)
	}
	if len(all) == 0 {
		return "empty", nil
	}
	l := watchlog.New(pods, watchlog.Config{MaxEvents: 60})
	c, err := s.Load(podsGR, l.Decoder())
	if err != nil {
		return corrupt(err)
	}
	if err := l.Load(c.Content); err != nil {
		return "", err
	}
	says := append(listing(l), fmt.Sprint(len(all), c.Rev, c.Floor, c.Gaps, staged(c)))
	for _, e := range c.History {
		says = append(says, fmt.Sprintf("%s %d %d %s", e.Type, e.Rev, e.Shown, e.Object.JSON()))
	}
	return strings.Join(says, "\n"), nil
}

func corrupt(err error) (string, error) {
	if errors.Is(err, ErrCorrupt) {
		return "corrupt", nil
	}
	return "", err
}

// openOnce is the child: it opens the file of every directory in dir, twice, and says what it found.
func openOnce(dir string) error {
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, n := range names {
		sub := filepath.Join(dir, n.Name())
		fmt.Println("opening", n.Name()) // the last words if that kills the process
		first, err := outcome(sub)
		if err != nil {
			return err
		}
		second, err := outcome(sub)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(sub, "first"), []byte(first), 0o600); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(sub, "second"), []byte(second), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Whatever happened to the file: the process lives, and what it serves was once written. Opened again it works.
func TestDamage(t *testing.T) {
	file, older := damaged(t)
	olderFile = older
	root := t.TempDir()
	r := rand.New(rand.NewPCG(4, 4))
	lay := func(name string, b []byte) {
		t.Helper()
		if err := os.Mkdir(filepath.Join(root, name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name, FileName), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lay("sound", file)
	for name, damage := range damages {
		for i := range damageRounds {
			lay(fmt.Sprintf("%s %d", name, i), damage(r, append([]byte(nil), file...)))
		}
	}
	if out, err := child("open", root).CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, tail(string(out), 4000))
	}
	verdicts := map[string]map[string]int{}
	sound := said(t, root, "sound", "first")
	for name := range damages {
		verdicts[name] = map[string]int{}
		for i := range damageRounds {
			first, second := said(t, root, fmt.Sprintf("%s %d", name, i), "first"), said(t, root, fmt.Sprintf("%s %d", name, i), "second")
			switch {
			case first == sound && second == sound:
				verdicts[name]["unharmed"]++
			case first == "fresh" && second == "empty" || first == "corrupt" && second == "fresh":
				verdicts[name][first]++
			default:
				t.Errorf("%s %d: says\n%s\nthen\n%s", name, i, tail(first, 500), tail(second, 500))
			}
		}
	}
	t.Log(verdicts)
}

func said(t *testing.T, root, name, which string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, name, which))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
