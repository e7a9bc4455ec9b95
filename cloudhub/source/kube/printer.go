package kube

import (
	"github.com/tombolo-sync/tombolo/cloudhub/source/age"
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
	rule age.Rule
}

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
			dst = appendAge(dst, value, p.ages[next].rule, row.Object)
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
func appendAge(dst, cell []byte, rule age.Rule, object []byte) []byte {
	if text, ok := age.Text(cell); ok {
		if a, ok := rule(object, text); ok {
			return a.Append(dst)
		}
	}
	return append(dst, cell...)
}
