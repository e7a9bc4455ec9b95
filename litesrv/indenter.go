package litesrv

// indenter turns compact JSON that comes in pieces into what json.MarshalIndent would give with two spaces. The zero
// value is ready for one document.
type indenter struct {
	depth   int
	inText  bool // inside a string
	escaped bool // behind a backslash in a string
	opened  bool // behind an opening bracket that has nothing in it yet
}

// append appends the indented form of the piece src to dst.
func (d *indenter) append(dst, src []byte) []byte {
	for _, c := range src {
		if d.inText {
			dst = append(dst, c)
			d.text(c)
			continue
		}
		dst = d.structure(dst, c)
	}
	return dst
}

// text follows the bytes of a string.
func (d *indenter) text(c byte) {
	switch {
	case d.escaped:
		d.escaped = false
	case c == '\\':
		d.escaped = true
	case c == '"':
		d.inText = false
	}
}

// structure appends a byte outside of strings.
func (d *indenter) structure(dst []byte, c byte) []byte {
	switch c {
	case ' ', '\t', '\r', '\n':
		return dst
	case '}', ']':
		d.depth--
		if !d.opened {
			dst = d.newline(dst)
		}
		d.opened = false
		return append(dst, c)
	}
	if d.opened {
		d.opened = false
		dst = d.newline(dst)
	}
	switch c {
	case '{', '[':
		d.depth++
		d.opened = true
		return append(dst, c)
	case ',':
		return d.newline(append(dst, c))
	case ':':
		return append(dst, ':', ' ')
	case '"':
		d.inText = true
	}
	return append(dst, c)
}

func (d *indenter) newline(dst []byte) []byte {
	dst = append(dst, '\n')
	for range d.depth {
		dst = append(dst, ' ', ' ')
	}
	return dst
}
