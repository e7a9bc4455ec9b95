package kube

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// printerVersion changes when the same row gives other cells than before, so that edges are sent what differs.
const printerVersion = "1"

// printer makes the cells that are kept of the ones that the API server sends: those that tell an age are replaced by the
// time since when, so that they are the same at every hub and true whenever they are shown. It is immutable.
type printer struct {
	ages []ageCell
}

// ageCell is a cell that may tell an age.
type ageCell struct {
	cell int // its place
	age  ageRule
}

// age is what a cell tells: %s in format stands for the time since then. ahead is a format for a time that has not come
// yet, "" when there is none.
type age struct {
	Since  string `json:"since"` // RFC 3339
	Format string `json:"format"`
	Ahead  string `json:"ahead,omitempty"`
}

// ageRule returns the age that a cell with the text tells of an object; false when it tells none.
type ageRule func(object []byte, text string) (age, bool)

// plainAge is the format of a cell that is nothing but an age.
const plainAge = "%s"

// appendRow appends what is kept of a row (see watchlog.Object.Cells) to dst.
func (p *printer) appendRow(dst []byte, row rawRow) []byte {
	if len(row.Conditions) == 0 {
		return p.appendCells(dst, row)
	}
	dst = p.appendCells(append(dst, `{"cells":`...), row)
	return append(append(append(dst, rowMore...), row.Conditions...), '}')
}

func (p *printer) appendCells(dst []byte, row rawRow) []byte {
	start, next := len(dst), 0
	dst = append(dst, '[')
	ok := watchlog.Elements(row.Cells, func(i int, value []byte) bool {
		if i > 0 {
			dst = append(dst, ',')
		}
		for next < len(p.ages) && p.ages[next].cell < i {
			next++
		}
		if next < len(p.ages) && p.ages[next].cell == i {
			dst = appendAge(dst, value, p.ages[next].age, row.Object)
		} else {
			dst = append(dst, value...)
		}
		return true
	})
	if !ok {
		return append(dst[:start], row.Cells...) // for the decoder to refuse
	}
	return append(dst, ']')
}

// appendAge appends the age that a cell tells, or the cell as it is when it tells none.
func appendAge(dst, cell []byte, rule ageRule, object []byte) []byte {
	text, ok := cellText(cell)
	if !ok {
		return append(dst, cell...)
	}
	a, ok := rule(object, text)
	if !ok {
		return append(dst, cell...)
	}
	if a.Format == plainAge && a.Ahead == "" {
		return append(append(append(dst, `{"since":"`...), a.Since...), `","format":"%s"}`...)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		return append(dst, cell...)
	}
	return append(dst, raw...)
}

// cellText returns what a cell shows if it is a string.
func cellText(cell []byte) (string, bool) {
	if len(cell) < 2 || cell[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(cell, '\\') < 0 {
		return string(cell[1 : len(cell)-1]), true
	}
	var text string
	return text, json.Unmarshal(cell, &text) == nil
}

// timeAt returns the time that stands in an object at a path of members; false when there is none, or the zero one, for
// which the API server prints "<unknown>".
func timeAt(object []byte, path ...string) (string, bool) {
	for _, key := range path {
		if object = watchlog.Member(object, key); object == nil {
			return "", false
		}
	}
	text, ok := cellText(object)
	return text, ok && isTime(text)
}

// isTime tells whether a text is a time as the API server reads it, and not the zero one.
func isTime(text string) bool {
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && !t.IsZero() && !strings.ContainsAny(text, `"\`)
}
