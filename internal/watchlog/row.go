package watchlog

import (
	"bytes"
	"fmt"
	"hash/crc32"
)

// Cells returns the object's row in the resource's table without the object: the JSON array of its cells, or, for a row
// that has conditions, an object {"cells":[…],"conditions":[…]}. A cell that tells an age is an object
// {"since":time,"format":text} (see package proto/tombolo/v1, Operation). Empty when the cloud gave no row. The bytes must
// not be changed.
func (o *Object) Cells() []byte { return o.cells }

// Same tells whether other has the same bytes and the same cells.
func (o *Object) Same(other *Object) bool {
	return bytes.Equal(o.json, other.json) && bytes.Equal(o.cells, other.cells)
}

// DecodeRow is Decode for an object with the cells of its row, which may be empty. It keeps both slices.
func (d *Decoder) DecodeRow(raw, cells []byte) (*Object, error) {
	o, err := d.Decode(raw)
	if err != nil {
		return nil, err
	}
	return d.withCells(o, cells)
}

// DecodeJoined is DecodeRow for an object's JSON and its cells, one right behind the other.
func (d *Decoder) DecodeJoined(raw []byte) (*Object, error) {
	o, cells, err := d.decodeFirst(raw)
	if err != nil {
		return nil, err
	}
	return d.withCells(o, cells)
}

// withCells gives cells, which may be empty, to an object that has none and that nobody else has seen.
func (d *Decoder) withCells(o *Object, cells []byte) (*Object, error) {
	if len(cells) == 0 {
		return o, nil
	}
	if err := checkCells(cells); err != nil {
		return nil, fmt.Errorf("%w: %s %s: cells: %w", ErrMalformed, d.res.GroupResource(), o.key, err)
	}
	o.cells, o.sum = cells, crc32.Update(o.sum, castagnoli, cells)
	return o, nil
}

// SplitJoined returns the parts of an object's JSON and its cells that lie one right behind the other. It fails when raw
// does not begin with a JSON value.
func SplitJoined(raw []byte) (json, cells []byte, err error) {
	s := scanner{buf: raw}
	if err := s.skip(); err != nil {
		return nil, nil, err
	}
	end := s.pos
	s.space()
	if s.pos == len(raw) {
		return raw, nil, nil
	}
	return raw[:end:end], raw[end:], nil
}

// checkCells fails unless cells are one JSON array or object and nothing else.
func checkCells(cells []byte) error {
	s := scanner{buf: cells}
	if c := cells[0]; c != '[' && c != '{' {
		return errSyntax
	}
	if err := s.skip(); err != nil {
		return err
	}
	if s.pos != len(cells) {
		return fmt.Errorf("%w: data after the cells", errSyntax)
	}
	return nil
}
