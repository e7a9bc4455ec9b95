package watchlog

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"sync"
)

// Decoder reads from an object's JSON what a log needs (identity, labels and the resource's fields) and keeps the bytes
// as they are. It is safe for concurrent use.
type Decoder struct {
	res    *Resource
	fields *fieldNode

	mu     sync.Mutex
	intern map[string]string // label keys, label values and indexed field values seen lately; at most maxInterned
}

// maxInterned bounds the interned strings of a decoder; when it is reached they are forgotten and collected anew.
const maxInterned = 1 << 16

// fieldNode is a node of the tree of paths that a resource's fields name.
type fieldNode struct {
	children map[string]*fieldNode
	fields   []int // positions in Resource.Fields whose path ends here
}

// NewDecoder returns a decoder for the objects of a resource.
func NewDecoder(r *Resource) *Decoder {
	d := &Decoder{res: r, fields: &fieldNode{}, intern: map[string]string{}}
	for i, f := range r.Fields {
		if f.Path != "" {
			d.fields.add(strings.Split(f.Path, "."), i)
		}
	}
	return d
}

func (n *fieldNode) add(path []string, field int) {
	if len(path) == 0 {
		n.fields = append(n.fields, field)
		return
	}
	if n.children == nil {
		n.children = map[string]*fieldNode{}
	}
	child := n.children[path[0]]
	if child == nil {
		child = &fieldNode{}
		n.children[path[0]] = child
	}
	child.add(path[1:], field)
}

