package embedded

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/printer"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// resource is a kind with its objects: one log for each face, of which the first is what is stored. Its parts never
// change; a redefined kind is a new resource.
type resource struct {
	kind *catalog.Kind
	name string          // of its bucket
	logs []*watchlog.Log // as kind.Faces
	// printers make the cells of the objects, as kind.Faces.
	printers []*printer.Printer
}

func newResource(k *catalog.Kind, window watchlog.Config) *resource {
	r := &resource{kind: k, name: k.GroupResource().String()}
	for _, f := range k.Faces {
		r.logs = append(r.logs, watchlog.New(&f.Resource, window))
		r.printers = append(r.printers, f.Printer())
	}
	return r
}

// objects returns one version of an object in all faces.
func (r *resource) objects(obj runtime.Object) ([]*watchlog.Object, error) {
	out := make([]*watchlog.Object, len(r.logs))
	for i, f := range r.kind.Faces {
		o, err := r.convert(obj, i, f)
		if err != nil {
			return nil, err
		}
		out[i] = o
	}
	return out, nil
}

// convert returns an object in face f, which is number i.
func (r *resource) convert(obj runtime.Object, i int, f *catalog.Face) (*watchlog.Object, error) {
	as, err := codec.Convert(obj, f)
	if err != nil {
		return nil, err
	}
	raw, err := codec.Encode(f, as)
	if err != nil {
		return nil, err
	}
	return r.decode(i, raw)
}

// decode returns the object that raw encodes in face number i.
func (r *resource) decode(i int, raw []byte) (*watchlog.Object, error) {
	return r.logs[i].Decoder().DecodeRow(raw, r.printers[i].Cells(raw))
}

// loader collects the objects of a resource for its logs.
type loader struct {
	resource *resource
	objects  [][]*watchlog.Object // as resource.logs
}

func newLoader(r *resource) *loader { return &loader{r, make([][]*watchlog.Object, len(r.logs))} }

// add adds an object from the bytes that were stored, by whichever version of the kind was the stored one then.
func (l *loader) add(key string, raw []byte) error {
	r := l.resource
	stored := r.kind.Stored()
	if r.kind.Custom() || len(r.logs) > 1 {
		obj, err := codec.DecodeStored(stored, raw)
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		all, err := r.objects(obj)
		if err != nil {
			return fmt.Errorf("%s %s: %w", r.name, key, err)
		}
		for i, o := range all {
			l.objects[i] = append(l.objects[i], o)
		}
		return nil
	}
	o, err := r.decode(0, raw)
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	l.objects[0] = append(l.objects[0], o)
	return nil
}

// load gives the logs that have no state yet theirs, at position rev.
func (l *loader) load(rev uint64) error {
	for i, log := range l.resource.logs {
		if log.IsReady() {
			continue
		}
		if err := log.Load(watchlog.Content{Objects: l.objects[i], Rev: rev, Floor: rev}); err != nil {
			return fmt.Errorf("%s: %w", l.resource.name, err)
		}
	}
	return nil
}

// face is a resource in one of its versions.
type face struct {
	*resource
	index int
}

func (f face) def() *catalog.Face          { return f.kind.Faces[f.index] }
func (f face) log() *watchlog.Log          { return f.logs[f.index] }
func (f face) group() schema.GroupResource { return f.def().Resource.GroupResource() }
func (f face) groupKind() schema.GroupKind { return f.def().GVK().GroupKind() }

// sameKind tells whether two descriptions of a custom kind are equal in all that a resource depends on.
func sameKind(a, b *catalog.Kind) bool {
	x, y := *a, *b
	x.Name, y.Name = nil, nil // functions; custom kinds all have the same rule
	return reflect.DeepEqual(x, y)
}

// accessor returns the metadata of an object, which all objects here have.
func accessor(obj runtime.Object) metav1.Object {
	m, err := meta.Accessor(obj)
	if err != nil {
		panic(err) // only types with metadata are in the catalog
	}
	return m
}

// sameResource tells whether logs of two resources hold the same objects in the same way.
func sameResource(a, b *watchlog.Resource) bool { return reflect.DeepEqual(a, b) }
