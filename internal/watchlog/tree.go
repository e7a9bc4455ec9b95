package watchlog

// tree is an ordered copy-on-write B+ tree. Copying the struct is a snapshot: O(1), and neither copy sees what is done
// to the other afterwards, provided that each writes under an owner of its own (see edit). Items are found with a probe,
// which tells how an item compares to the one that is looked for.
//
// Every leaf is at the same depth; a node holds between 1 and maxFan entries; count is the number of items below.
type tree[T any] struct {
	root *node[T]
	// own marks the nodes that this tree alone can reach, and may therefore change in place.
	own *owner
}

// owner is an identity; it must have a size so that two of them differ.
type owner struct{ _ byte }

// probe tells how an item compares to what is looked for: negative when it stands before it.
type probe[T any] func(item T) int

const maxFan = 48

type node[T any] struct {
	own   *owner
	items []T        // leaf: the items; inner node: the first item below each child
	kids  []*node[T] // nil in a leaf
	count int
}

// edit returns a copy of t that may be changed without t seeing it.
func (t tree[T]) edit() tree[T] { return tree[T]{root: t.root, own: new(owner)} }

// len returns the number of items.
func (t tree[T]) len() int {
	if t.root == nil {
		return 0
	}
	return t.root.count
}

// get returns the item that the probe calls equal.
func (t tree[T]) get(p probe[T]) (item T, ok bool) {
	n := t.root
	for n != nil {
		i, found := n.search(p)
		if n.kids == nil {
			if found {
				return n.items[i], true
			}
			return item, false
		}
		n = n.kids[n.childAt(i, found)]
	}
	return item, false
}

// search returns the position of the first item that is not before the target, and whether it is equal.
func (n *node[T]) search(p probe[T]) (int, bool) {
	lo, hi := 0, len(n.items)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := p(n.items[mid]); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false
}

// childAt turns a search result in an inner node into the child that holds, or would hold, the target.
func (n *node[T]) childAt(i int, found bool) int {
	if found || i == 0 {
		return i
	}
	return i - 1
}

// set inserts item, or replaces the one that the probe calls equal.
func (t *tree[T]) set(item T, p probe[T]) {
	if t.root == nil {
		t.root = &node[T]{own: t.own, items: []T{item}, count: 1}
		return
	}
	t.root = t.root.mine(t.own)
	if right := t.root.set(item, p, t.own); right != nil {
		left := t.root
		t.root = &node[T]{
			own: t.own, items: []T{left.items[0], right.items[0]}, kids: []*node[T]{left, right},
			count: left.count + right.count,
		}
	}
}

// mine returns n, or a copy of it that own may change.
func (n *node[T]) mine(own *owner) *node[T] {
	if n.own == own {
		return n
	}
	c := &node[T]{own: own, count: n.count, items: make([]T, len(n.items), len(n.items)+1)}
	copy(c.items, n.items)
	if n.kids != nil {
		c.kids = make([]*node[T], len(n.kids), len(n.kids)+1)
		copy(c.kids, n.kids)
	}
	return c
}

// set puts item below n, which is the caller's own, and returns the new right sibling when n had to be split.
func (n *node[T]) set(item T, p probe[T], own *owner) *node[T] {
	i, found := n.search(p)
	if n.kids == nil {
		if found {
			n.items[i] = item
			return nil
		}
		n.items = insertAt(n.items, i, item)
		n.count++
		return n.splitIfFull(own)
	}
	i = n.childAt(i, found)
	kid := n.kids[i].mine(own)
	n.kids[i] = kid
	before := kid.count
	right := kid.set(item, p, own)
	n.items[i] = kid.items[0]
	if right == nil {
		n.count += kid.count - before
		return nil
	}
	n.count += kid.count + right.count - before
	n.items = insertAt(n.items, i+1, right.items[0])
	n.kids = insertAt(n.kids, i+1, right)
	return n.splitIfFull(own)
}

