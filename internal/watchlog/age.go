package watchlog

import (
	"bytes"
	"strconv"
	"time"
)

// What an age in cells looks like; see package proto/tombolo/v1, Operation.
const (
	ageSince  = `{"since":"`
	ageFormat = `","format":"`
	ageAhead  = `","ahead":"`
	ageEnd    = `"}`
)

// AppendCells appends the object's row without the object to dst, as the members of a table's row ("cells", and
// "conditions" if it has some), with the ages that its cells tell at a time.
func (o *Object) AppendCells(dst []byte, now time.Time) []byte {
	cells := o.cells
	if len(cells) > 2 && cells[0] == '{' { // {"cells":…,"conditions":…}
		cells = cells[1 : len(cells)-1]
	} else {
		dst = append(dst, `"cells":`...)
	}
	return appendAges(dst, cells, now)
}

// appendAges appends cells with their ages rendered. What only looks like an age stays as it is: the mark can't be part of
// a string, in which its quotes would be escaped.
func appendAges(dst, cells []byte, now time.Time) []byte {
	for {
		i := bytes.Index(cells, []byte(ageSince))
		if i < 0 {
			return append(dst, cells...)
		}
		dst, cells = append(dst, cells[:i]...), cells[i:]
		out, rest, ok := appendAge(dst, cells, now)
		if !ok {
			out, rest = append(dst, cells[0]), cells[1:]
		}
		dst, cells = out, rest
	}
}

// appendAge appends the age that begins cells, and returns what is behind it.
func appendAge(dst, cells []byte, now time.Time) (out, rest []byte, ok bool) {
	since, rest, ok := bytes.Cut(cells[len(ageSince):], []byte(ageFormat))
	if !ok {
		return dst, nil, false
	}
	at, ok := parseTime(since)
	if !ok {
		return dst, nil, false
	}
	format, rest, ok := cutText(rest)
	d := now.Sub(at)
	if ahead, found := bytes.CutPrefix(rest, []byte(ageAhead)); ok && found {
		var later []byte
		if later, rest, ok = cutText(ahead); d < 0 {
			format, d = later, -d
		}
	}
	rest, ended := bytes.CutPrefix(rest, []byte(ageEnd))
	if !ok || !ended {
		return dst, nil, false
	}
	before, behind, found := bytes.Cut(format, []byte("%s"))
	dst = append(append(dst, '"'), before...)
	if found {
		dst = appendDuration(dst, d)
	}
	return append(append(dst, behind...), '"'), rest, true
}

// cutText returns the bytes of a JSON string up to its closing quote, which rest begins with.
func cutText(raw []byte) (text, rest []byte, ok bool) {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return raw[:i], raw[i:], true
		}
	}
	return nil, nil, false
}

// parseTime reads an RFC 3339 time, mostly without allocating.
func parseTime(b []byte) (time.Time, bool) {
	const form = "0000-00-00T00:00:00Z"
	if len(b) == len(form) {
		var n [6]int
		field := 0
		for i, c := range b {
			switch {
			case form[i] == '0' && c >= '0' && c <= '9':
				n[field] = n[field]*10 + int(c-'0')
			case form[i] != '0' && c == form[i]:
				field++
			default:
				return time.Time{}, false
			}
		}
		if n[1] < 1 || n[1] > 12 || n[2] < 1 || n[2] > 31 || n[3] > 23 || n[4] > 59 || n[5] > 59 {
			return time.Time{}, false
		}
		return time.Date(n[0], time.Month(n[1]), n[2], n[3], n[4], n[5], 0, time.UTC), true
	}
	t, err := time.Parse(time.RFC3339, string(b))
	return t, err == nil
}

// appendDuration appends what apimachinery's duration.HumanDuration gives, in the form that it has inside a JSON string.
func appendDuration(dst []byte, d time.Duration) []byte {
	const minute, hour = 60, 3600
	const day, year = 24 * hour, 365 * 24 * hour
	switch s := int64(d / time.Second); {
	case s < -1:
		return append(dst, `\u003cinvalid\u003e`...)
	case s < 2*minute:
		return appendUnit(dst, max(s, 0), 's')
	case s < 10*minute:
		return appendUnits(dst, s/minute, 'm', s%minute, 's')
	case s < 3*hour:
		return appendUnit(dst, s/minute, 'm')
	case s < 8*hour:
		return appendUnits(dst, s/hour, 'h', s%hour/minute, 'm')
	case s < 2*day:
		return appendUnit(dst, s/hour, 'h')
	case s < 8*day:
		return appendUnits(dst, s/day, 'd', s%day/hour, 'h')
	case s < 2*year:
		return appendUnit(dst, s/day, 'd')
	case s < 8*year:
		return appendUnits(dst, s/year, 'y', s%year/day, 'd')
	default:
		return appendUnit(dst, s/year, 'y')
	}
}

// appendUnits appends a number of units and, if there are some, of smaller ones.
func appendUnits(dst []byte, n int64, unit byte, rest int64, smaller byte) []byte {
	dst = appendUnit(dst, n, unit)
	if rest == 0 {
		return dst
	}
	return appendUnit(dst, rest, smaller)
}

func appendUnit(dst []byte, n int64, unit byte) []byte {
	return append(strconv.AppendInt(dst, n, 10), unit)
}
