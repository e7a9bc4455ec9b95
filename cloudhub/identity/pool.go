package identity

// pool counts connections of one kind.
type pool struct {
	all, each int // bounds, of all and of those from one address
	count     int
	from      map[string]int // by address
}

func newPool(all, each int) pool { return pool{all: all, each: each, from: map[string]int{}} }

// enter tells whether there is room for one more from an address, and counts it.
func (p *pool) enter(address string) bool {
	if p.count >= p.all || p.from[address] >= p.each {
		return false
	}
	p.count++
	p.from[address]++
	return true
}

// leave takes back what enter counted.
func (p *pool) leave(address string) {
	p.count--
	if p.from[address]--; p.from[address] == 0 {
		delete(p.from, address)
	}
}