// splitIfFull moves the right half of an overfull node into a new sibling and returns that.
func (n *node[T]) splitIfFull(own *owner) *node[T] {
	if len(n.items) <= maxFan {
		return nil
	}
	half := len(n.items) / 2
	right := &node[T]{own: own, items: append([]T(nil), n.items[half:]...)}
	clear(n.items[half:])
	n.items = n.items[:half]
	if n.kids != nil {
		right.kids = append([]*node[T](nil), n.kids[half:]...)
		clear(n.kids[half:])
		n.kids = n.kids[:half]
	}
	n.recount()
	right.recount()
	return right
}

func (n *node[T]) recount() {
	if n.kids == nil {
		n.count = len(n.items)
		return
	}
	n.count = 0
	for _, k := range n.kids {
		n.count += k.count
	}
}

// remove deletes the item that the probe calls equal and tells whether there was one.
func (t *tree[T]) remove(p probe[T]) bool {
	if _, ok := t.get(p); !ok {
		return false
	}
	t.root = t.root.mine(t.own)
	t.root.remove(p, t.own)
	for t.root != nil && t.root.kids != nil && len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
	if t.root.count == 0 {
		t.root = nil
	}
	return true
}

// remove deletes an item that is known to be below n, which is the caller's own. Afterwards n may be empty.
func (n *node[T]) remove(p probe[T], own *owner) {
	i, found := n.search(p)
	n.count--
	if n.kids == nil {
		n.items = removeAt(n.items, i)
		return
	}
	i = n.childAt(i, found)
	kid := n.kids[i].mine(own)
	n.kids[i] = kid
	kid.remove(p, own)
	if kid.count == 0 {
		n.items, n.kids = removeAt(n.items, i), removeAt(n.kids, i)
		return
	}
	n.items[i] = kid.items[0]
	n.merge(i, own)
}

// merge joins the child at i with a neighbour when it has become small and both fit into one node.
func (n *node[T]) merge(i int, own *owner) {
	if len(n.kids[i].items) > maxFan/4 || len(n.kids) == 1 {
		return
	}
	if i == len(n.kids)-1 {
		i--
	}
	if len(n.kids[i].items)+len(n.kids[i+1].items) > maxFan*3/4 {
		return
	}
	left := n.kids[i].mine(own)
	left.items = append(left.items, n.kids[i+1].items...)
	if left.kids != nil {
		left.kids = append(left.kids, n.kids[i+1].kids...)
	}
	left.count += n.kids[i+1].count
	n.kids[i] = left
	n.items, n.kids = removeAt(n.items, i+1), removeAt(n.kids, i+1)
}

// ascend calls yield for the items that are not before the target, in order, until it returns false.
func (t tree[T]) ascend(p probe[T], yield func(T) bool) {
	if t.root != nil {
		t.root.ascend(p, yield)
	}
}

// ascend visits n; a nil probe stands for the very first item.
func (n *node[T]) ascend(p probe[T], yield func(T) bool) bool {
	i, found := 0, false
	if p != nil {
		i, found = n.search(p)
	}
	if n.kids == nil {
		for _, item := range n.items[i:] {
			if !yield(item) {
				return false
			}
		}
		return true
	}
	if p != nil {
		i = n.childAt(i, found)
	}
	for _, kid := range n.kids[i:] {
		if !kid.ascend(p, yield) {
			return false
		}
		p = nil // only the first child straddles the target
	}
	return true
}

// rank returns how many items stand before the target.
func (t tree[T]) rank(p probe[T]) int {
	rank := 0
	for n := t.root; n != nil; {
		i, found := n.search(p)
		if n.kids == nil {
			return rank + i
		}
		i = n.childAt(i, found)
		for _, kid := range n.kids[:i] {
			rank += kid.count
		}
		n = n.kids[i]
	}
	return rank
}

func insertAt[E any](s []E, i int, e E) []E {
	var zero E
	s = append(s, zero)
	copy(s[i+1:], s[i:])
	s[i] = e
	return s
}

func removeAt[E any](s []E, i int) []E {
	copy(s[i:], s[i+1:])
	var zero E
	s[len(s)-1] = zero
	return s[:len(s)-1]
}
