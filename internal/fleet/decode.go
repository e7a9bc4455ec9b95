package fleet

import (
	"errors"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// errMissed is what is wrong with a patch whose base the edge does not hold, or that makes something else of it.
var errMissed = errors.New("the patch is of another base")

// keptChanges bounds the memory that an edge keeps for decoding.
const keptChanges = 4

// decode turns operations into changes. It returns the keys of those that are patches against something that is not held
// as well; then none of the changes may be used. Only where the step is exact may there be patches. What it returns is
// good until it is called again.
func (l *link) decode(r *replica, operations []*tombolov1.Operation, exact bool) (changes []change, missed []string, err error) {
	changes = l.changes[:0]
	if cap(changes) < len(operations) {
		changes = make([]change, 0, len(operations))
	}
	if l.changes = nil; len(operations) <= keptChanges {
		l.changes = changes
	}
	for _, op := range operations {
		c, err := l.decodeOne(r, op, changes, exact)
		switch {
		case errors.Is(err, errMissed):
			missed = append(missed, op.GetKey())
			continue
		case err != nil:
			return nil, nil, err
		}
		changes = append(changes, c)
	}
	l.e.f.stats.operations.Add(int64(len(changes)))
	return changes, missed, nil
}

// decodeOne decodes an operation that comes behind others of its batch.
func (l *link) decodeOne(r *replica, op *tombolov1.Operation, before []change, exact bool) (change, error) {
	c := change{key: op.GetKey(), rev: op.GetRev()}
	var err error
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
	switch {
	case op.GetEncoding() == tombolov1.Encoding_ENCODING_JSON:
		c.to, err = l.e.f.whole(r.kind, op)
	case op.GetEncoding() == tombolov1.Encoding_ENCODING_ZSTD_PATCH && exact && !l.e.f.cfg.Whole:
		c.to, err = l.e.f.patched(r.kind, op, r.current(c.key, before))
	default:
		err = nonsense("%s: encoding %s, which was not agreed on", c.key, op.GetEncoding())
	}
	return c, err
}

// whole returns the version that an operation puts. Which one it is is known by key and checksum once one edge has
// decoded it.
func (f *Fleet) whole(k *kind, op *tombolov1.Operation) (*version, error) {
	if delta.Checksum(op.GetData(), op.GetCells()) != op.GetCrc32C() {
		return nil, nonsense("%s: the checksum does not agree with the object", op.GetKey())
	}
	id := versionID{kind: k, key: op.GetKey(), size: len(op.GetData()) + len(op.GetCells()), crc: op.GetCrc32C()}
	return f.version(id, op.GetData(), op.GetCells(), origin{})
}

// patched returns the version that a patch makes of base, which is nil when nothing is held.
func (f *Fleet) patched(k *kind, op *tombolov1.Operation, base *version) (*version, error) {
	if base == nil || base.rev != op.GetBaseRev() {
		return nil, errMissed
	}
	f.stats.patches.Add(1)
	id := versionID{kind: k, key: op.GetKey(), size: int(op.GetJsonSize()) + int(op.GetCellsSize()), crc: op.GetCrc32C()}
	from := origin{base: base.id, rev: base.rev, size: len(op.GetData()), crc: delta.Checksum(op.GetData())}
	if v := f.pool.get(id); v != nil && v.made == from {
		return v, nil
	}
	json, cells, err := delta.Apply(base.object, op.GetData(),
		delta.Result{JSON: op.GetJsonSize(), Cells: op.GetCellsSize(), Sum: op.GetCrc32C()})
	if err != nil {
		return nil, errMissed
	}
	return f.version(id, json, cells, from)
}

// version returns the version with an id, of bytes that have its checksum.
func (f *Fleet) version(id versionID, json, cells []byte, from origin) (*version, error) {
	if v := f.pool.get(id); v != nil {
		return v, nil
	}
	o, err := id.kind.decoder.DecodeRow(json, cells)
	switch {
	case err != nil:
		return nil, nonsense("%w", err)
	case o.Key() != id.key:
		return nil, nonsense("%s: the object is %s", id.key, o.Key())
	}
	return f.pool.put(newVersion(id, from, o)), nil
}

// need gives up the step under way, because patches did not apply, and asks for all behind the replica's position again,
// with these objects whole.
func (l *link) need(r *replica, keys []string) error {
	l.e.f.stats.misses.Add(int64(len(keys)))
	r.exact, r.live, r.needed = nil, false, true
	r.missed = append(r.missed, keys...)
	return l.askAgain(r)
}

// maxNeeded is how many keys a Need may have.
const maxNeeded = 4096

func (l *link) askAgain(r *replica) error {
	if err := l.ack(); err != nil {
		return err
	}
	return l.send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Need{Need: &tombolov1.Need{
		Subscription: r.id, Keys: r.missed[:min(len(r.missed), maxNeeded)], Rev: r.rev,
	}}})
}
