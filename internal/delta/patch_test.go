package delta

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// version returns an object with a text of its own, and cells.
func version(t testing.TB, rev uint64, text string, cells string) *watchlog.Object {
	t.Helper()
	d := watchlog.NewDecoder(&watchlog.Resource{Name: "things"})
	o, err := d.DecodeRow(fmt.Appendf(nil, `{"metadata":{"name":"a","uid":"u","resourceVersion":"%d"},"text":%q}`, rev, text),
		[]byte(cells))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func resultOf(o *watchlog.Object) Result {
	return Result{JSON: uint32(len(o.JSON())), Cells: uint32(len(o.Cells())), Sum: ChecksumOf(o)} //nolint:gosec // small
}

func patchFor(t testing.TB, base, o *watchlog.Object) []byte {
	t.Helper()
	p, err := AppendPatch(nil, base, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// letters returns n random letters.
func letters(rng *rand.Rand, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte('a' + rng.IntN(26))
	}
	return out
}

// edit returns text with a few random cuts, insertions and moves.
func edit(rng *rand.Rand, text []byte) []byte {
	out := bytes.Clone(text)
	for range 1 + rng.IntN(4) {
		at := rng.IntN(len(out) + 1)
		end := at + rng.IntN(len(out)-at+1)
		switch rng.IntN(3) {
		case 0:
			out = append(out[:at:at], out[end:]...)
		case 1:
			out = bytes.Join([][]byte{out[:at], letters(rng, rng.IntN(300)), out[at:]}, nil)
		default:
			out = bytes.Join([][]byte{out[end:], out[at:end], out[:at]}, nil)
		}
	}
	return out
}

func TestPatchesGiveBackExactlyTheNewVersion(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, size := range []int{0, 1, 100, 9000, 200_000, 1_500_000} {
		text := letters(rng, size)
		rounds := 200
		if size > 10_000 {
			rounds = 5
		}
		for i := range rounds {
			next := edit(rng, text)
			cells := ""
			if i%2 == 0 {
				cells = fmt.Sprintf("[%q]", letters(rng, i))
			}
			base, o := version(t, 9, string(text), `["x"]`), version(t, 10, string(next), cells)
			if o.Size() > MaxPatched {
				continue
			}
			json, got, err := Apply(base, patchFor(t, base, o), resultOf(o))
			if err != nil || !bytes.Equal(json, o.JSON()) || !bytes.Equal(got, o.Cells()) {
				t.Fatalf("%d bytes, round %d: %v", size, i, err)
			}
			if cap(json) != len(json) {
				t.Fatal("the JSON can be appended to, which would change the cells")
			}
			text = next
		}
	}
}

func TestPatchesAreSmall(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	text := letters(rng, 1_000_000)
	base := version(t, 9, string(text), "")
	text[500_000] = 'A'
	if p := patchFor(t, base, version(t, 10, string(text), "")); len(p) > 200 {
		t.Errorf("one letter of a megabyte takes %d bytes", len(p))
	}
}

// TestWrongBaseIsNoticed: the base is of the same length and differs in one letter, which the patch takes over.
func TestWrongBaseIsNoticed(t *testing.T) {
	base, wrong, o := version(t, 9, "one two three four five", ""), version(t, 9, "one two three four fife", ""),
		version(t, 10, "one two three four five six", "")
	for name, b := range map[string]*watchlog.Object{"another letter": wrong, "another length": version(t, 9, "", "")} {
		if _, _, err := Apply(b, patchFor(t, base, o), resultOf(o)); !errors.Is(err, ErrPatch) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPatchThatMakesSomethingElse(t *testing.T) {
	base := version(t, 9, "one two three", "")
	o := version(t, 10, string(bytes.Repeat([]byte("0"), 1<<20)), `["x"]`)
	p, want := patchFor(t, base, o), resultOf(o)
	for name, c := range map[string]struct {
		patch []byte
		want  Result
	}{
		"more than it says":   {p, Result{JSON: want.JSON - 1, Cells: want.Cells, Sum: want.Sum}},
		"less than it says":   {p, Result{JSON: want.JSON + 1, Cells: want.Cells, Sum: want.Sum}},
		"other bytes":         {p, Result{JSON: want.JSON, Cells: want.Cells, Sum: want.Sum + 1}},
		"a bomb":              {p, Result{JSON: 100, Sum: want.Sum}},
		"too much":            {p, Result{JSON: MaxPatched, Cells: MaxPatched}},
		"sizes that run over": {p, Result{JSON: 1<<32 - 1, Cells: 1<<32 - 1}},
		"no patch":            {nil, want},
		"a cut patch":         {p[:len(p)/2], want},
		"two patches":         {append(bytes.Clone(p), p...), want},
	} {
		if json, _, err := Apply(base, c.patch, c.want); !errors.Is(err, ErrPatch) || json != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := AppendPatch(nil, base, version(t, 10, string(make([]byte, MaxPatched)), "")); !errors.Is(err, ErrPatch) {
		t.Errorf("a version that is too large: %v", err)
	}
}

func TestPatchesAtTheSameTime(t *testing.T) {
	var wg sync.WaitGroup
	for g := range 16 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 5)) //nolint:gosec // small
			for range 20 {
				text := letters(rng, 5000)
				base, o := version(t, 9, string(text), `["x"]`), version(t, 10, string(edit(rng, text)), `["y"]`)
				json, cells, err := Apply(base, patchFor(t, base, o), resultOf(o))
				if err != nil || !bytes.Equal(json, o.JSON()) || !bytes.Equal(cells, o.Cells()) {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// FuzzApply: whatever a patch is, it makes what was asked for or nothing.
func FuzzApply(f *testing.F) {
	base, o := version(f, 9, "one two three four five", `["x"]`), version(f, 10, "one two three four five six", `["y"]`)
	want := resultOf(o)
	p := patchFor(f, base, o)
	f.Add(p, want.JSON, want.Cells, want.Sum)
	f.Add(p[:len(p)-3], want.JSON, want.Cells, want.Sum)
	f.Fuzz(func(t *testing.T, p []byte, json, cells, sum uint32) {
		j, c, err := Apply(base, p, Result{json, cells, sum})
		switch {
		case err != nil && (j != nil || c != nil || !errors.Is(err, ErrPatch)):
			t.Fatal(err)
		case err == nil && (len(j) != int(json) || len(c) != int(cells) || Checksum(j, c) != sum):
			t.Fatalf("%d and %d bytes", len(j), len(c))
		}
	})
}

// FuzzPatch: every pair of versions comes back.
func FuzzPatch(f *testing.F) {
	f.Add("one two three", "two three four", "[]")
	f.Fuzz(func(t *testing.T, a, b, cells string) {
		if len(a)+len(b)+len(cells) > 1<<16 {
			return
		}
		base, o := version(t, 9, a, fmt.Sprintf("[%q]", cells)), version(t, 10, b, fmt.Sprintf("[%q]", cells+a))
		json, c, err := Apply(base, patchFor(t, base, o), resultOf(o))
		if err != nil || !bytes.Equal(json, o.JSON()) || !bytes.Equal(c, o.Cells()) {
			t.Fatal(err)
		}
	})
}
