package fleet

import (
	"fmt"
	"time"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// batch takes in a batch, as a step of its own or as a part of a longer one, and acknowledges it.
func (l *link) batch(b *tombolov1.Batch) error {
	r, err := l.byID(b.GetSubscription())
	if err != nil {
		return err
	}
	changes, err := l.decode(r, b)
	if err != nil {
		return fmt.Errorf("%s: %w", r.kind.gr, err)
	}
	switch {
	case r.open || b.GetGapFrom() != 0:
		r.stage(changes, b.GetUptoRev())
		if !r.open && !b.GetMore() { // ends a live step that has a gap
			r.finish(b.GetUptoRev())
			return l.ack(r, r.rev)
		}
		return l.ack(r, 0)
	case b.GetMore():
		r.exact = append(r.exact, changes...)
		return l.ack(r, 0)
	}
	if len(r.exact) > 0 {
		changes, r.exact = append(r.exact, changes...), nil
	}
	if err := inOrder(r, changes, b.GetUptoRev()); err != nil {
		return err
	}
	if r.live {
		l.e.f.stats.arrived(changes, time.Now().UnixNano(), l.size)
	}
	r.advance(changes, b.GetUptoRev())
	return l.ack(r, r.rev)
}

// inOrder fails unless an exact step goes forward.
func inOrder(r *replica, changes []change, upto uint64) error {
	if upto < r.rev {
		return nonsense("%s: a step from %d back to %d", r.kind.gr, r.rev, upto)
	}
	last := uint64(0)
	for _, c := range changes {
		if c.rev < last || c.rev > upto {
			return nonsense("%s %s: revision %d behind %d in a step to %d", r.kind.gr, c.key, c.rev, last, upto)
		}
		last = c.rev
	}
	return nil
}

// decode turns a batch's operations into changes.
func (l *link) decode(r *replica, b *tombolov1.Batch) ([]change, error) {
	changes := make([]change, 0, len(b.GetOperations()))
	for _, op := range b.GetOperations() {
		c, err := l.decodeOne(r, op)
		if err != nil {
			return nil, err
		}
		l.received += uint64(len(op.GetData()) + len(op.GetCells()))
		changes = append(changes, c)
	}
	l.e.f.stats.operations.Add(int64(len(changes)))
	return changes, nil
}

func (l *link) decodeOne(r *replica, op *tombolov1.Operation) (change, error) {
	c := change{key: op.GetKey(), rev: op.GetRev()}
	switch op.GetType() {
	case tombolov1.OperationType_OPERATION_TYPE_DELETE:
		if c.key == "" {
			return c, nonsense("a deletion without a key")
		}
		return c, nil
	case tombolov1.OperationType_OPERATION_TYPE_PUT:
	default:
		return c, nonsense("%s: an operation of type %s", c.key, op.GetType())
	}
	if op.GetEncoding() != tombolov1.Encoding_ENCODING_JSON {
		return c, nonsense("%s: encoding %s, which was not agreed on", c.key, op.GetEncoding())
	}
	if delta.Checksum(op.GetData(), op.GetCells()) != op.GetCrc32C() {
		return c, nonsense("%s: the checksum does not agree with the object", c.key)
	}
	var err error
	c.to, err = l.e.f.version(r.kind, op)
	return c, err
}

// version returns the version that an operation puts. Which one it is is known by key and checksum once one edge has
// decoded it; the position is not part of that, because an object may enter a view at another than its own.
func (f *Fleet) version(k *kind, op *tombolov1.Operation) (*version, error) {
	id := versionID{kind: k, key: op.GetKey(), size: len(op.GetData()) + len(op.GetCells()), crc: op.GetCrc32C()}
	if v := f.pool.get(id); v != nil {
		return v, nil
	}
	o, err := k.decoder.DecodeRow(op.GetData(), op.GetCells())
	switch {
	case err != nil:
		return nil, nonsense("%w", err)
	case o.Key() != op.GetKey():
		return nil, nonsense("%s: the object is %s", op.GetKey(), o.Key())
	}
	return f.pool.put(newVersion(id, o)), nil
}
