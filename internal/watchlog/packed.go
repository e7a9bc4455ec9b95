package watchlog

// packedEvent is an event whose versions are packed.
type packedEvent struct {
	rev, shown uint64
	chain      *chain
	// version is the number in chain of the version that the event ended; of the one that it added for Added.
	version uint32
	typ     EventType
	late    bool
}

// packedCost is what a packedEvent takes.
const packedCost = 32

// object returns the number of the version that is the event's Object.
func (p *packedEvent) object() uint32 {
	if p.typ == Modified {
		return p.version + 1
	}
	return p.version
}

// likes returns the event's Object and Prev, perhaps without their bytes.
func (p *packedEvent) likes() (object, prev *Object) {
	object = p.chain.like(p.object())
	switch p.typ {
	case Added:
		return object, nil
	case Deleted:
		return object, object
	default:
		return object, p.chain.like(p.version)
	}
}

// packedRun is a queue of packed events, in blocks so that nothing is moved when it grows.
type packedRun struct {
	blocks []*[packedBlock]packedEvent
	skip   int // how many of the first block's have left
	n      int
}

const packedBlock = 256

func (r *packedRun) at(i int) *packedEvent {
	i += r.skip
	return &r.blocks[i/packedBlock][i%packedBlock]
}

func (r *packedRun) push(e packedEvent) {
	if r.skip+r.n == len(r.blocks)*packedBlock {
		r.blocks = append(r.blocks, new([packedBlock]packedEvent))
	}
	r.n++
	*r.at(r.n - 1) = e
}

// pop takes the oldest out.
func (r *packedRun) pop() packedEvent {
	e := *r.at(0)
	*r.at(0) = packedEvent{}
	r.n--
	if r.skip++; r.skip == packedBlock {
		r.blocks[0] = nil
		r.blocks, r.skip = r.blocks[1:], 0
	}
	return e
}
