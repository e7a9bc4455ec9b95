package store

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"go.etcd.io/bbolt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// DumpOptions says what Dump prints beside the resources themselves.
type DumpOptions struct {
	Resource  string // only this one, "pods" or "deployments.apps"; "" means all
	Key       string // only the object with this key; "" means all
	Objects   bool   // the live versions
	Events    bool   // the window
	Staged    bool   // the catch-up under way
	Documents bool   // API documents, without their bodies
	Infos     bool   // small facts
	Keys      *Keys  // of an encrypted file
	JSON      bool   // with objects, events and staged versions: the object itself and its cells
}

// dumpLine is one line of a dump. Kind says which of the other fields count.
type dumpLine struct {
	Kind     string          `json:"kind"` // resource, object, event, staged, document, info
	Resource string          `json:"resource,omitempty"`
	Key      string          `json:"key,omitempty"`
	Type     string          `json:"type,omitempty"`
	Seq      uint64          `json:"seq,omitempty"`
	Rev      uint64          `json:"rev,omitempty"`
	Shown    uint64          `json:"shown,omitempty"`
	Late     bool            `json:"late,omitempty"`
	Body     uint64          `json:"body,omitempty"`
	Prev     uint64          `json:"prev,omitempty"`
	Size     int             `json:"size,omitempty"` // bytes of JSON and cells, or of the document
	Value    string          `json:"value,omitempty"`
	State    *dumpState      `json:"state,omitempty"`
	Object   json.RawMessage `json:"object,omitempty"`
	Cells    json.RawMessage `json:"cells,omitempty"`
}

// dumpState is how far a resource is.
type dumpState struct {
	Resource  any      `json:"resource"`
	Epoch     string   `json:"epoch"`
	Scope     string   `json:"scope"`
	Rev       uint64   `json:"rev"`
	StagedRev uint64   `json:"stagedRev"`
	Oldest    uint64   `json:"oldest"`
	Gaps      []string `json:"gaps,omitempty"` // "from-to"
}

// Dump prints what is in the data file of dir as lines of JSON, one for each thing. It fails with ErrLocked while a
// store has the file open, with ErrUnknownResource or ErrUnknownKey when what o asks for isn't there, and with
// ErrNewerFormat, ErrCorrupt or the writer's error where it got so far.
func Dump(dir string, w io.Writer, o DumpOptions) error {
	return readFile(filepath.Join(dir, FileName), atOnce(o.Keys), func(tx *bbolt.Tx) error {
		d := &dumper{DumpOptions: o, out: json.NewEncoder(w)}
		d.out.SetEscapeHTML(false)
		if err := eachResource(tx, d.resource); err != nil {
			return err
		}
		if err := d.found(); err != nil {
			return err
		}
		if err := d.documents(tx.Bucket(bucketDocuments)); err != nil {
			return err
		}
		return d.infos(tx.Bucket(bucketInfo))
	})
}

// dumper is the state of one Dump.
type dumper struct {
	DumpOptions
	out           *json.Encoder
	foundResource bool // Resource was met
	foundKey      bool // Key was met, in whatever part of a resource
}

// found fails when nothing was met of what is asked for by name.
func (d *dumper) found() error {
	switch {
	case d.Resource != "" && !d.foundResource:
		return fmt.Errorf("%s: %w", d.Resource, ErrUnknownResource)
	case d.Key != "" && !d.foundKey:
		return fmt.Errorf("%s: %w", d.Key, ErrUnknownKey)
	}
	return nil
}

func (d *dumper) resource(r *resource) error {
	if d.Resource != "" && d.Resource != r.name {
		return nil
	}
	d.foundResource = true
	r.vault = atOnce(d.Keys).vault(r.name)
	d.foundKey = d.foundKey || r.index.Get([]byte(d.Key)) != nil || r.staged.Get([]byte(d.Key)) != nil
	desc, err := r.description()
	if err != nil {
		return err
	}
	st := &dumpState{
		Resource: desc.Resource, Epoch: desc.Epoch, Scope: desc.Scope,
		Rev: r.progress.rev, StagedRev: r.progress.staged, Oldest: r.progress.oldest,
	}
	for _, g := range r.progress.gaps {
		st.Gaps = append(st.Gaps, fmt.Sprintf("%d-%d", g.From, g.To))
	}
	if err := d.out.Encode(dumpLine{Kind: "resource", Resource: r.name, State: st}); err != nil {
		return err
	}
	if err := d.entries(r, r.index, "object", d.Objects); err != nil {
		return err
	}
	if err := d.events(r); err != nil {
		return err
	}
	return d.entries(r, r.staged, "staged", d.Staged)
}

func (d *dumper) entries(r *resource, b *bbolt.Bucket, kind string, wanted bool) error {
	if !wanted {
		return nil
	}
	return each(b, kind, func(k, v []byte) error {
		if d.Key != "" && d.Key != string(k) {
			return nil
		}
		e, err := decodeEntry(v)
		if err != nil {
			return err
		}
		return d.version(r, dumpLine{Kind: kind, Resource: r.name, Key: string(k), Rev: e.rev, Body: e.id})
	})
}

func (d *dumper) events(r *resource) error {
	if !d.Events {
		return nil
	}
	return each(r.events, "events", func(k, v []byte) error {
		seq, e, err := readEvent(k, v)
		if err != nil || d.Key != "" && d.Key != e.key {
			return err
		}
		d.foundKey = true
		return d.version(r, dumpLine{
			Kind: "event", Resource: r.name, Key: e.key, Type: e.typ.String(), Seq: seq, Rev: e.rev, Shown: e.shown,
			Late: e.late, Body: e.object, Prev: e.prev,
		})
	})
}

// version prints a line together with the body that it names.
func (d *dumper) version(r *resource, line dumpLine) error {
	if line.Body != 0 {
		k := number(line.Body)
		raw, err := r.vault.unseal(k, r.bodies.Get(k))
		if err != nil {
			return fmt.Errorf("%s %s: %w", r.name, line.Key, err)
		}
		json, cells, err := watchlog.SplitJoined(raw)
		if err != nil {
			return fmt.Errorf("%s %s: %w", r.name, line.Key, err)
		}
		line.Size = len(raw)
		if d.JSON {
			line.Object, line.Cells = json, cells
		}
	}
	return d.out.Encode(line)
}

func (d *dumper) documents(b *bbolt.Bucket) error {
	if !d.Documents {
		return nil
	}
	return each(b, "documents", func(k, v []byte) error {
		doc, err := decodeDocument(k, v)
		if err != nil {
			return err
		}
		return d.out.Encode(dumpLine{
			Kind: "document", Key: doc.Path, Type: doc.Accept, Value: doc.MediaType, Size: doc.Body.Len(),
		})
	})
}

func (d *dumper) infos(b *bbolt.Bucket) error {
	if !d.Infos {
		return nil
	}
	return each(b, "info", func(k, v []byte) error {
		value, err := unseal(k, v)
		if err != nil {
			return err
		}
		return d.out.Encode(dumpLine{Kind: "info", Key: string(k), Value: string(value)})
	})
}
