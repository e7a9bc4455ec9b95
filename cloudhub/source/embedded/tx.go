package embedded

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// tx is a set of changes in the making, and the state after them. It belongs to the writer whose turn it is.
type tx struct {
	cloud     *Cloud
	resources *registry
	rev       uint64   // of the last change
	changes   []change // in the order of their revisions
	redefines bool     // a CustomResourceDefinition is among them

	// after holds the objects that changes have touched, as they are after the last of them: one for each face, nil
	// when deleted.
	after map[slot][]*watchlog.Object
	// dry is set while a write runs whose changes are thrown away.
	dry bool
}

// slot is the place of an object.
type slot struct {
	resource *resource
	key      string
}

// change is one change of one object.
type change struct {
	slot
	rev    uint64
	before []*watchlog.Object // one for each face; nil when there was none
	after  []*watchlog.Object // nil when there is none any more
}

// stored returns the bytes for the file, nil when the object is gone.
func (c *change) stored() []byte {
	if c.after == nil {
		return nil
	}
	return c.after[0].JSON()
}

// event returns the change as the log of a face shows it.
func (c *change) event(face int) *watchlog.Event {
	e := &watchlog.Event{Rev: c.rev, Shown: c.rev, Type: watchlog.Modified}
	if c.before != nil {
		e.Prev = c.before[face]
	}
	switch {
	case c.after == nil:
		e.Type, e.Object = watchlog.Deleted, e.Prev
	case c.before == nil:
		e.Type, e.Object = watchlog.Added, c.after[face]
	default:
		e.Object = c.after[face]
	}
	return e
}

func (c *Cloud) begin() *tx {
	return &tx{cloud: c, resources: c.resources.Load(), rev: c.rev, after: map[slot][]*watchlog.Object{}}
}

// try runs a write and takes back its changes when it fails. A panic in it is an error of that write alone.
func (t *tx) try(run func(*tx) error) (err error) {
	mark := len(t.changes)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
			t.cloud.logger.Error("write", "error", err, "stack", string(debug.Stack()))
		}
		if err != nil || t.dry {
			t.rollback(mark)
		}
		t.dry = false
	}()
	if err := run(t); err != nil {
		return err
	}
	return t.settle(mark)
}

// rollback takes back the changes behind mark.
func (t *tx) rollback(mark int) {
	if mark == len(t.changes) {
		return
	}
	t.rev = t.changes[mark].rev - 1
	t.changes = t.changes[:mark]
	clear(t.after)
	t.redefines = false
	for _, ch := range t.changes {
		t.note(ch)
	}
}

func (t *tx) add(ch change) {
	t.rev++
	ch.rev = t.rev
	t.changes = append(t.changes, ch)
	t.note(ch)
}

func (t *tx) note(ch change) {
	t.after[ch.slot] = ch.after
	t.redefines = t.redefines || ch.resource == t.resources.definitions
}

// faces returns an object in all faces, nil when there is none.
func (t *tx) faces(r *resource, key string) []*watchlog.Object {
	if v, ok := t.after[slot{r, key}]; ok {
		return v
	}
	first := r.logs[0].Snapshot().Get(key)
	if first == nil {
		return nil
	}
	all := []*watchlog.Object{first}
	for _, l := range r.logs[1:] {
		all = append(all, l.Snapshot().Get(key))
	}
	return all
}

// get returns an object as it is stored, nil when there is none.
func (t *tx) get(r *resource, key string) *watchlog.Object {
	if all := t.faces(r, key); all != nil {
		return all[0]
	}
	return nil
}

// decoded returns an object as it is stored, decoded; nil when there is none.
func (t *tx) decoded(r *resource, key string) (runtime.Object, error) {
	o := t.get(r, key)
	if o == nil {
		return nil, nil
	}
	return codec.DecodeStored(r.kind.Stored(), o.JSON())
}

// keys returns the keys of a resource's objects in a namespace ("": in all, or cluster-scoped), sorted.
func (t *tx) keys(r *resource, namespace string) []string {
	term, prefix := watchlog.Everything(), ""
	if namespace != "" {
		term, prefix = watchlog.InNamespace(namespace), namespace+"/"
	}
	var keys []string
	for o := range r.logs[0].Snapshot().Select(term, "") {
		if v, ok := t.after[slot{r, o.Key()}]; !ok || v != nil {
			keys = append(keys, o.Key())
		}
	}
	known := len(keys)
	for s, v := range t.after {
		if s.resource != r || v == nil || !strings.HasPrefix(s.key, prefix) {
			continue
		}
		if _, ok := slices.BinarySearch(keys[:known], s.key); !ok {
			keys = append(keys, s.key)
		}
	}
	slices.Sort(keys)
	return keys
}

// put stores obj, which is in the stored face, and returns it as face index has it. An object that is already there with
// the same content is left alone: no revision, no event.
func (t *tx) put(r *resource, key string, obj runtime.Object, index int) ([]byte, error) {
	m := accessor(obj)
	before := t.faces(r, key)
	if t.dry { // shown with the revision that it has, if any
		return encodeAs(obj, r, index)
	}
	m.SetResourceVersion(strconv.FormatUint(t.rev+1, 10))
	after, err := r.objects(obj)
	if err != nil {
		return nil, err
	}
	if before != nil && string(before[0].AppendJSON(nil, t.rev+1)) == string(after[0].JSON()) {
		m.SetResourceVersion(strconv.FormatUint(before[0].Rev(), 10))
		return before[index].JSON(), nil
	}
	t.add(change{slot: slot{r, key}, before: before, after: after})
	return after[index].JSON(), nil
}

func encodeAs(obj runtime.Object, r *resource, index int) ([]byte, error) {
	f := r.kind.Faces[index]
	as, err := codec.Convert(obj, f)
	if err != nil {
		return nil, err
	}
	return codec.Encode(f, as)
}

// remove deletes an object that is there and returns its last state as face index has it, at the revision of the
// deletion.
func (t *tx) remove(r *resource, key string, index int) []byte {
	before := t.faces(r, key)
	if t.dry {
		return before[index].JSON()
	}
	t.add(change{slot: slot{r, key}, before: before})
	return before[index].AppendJSON(nil, t.rev)
}
