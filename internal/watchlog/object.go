package watchlog

import (
	"strconv"
	"sync/atomic"
)

// Object is one immutable version of a Kubernetes object: its identity, what selectors need, and its JSON exactly as
// the cloud encoded it (compact, kind and apiVersion included, no trailing newline).
type Object struct {
	key    string // "namespace/name", or "name"
	nsLen  int    // length of the namespace in key; 0 when cluster-scoped
	uid    string
	rev    uint64
	labels Labels
	fields []string // values of Resource.Fields, in that order
	json   []byte
	cells  []byte // see Cells; nil when there are none

	// revStart and revEnd delimit the digits of metadata.resourceVersion in json.
	revStart, revEnd uint32
	// itemStart is where the bytes of a list item begin when kind and apiVersion lead the object and are left out;
	// 0 when the object is its own item.
	itemStart uint32
	// metaStart and metaEnd delimit the value of metadata in json.
	metaStart, metaEnd uint32
	sum                uint32 // CRC-32C of json and then cells
	custom             bool   // Resource.Custom

	memo atomic.Pointer[any] // see Memo
}

// Key returns "namespace/name", or "name" for a cluster-scoped object. Lists are ordered by the bytes of the key.
func (o *Object) Key() string { return o.key }

// Namespace returns the namespace, "" for a cluster-scoped object.
func (o *Object) Namespace() string { return o.key[:o.nsLen] }

// Name returns the name.
func (o *Object) Name() string {
	if o.nsLen == 0 {
		return o.key
	}
	return o.key[o.nsLen+1:]
}

// UID returns metadata.uid.
func (o *Object) UID() string { return o.uid }

// Rev returns metadata.resourceVersion.
func (o *Object) Rev() uint64 { return o.rev }

// Labels returns the labels, for selectors to match.
func (o *Object) Labels() *Labels { return &o.labels }

// Field returns the value of Resource.Fields[i].
func (o *Object) Field(i int) string { return o.fields[i] }

// JSON returns the object's bytes. They must not be changed.
func (o *Object) JSON() []byte { return o.json }

// Size returns the number of bytes of the object's JSON and cells.
func (o *Object) Size() int { return len(o.json) + len(o.cells) }

// Checksum returns the CRC-32C of the object's JSON and then its cells. It is computed once, when the object is decoded.
func (o *Object) Checksum() uint32 { return o.sum }

// Memo returns what build made of the object when it was first called; should two callers come at once, one of both results
// stays. It is kept as long as the object is and counted nowhere, so it must be small. An object has one memo: that of who
// decides what the log's readers may see.
func (o *Object) Memo(build func(*Object) any) any {
	if m := o.memo.Load(); m != nil {
		return *m
	}
	made := build(o)
	o.memo.CompareAndSwap(nil, &made)
	return *o.memo.Load()
}

// AppendJSON appends the object's bytes to dst with rev as its resourceVersion, as kube-apiserver sends the last state
// of an object that was deleted, or that left a watch's selector, at rev.
func (o *Object) AppendJSON(dst []byte, rev uint64) []byte {
	if rev == o.rev {
		return append(dst, o.json...)
	}
	dst = append(dst, o.json[:o.revStart]...)
	dst = strconv.AppendUint(dst, rev, 10)
	return append(dst, o.json[o.revEnd:]...)
}

// AppendItem appends the object as an item of a list to dst: typed resources without kind and apiVersion.
func (o *Object) AppendItem(dst []byte) []byte {
	if o.itemStart == 0 {
		return append(dst, o.json...)
	}
	dst = append(dst, '{')
	return append(dst, o.json[o.itemStart:]...)
}

// KeyOf returns the key of an object by its namespace ("" when cluster-scoped) and name.
func KeyOf(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}
