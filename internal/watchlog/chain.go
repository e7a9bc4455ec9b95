package watchlog

// chain is what the packed events of one key lead through: the old versions, each packed against a newer one, and the
// oldest version that is whole. Versions are numbered in their order; the numbers never change. It is guarded by Log.mu.
//
//	versions[0] ◀─ versions[1] ◀─ … ◀─ head, which is in the newest state, or what the next event that is not packed ended
//
// So that no version is many patches away from head, version n is packed again once version n+4, of numbers that can be
// divided by 16 version n+16, of 64 n+64 and so on, is at hand: against that one. Bases are always newer, because the
// oldest versions leave the window first.
type chain struct {
	key      string
	first    uint32 // number of versions[0]
	versions []version
	head     *Object // the version behind them; nil when the object was deleted
	events   int     // how many packed events are of the key
}

const (
	// stride is how many versions a step of the next level reaches over.
	stride = 4
	// chainCost is what a key with packed events costs the window.
	chainCost = 192
)

// end returns the number of head.
func (c *chain) end() uint32 { return c.first + uint32(len(c.versions)) } //nolint:gosec // fewer than events

// has tells whether the version with the number is packed, and in the window.
func (c *chain) has(n uint32) bool { return n >= c.first && n < c.end() }

// at returns the version with a number that has tells of.
func (c *chain) at(n uint32) *version { return &c.versions[n-c.first] }

// like returns the version with the number, perhaps without its bytes.
func (c *chain) like(n uint32) *Object {
	if n == c.end() {
		return c.head
	}
	return c.at(n).like
}

// push adds a version, which o is whole, behind the others, and returns what it costs.
func (c *chain) push(v version, o *Object) int64 {
	cost := v.cost()
	if v.data != nil {
		if n := len(c.versions); n > 0 && o.isLike(c.versions[n-1].like) {
			v.like = c.versions[n-1].like
		} else {
			v.like = o.bare()
			cost += v.like.bareCost()
		}
	} else {
		cost += v.like.bareCost()
	}
	c.versions = append(c.versions, v)
	return cost
}

// pop drops the oldest version and returns what it cost.
func (c *chain) pop() int64 {
	v := c.versions[0]
	c.versions[0] = version{}
	c.versions = c.versions[1:]
	c.first++
	cost := v.cost()
	if len(c.versions) == 0 || c.versions[0].like != v.like {
		cost += v.like.bareCost()
	}
	return cost
}

// replace puts v in the place of the version with the number, if that pays, and returns by how much the cost changes.
func (c *chain) replace(n uint32, v version) int64 {
	old := c.at(n)
	if v.data == nil || old.data == nil || len(v.data) > 2*len(old.data)+64 {
		return 0
	}
	change := v.cost() - old.cost()
	old.data = v.data
	return change
}