// Decode returns the object that raw encodes. It keeps raw, which must not be changed afterwards. It fails with
// ErrMalformed when raw is not one JSON object with a name and a resourceVersion that is a positive decimal number.
func (d *Decoder) Decode(raw []byte) (*Object, error) {
	o, rest, err := d.decodeFirst(raw)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%w: %s: %w: data after the object", ErrMalformed, d.res.GroupResource(), errSyntax)
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// decodeFirst returns the object that raw begins with and what follows it. White space that nothing follows belongs to the
// object.
func (d *Decoder) decodeFirst(raw []byte) (o *Object, rest []byte, err error) {
	p := parser{d: d, o: &Object{json: raw, custom: d.res.Custom}}
	p.s.buf = raw
	d.mu.Lock()
	err = p.object()
	d.mu.Unlock()
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s: %w", ErrMalformed, d.res.GroupResource(), err)
	}
	end := p.s.pos
	if p.s.space(); p.s.pos == len(raw) {
		p.o.sum = crc32.Checksum(raw, castagnoli)
		return p.o, nil, nil
	}
	p.o.json = raw[:end:end]
	p.o.sum = crc32.Checksum(p.o.json, castagnoli)
	return p.o, raw[end:], nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// parser is the state of one Decode.
type parser struct {
	d *Decoder
	s scanner
	o *Object

	namespace, name []byte
	members         int // top-level members seen so far
}

func (p *parser) object() error {
	if n := len(p.d.res.Fields); n > 0 {
		p.o.fields = make([]string, n)
		for i := range p.o.fields {
			p.o.fields[i] = p.d.res.Fields[i].Default
		}
	}
	if err := p.s.object(p.member); err != nil {
		return err
	}
	return p.finish()
}

// member consumes one top-level member.
func (p *parser) member(key []byte) error {
	n := p.members
	p.members++
	switch string(key) {
	case "metadata":
		p.s.space()
		p.o.rev = 0 // what counts of a member that is there twice is the last, and resourceVersion has to lie in it
		p.o.metaStart = uint32(p.s.pos)
		err := p.s.object(p.metadata)
		p.o.metaEnd = uint32(p.s.pos)
		return err
	case "kind", "apiVersion":
		if err := p.s.skip(); err != nil {
			return err
		}
		p.noteItemStart(key, n)
		return nil
	}
	return p.descend(p.d.fields, key)
}

// noteItemStart remembers where the bytes of a list item begin: behind a leading kind and apiVersion.
func (p *parser) noteItemStart(key []byte, n int) {
	if p.d.res.Custom {
		return
	}
	if n == 0 && string(key) == "kind" {
		p.o.itemStart = 1
	}
	if n == 1 && string(key) == "apiVersion" && p.o.itemStart == 1 && p.s.pos < len(p.s.buf) && p.s.buf[p.s.pos] == ',' {
		p.o.itemStart = uint32(p.s.pos + 1) //nolint:gosec // objects are far smaller than 4 GiB, see finish
	}
}

func (p *parser) metadata(key []byte) error {
	switch string(key) {
	case "name":
		return p.text(&p.name)
	case "namespace":
		return p.text(&p.namespace)
	case "uid":
		var raw []byte
		err := p.text(&raw)
		p.o.uid = string(raw)
		return err
	case "resourceVersion":
		return p.resourceVersion()
	case "labels":
		return p.labels()
	default:
		return p.s.skip()
	}
}

// text consumes a string that can't hold escapes (names, UIDs) or null.
func (p *parser) text(dst *[]byte) error {
	raw, err := p.s.value()
	if err != nil {
		return err
	}
	if string(raw) == "null" {
		return nil
	}
	if raw[0] != '"' {
		return fmt.Errorf("%w: a string expected, found %.20s", errSyntax, raw)
	}
	*dst = raw[1 : len(raw)-1]
	return nil
}

func (p *parser) resourceVersion() error {
	var raw []byte
	if err := p.text(&raw); err != nil {
		return err
	}
	rev, err := strconv.ParseUint(string(raw), 10, 64)
	if err != nil {
		return fmt.Errorf("resourceVersion %q is not a number", raw)
	}
	p.o.rev = rev
	p.o.revEnd = uint32(p.s.pos - 1) //nolint:gosec // see finish
	p.o.revStart = p.o.revEnd - uint32(len(raw))
	return nil
}

func (p *parser) labels() error {
	p.s.space()
	if p.s.pos < len(p.s.buf) && p.s.buf[p.s.pos] == 'n' {
		return p.s.skip()
	}
	p.o.labels = nil
	err := p.s.object(func(key []byte) error {
		var value []byte
		if err := p.text(&value); err != nil {
			return err
		}
		p.o.labels = append(p.o.labels, Label{Key: p.d.interned(key), Value: p.d.interned(value)})
		return nil
	})
	p.o.labels = p.o.labels.sorted()
	return err
}

// descend consumes the value of a member and picks the fields that it, or what is below it, holds.
func (p *parser) descend(n *fieldNode, key []byte) error {
	child := n.children[string(key)]
	if child == nil {
		return p.s.skip()
	}
	p.s.space()
	if len(child.children) > 0 && p.s.pos < len(p.s.buf) && p.s.buf[p.s.pos] == '{' {
		return p.s.object(func(key []byte) error { return p.descend(child, key) })
	}
	raw, err := p.s.value()
	if err != nil {
		return err
	}
	return p.setFields(child.fields, raw)
}

// setFields sets fields to a scalar in the form that field selectors compare; null, objects and arrays leave the default.
func (p *parser) setFields(fields []int, raw []byte) error {
	if len(fields) == 0 || raw[0] == '{' || raw[0] == '[' || string(raw) == "null" {
		return nil
	}
	var value string
	if raw[0] == '"' {
		v, err := unquote(raw[1 : len(raw)-1])
		if err != nil {
			return err
		}
		value = v
	} else {
		value = string(raw)
	}
	for _, i := range fields {
		if p.d.res.Fields[i].Indexed {
			value = p.d.interned([]byte(value))
		}
		p.o.fields[i] = value
	}
	return nil
}

func (p *parser) finish() error {
	o := p.o
	switch {
	case len(o.json) > 1<<30:
		return fmt.Errorf("%d bytes are more than an object may have", len(o.json))
	case len(p.name) == 0:
		return fmt.Errorf("no metadata.name")
	case o.rev == 0:
		return fmt.Errorf("%q has no resourceVersion", p.name)
	case o.itemStart == 1: // kind was not followed by apiVersion and more
		o.itemStart = 0
	}
	o.nsLen = len(p.namespace)
	o.key = KeyOf(string(p.namespace), string(p.name))
	return nil
}

// interned returns raw as a string that equal ones share. d.mu is held.
func (d *Decoder) interned(raw []byte) string {
	if s, ok := d.intern[string(raw)]; ok {
		return s
	}
	if len(d.intern) >= maxInterned {
		clear(d.intern)
	}
	s := string(raw)
	d.intern[s] = s
	return s
}
