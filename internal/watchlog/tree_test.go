package watchlog

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

func (n *node[T]) checkInvariants(t *testing.T, root bool) (depth int) {
	t.Helper()
	if len(n.items) == 0 || len(n.items) > maxFan {
		t.Fatalf("node with %d items", len(n.items))
	}
	if n.kids == nil {
		if n.count != len(n.items) {
			t.Fatalf("leaf counts %d, has %d", n.count, len(n.items))
		}
		return 0
	}
	if len(n.kids) != len(n.items) || root && len(n.kids) < 2 {
		t.Fatalf("inner node with %d children and %d keys", len(n.kids), len(n.items))
	}
	sum := 0
	for i, k := range n.kids {
		d := k.checkInvariants(t, false)
		if i > 0 && d != depth {
			t.Fatal("leaves at different depths")
		}
		depth = d
		sum += k.count
		if any(k.items[0]) != any(n.items[i]) {
			t.Fatalf("key %v of child that begins with %v", n.items[i], k.items[0])
		}
	}
	if sum != n.count {
		t.Fatalf("inner node counts %d, has %d", n.count, sum)
	}
	return depth + 1
}

func probeInt(v int) probe[int] { return func(x int) int { return cmp.Compare(x, v) } }

// TestTreeAgainstSlice drives a tree and a sorted slice with the same random edits; copies taken on the way must not
// change afterwards.
func TestTreeAgainstSlice(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	type frozen struct {
		t    tree[int]
		want []int
	}
	var copies []frozen
	cur, want := tree[int]{}.edit(), []int{}
	for step := range 30000 {
		v := rng.IntN(3000)
		i, found := slices.BinarySearch(want, v)
		if grow := step%10000 < 6000; rng.IntN(10) < 7 == grow {
			cur.set(v, probeInt(v))
			if !found {
				want = slices.Insert(want, i, v)
			}
		} else {
			if cur.remove(probeInt(v)) != found {
				t.Fatalf("remove %d: found %v", v, found)
			}
			if found {
				want = slices.Delete(want, i, i+1)
			}
		}
		if rng.IntN(500) == 0 {
			copies = append(copies, frozen{cur, slices.Clone(want)})
			cur = cur.edit()
			compareTree(t, rng, cur, want)
		}
	}
	for _, c := range copies {
		compareTree(t, rng, c.t, c.want)
	}
}

func compareTree(t *testing.T, rng *rand.Rand, tr tree[int], want []int) {
	t.Helper()
	if tr.root != nil {
		tr.root.checkInvariants(t, true)
	}
	if tr.len() != len(want) {
		t.Fatalf("len %d, want %d", tr.len(), len(want))
	}
	from := rng.IntN(3000)
	i, _ := slices.BinarySearch(want, from)
	if got := tr.rank(probeInt(from)); got != i {
		t.Fatalf("rank of %d is %d, want %d", from, got, i)
	}
	var got []int
	tr.ascend(probeInt(from), func(v int) bool { got = append(got, v); return true })
	if !slices.Equal(got, want[i:]) {
		t.Fatalf("ascend from %d: %v", from, got)
	}
	v := rng.IntN(3000)
	_, found := slices.BinarySearch(want, v)
	if _, ok := tr.get(probeInt(v)); ok != found {
		t.Fatalf("get %d: %v", v, ok)
	}
}
