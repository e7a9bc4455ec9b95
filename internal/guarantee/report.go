package guarantee

import (
	"errors"
	"slices"
)

// report collects violations.
type report struct {
	all        bool // not only some of each kind
	violations []Violation
}

// mostPerKind limits the violations of one guarantee per reader.
const mostPerKind = 10

// around is how many observations before and after go into a violation.
const around = 4

// verdict is a fault found in one observation; the zero value says that there is none.
type verdict struct {
	err    error
	detail string
}

func (d verdict) bad() bool { return d.err != nil }

// is tells whether the fault breaks one of the guarantees.
func (d verdict) is(guarantees ...error) bool {
	return slices.ContainsFunc(guarantees, func(g error) bool { return errors.Is(d.err, g) })
}

// add records a violation seen by a reader at its i-th observation.
func (p *report) add(r *Reader, i int, d verdict, key string, rv uint64) {
	same := 0
	for _, v := range p.violations {
		if v.Reader == r.cfg.Name && v.Resource == r.cfg.Resource && errors.Is(v.Err, d.err) {
			same++
		}
	}
	if same >= mostPerKind && !p.all {
		return
	}
	v := Violation{Err: d.err, Reader: r.cfg.Name, Resource: r.cfg.Resource, Key: key, RV: rv, Detail: d.detail}
	for j := max(0, i-around); j < min(len(r.log), i+around+1); j++ {
		line := "  " + r.log[j].String()
		if j == i {
			line = "> " + r.log[j].String()
		}
		v.Around = append(v.Around, line)
	}
	p.violations = append(p.violations, v)
}
