package watchlog

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"strconv"
	"unicode/utf8"
)

// scanner walks JSON bytes without building anything. It accepts every valid JSON text; of invalid ones it refuses
// those whose structure it can't follow, which is all that splicing the bytes needs.
type scanner struct {
	buf []byte
	pos int
}

var errSyntax = errors.New("invalid JSON")

// maxDepth bounds the nesting of an object, so that hostile bytes can't exhaust the stack.
const maxDepth = 512

func (s *scanner) space() {
	for s.pos < len(s.buf) {
		switch s.buf[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

// take consumes c after white space, or reports false and consumes only the space.
func (s *scanner) take(c byte) bool {
	s.space()
	if s.pos < len(s.buf) && s.buf[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// object calls field for each member with the raw key (between its quotes). field must consume the value.
func (s *scanner) object(field func(key []byte) error) error {
	if !s.take('{') {
		return errSyntax
	}
	if s.take('}') {
		return nil
	}
	for {
		key, err := s.str()
		if err != nil {
			return err
		}
		if !s.take(':') {
			return errSyntax
		}
		if err := field(key); err != nil {
			return err
		}
		if s.take(',') {
			continue
		}
		if s.take('}') {
			return nil
		}
		return errSyntax
	}
}

// str consumes a string and returns the bytes between its quotes, escapes untouched.
func (s *scanner) str() ([]byte, error) {
	if !s.take('"') {
		return nil, errSyntax
	}
	start := s.pos
	for {
		s.plain()
		if s.pos >= len(s.buf) {
			return nil, errSyntax
		}
		switch s.buf[s.pos] {
		case '"':
			s.pos++
			return s.buf[start : s.pos-1], nil
		case '\\':
			s.pos += 2
		default:
			return nil, errSyntax
		}
	}
}

// plain moves to the next byte that means something inside a string: a quote, a backslash or a control character. Most
// bytes of an object lie in strings, so it looks at eight at once.
func (s *scanner) plain() {
	const ones = 0x0101010101010101
	for s.pos+8 <= len(s.buf) {
		x := binary.LittleEndian.Uint64(s.buf[s.pos:])
		quote, slash := x^'"'*ones, x^'\\'*ones
		// The high bit of a byte is set where the byte is zero, or below a space. Borrows reach only bytes behind such a one.
		found := ((quote-ones)&^quote | (slash-ones)&^slash | (x-' '*ones)&^x) & (0x80 * ones)
		if found != 0 {
			s.pos += bits.TrailingZeros64(found) / 8
			return
		}
		s.pos += 8
	}
	for s.pos < len(s.buf) && s.buf[s.pos] >= ' ' && s.buf[s.pos] != '"' && s.buf[s.pos] != '\\' {
		s.pos++
	}
}

// value consumes one value of any type and returns its bytes.
func (s *scanner) value() ([]byte, error) {
	s.space()
	start := s.pos
	if err := s.skip(); err != nil {
		return nil, err
	}
	return s.buf[start:s.pos], nil
}

// skip consumes one value of any type.
func (s *scanner) skip() error {
	s.space()
	if s.pos >= len(s.buf) {
		return errSyntax
	}
	switch s.buf[s.pos] {
	case '{', '[':
		return s.skipNested()
	case '"':
		_, err := s.str()
		return err
	default:
		return s.skipLiteral()
	}
}

// skipNested consumes an object or array by its brackets alone; closers remembers which bracket ends each level.
func (s *scanner) skipNested() error {
	var closers [maxDepth]byte
	depth := 0
	for s.pos < len(s.buf) {
		switch c := s.buf[s.pos]; c {
		case '"':
			if _, err := s.str(); err != nil {
				return err
			}
			continue
		case '{', '[':
			if depth == maxDepth {
				return errors.New("nested too deeply")
			}
			closers[depth] = c + 2 // '{'+2 == '}', '['+2 == ']'
			depth++
		case '}', ']':
			depth--
			if depth < 0 || closers[depth] != c { //nolint:gosec // depth stays below maxDepth, see above
				return errSyntax
			}
			if depth == 0 {
				s.pos++
				return nil
			}
		}
		s.pos++
	}
	return errSyntax
}

// skipLiteral consumes a number, true, false or null.
func (s *scanner) skipLiteral() error {
	start := s.pos
	for s.pos < len(s.buf) {
		c := s.buf[s.pos]
		if c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E' {
			s.pos++
			continue
		}
		break
	}
	if s.pos == start {
		return errSyntax
	}
	switch lit := string(s.buf[start:s.pos]); {
	case lit == "true", lit == "false", lit == "null":
		return nil
	case lit[0] == '-' || lit[0] >= '0' && lit[0] <= '9':
		return nil
	}
	return errSyntax
}

// unquote returns the string that raw, the bytes between quotes, stands for.
func unquote(raw []byte) (string, error) {
	for i, c := range raw {
		if c == '\\' {
			return unescape(raw, i)
		}
	}
	return string(raw), nil
}

// unescape resolves the escapes of raw, of which the first stands at i.
func unescape(raw []byte, i int) (string, error) {
	out := append(make([]byte, 0, len(raw)), raw[:i]...)
	for i < len(raw) {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		if i+1 >= len(raw) {
			return "", errSyntax
		}
		if raw[i+1] == 'u' {
			r, n := unescapeRune(raw[i:])
			if n == 0 {
				return "", errSyntax
			}
			out = utf8.AppendRune(out, r)
			i += n
			continue
		}
		c, ok := simpleEscape(raw[i+1])
		if !ok {
			return "", errSyntax
		}
		out = append(out, c)
		i += 2
	}
	return string(out), nil
}

// simpleEscape returns the byte that a one-letter escape stands for.
func simpleEscape(c byte) (byte, bool) {
	switch c {
	case '"', '\\', '/':
		return c, true
	case 'b':
		return '\b', true
	case 'f':
		return '\f', true
	case 'n':
		return '\n', true
	case 'r':
		return '\r', true
	case 't':
		return '\t', true
	default:
		return 0, false
	}
}

// unescapeRune decodes a \u with its four digits, or a surrogate pair of them, at the start of b and returns the length consumed; 0 when
// it is malformed. A lone surrogate becomes U+FFFD, as in encoding/json.
func unescapeRune(b []byte) (rune, int) {
	hi, ok := hex4(b)
	if !ok {
		return 0, 0
	}
	if hi < 0xd800 || hi > 0xdfff {
		return hi, 6
	}
	if lo, ok := hex4(b[6:]); ok && hi <= 0xdbff && lo >= 0xdc00 && lo <= 0xdfff {
		return (hi-0xd800)<<10 | (lo - 0xdc00) + 0x10000, 12
	}
	return utf8.RuneError, 6
}

// hex4 reads the four digits of a \u at the start of b.
func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(b[2:6]), 16, 32)
	return rune(v), err == nil
}
