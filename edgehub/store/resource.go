package store

import (
	"encoding/json"
	"errors"
	"fmt"

	"go.etcd.io/bbolt"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// State is how far a resource is.
type State struct {
	Resource watchlog.Resource
	Epoch    string // the cluster's, that the data is of
	Scope    string // hash of the scope that the data is of
	Rev      uint64 // the position; 0: the first sync has not finished
	// Foreign is up to where clients may hold positions of another history: see SetForeign of watchlog.Log.
	Foreign   uint64
	StagedRev uint64 // a catch-up under way: all changes up to here are staged; 0: none
}

// Buckets of a resource, see the package comment.
var (
	bucketMeta   = []byte("meta")
	bucketBodies = []byte("bodies")
	bucketIndex  = []byte("index")
	bucketEvents = []byte("events")
	bucketStaged = []byte("staged")
)

// Keys in the meta bucket.
var (
	keyDescription = []byte("description")
	keyProgress    = []byte("progress")
)

// appendFill is how full pages are made that only ever grow at their end.
const appendFill = 0.95

// description is what Describe stores.
type description struct {
	Resource watchlog.Resource `json:"resource"`
	Epoch    string            `json:"epoch"`
	Scope    string            `json:"scope"`
	Foreign  uint64            `json:"foreign,omitempty"`
}

// resource is one resource in a transaction.
type resource struct {
	name string
	root *bbolt.Bucket

	meta, bodies, index, events, staged *bbolt.Bucket

	vault vault // of bodies; set by who reads or writes them

	progress progress // written by save
}

// openResource returns a resource of the file. It fails with ErrUnknownResource.
func openResource(tx *bbolt.Tx, name string) (*resource, error) {
	root := tx.Bucket(bucketResources).Bucket([]byte(name))
	if root == nil {
		return nil, fmt.Errorf("%s: %w", name, ErrUnknownResource)
	}
	r := &resource{
		name:   name,
		root:   root,
		meta:   root.Bucket(bucketMeta),
		bodies: root.Bucket(bucketBodies),
		index:  root.Bucket(bucketIndex),
		events: root.Bucket(bucketEvents),
		staged: root.Bucket(bucketStaged),
	}
	for _, b := range []*bbolt.Bucket{r.meta, r.bodies, r.index, r.events, r.staged} {
		if b == nil {
			return nil, r.wrap(fmt.Errorf("%w: bucket missing", ErrCorrupt))
		}
	}
	r.bodies.FillPercent = appendFill
	r.events.FillPercent = appendFill
	v, err := unseal(keyProgress, r.meta.Get(keyProgress))
	if err != nil {
		return nil, r.wrap(err)
	}
	r.progress, err = decodeProgress(v)
	return r, r.wrap(err)
}

// resource returns a resource of the file to write to. It fails with ErrUnknownResource.
func (tx *Tx) resource(name string) (*resource, error) {
	r, err := openResource(tx.tx, name)
	if err == nil {
		r.vault = tx.opts.vault(name)
	}
	return r, err
}

// createResource lays out a resource that is not in the file yet.
func createResource(tx *bbolt.Tx, name string) (*resource, error) {
	root, err := tx.Bucket(bucketResources).CreateBucket([]byte(name))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, b := range [][]byte{bucketMeta, bucketBodies, bucketIndex, bucketEvents, bucketStaged} {
		if _, err := root.CreateBucket(b); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	r := &resource{name: name, meta: root.Bucket(bucketMeta)}
	if err := r.save(); err != nil {
		return nil, err
	}
	if err := adjustCensus(tx, func(c *census) { c.resources++ }); err != nil {
		return nil, err
	}
	return openResource(tx, name)
}

// save writes the progress.
func (r *resource) save() error {
	return r.wrap(r.meta.Put(keyProgress, seal(keyProgress, r.progress.encode())))
}

// wrap adds the resource's name to an error.
func (r *resource) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", r.name, err)
}

func (r *resource) description() (description, error) {
	var d description
	v, err := unseal(keyDescription, r.meta.Get(keyDescription))
	if err != nil {
		return d, r.wrap(err)
	}
	if err := json.Unmarshal(v, &d); err != nil {
		return d, r.wrap(fmt.Errorf("%w: description: %w", ErrCorrupt, err))
	}
	if gr := d.Resource.GroupResource(); gr.String() != r.name {
		return d, r.wrap(fmt.Errorf("%w: description is of %s", ErrCorrupt, gr))
	}
	return d, nil
}

func (r *resource) state() (State, error) {
	d, err := r.description()
	return State{
		Resource: d.Resource, Epoch: d.Epoch, Scope: d.Scope, Foreign: d.Foreign, Rev: r.progress.rev, StagedRev: r.progress.staged,
	}, err
}

// Describe stores what a resource is and which epoch and scope its data are of. It creates the resource at position 0 if
// it isn't there; otherwise objects and positions stay as they are. Rev and StagedRev of st are not looked at.
func (tx *Tx) Describe(st State) error {
	gr := st.Resource.GroupResource()
	if gr.Resource == "" {
		return errors.New("resource without a name")
	}
	r, err := tx.resource(gr.String())
	if errors.Is(err, ErrUnknownResource) {
		r, err = createResource(tx.tx, gr.String())
	}
	if err != nil {
		return err
	}
	v, err := json.Marshal(description{Resource: st.Resource, Epoch: st.Epoch, Scope: st.Scope, Foreign: st.Foreign})
	if err != nil {
		return r.wrap(err)
	}
	return r.wrap(r.meta.Put(keyDescription, seal(keyDescription, v)))
}

// Drop forgets a resource with all that is stored of it. A resource that isn't there is dropped already.
func (tx *Tx) Drop(gr schema.GroupResource) error {
	all := tx.tx.Bucket(bucketResources)
	if all.Bucket([]byte(gr.String())) == nil {
		return nil
	}
	if err := all.DeleteBucket([]byte(gr.String())); err != nil {
		return fmt.Errorf("%s: %w", gr, err)
	}
	return adjustCensus(tx.tx, func(c *census) { c.resources-- })
}

// Resources returns how far every resource is, ordered by name.
func (s *Store) Resources() ([]State, error) {
	var states []State
	err := s.view(func(tx *bbolt.Tx) error {
		err := eachResource(tx, func(r *resource) error {
			st, err := r.state()
			states = append(states, st)
			return err
		})
		if err != nil {
			return err
		}
		counted, err := readCensus(tx)
		if err != nil {
			return err
		}
		return complete("resources", len(states), counted.resources)
	})
	if err != nil {
		return nil, err
	}
	return states, nil
}

// eachResource calls fn for every resource in the file, ordered by name.
func eachResource(tx *bbolt.Tx, fn func(*resource) error) error {
	return tx.Bucket(bucketResources).ForEach(func(name, v []byte) error {
		if v != nil {
			return fmt.Errorf("%w: %q is not a resource", ErrCorrupt, name)
		}
		r, err := openResource(tx, string(name))
		if err != nil {
			return err
		}
		return fn(r)
	})
}
