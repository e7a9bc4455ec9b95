package watchlog

// SkipValue returns the position behind the JSON value that begins at position at of raw, white space before it included.
// It fails when none that it can follow begins there. It builds nothing, so that bytes can be spliced.
func SkipValue(raw []byte, at int) (int, error) {
	s := scanner{buf: raw, pos: at}
	if err := s.skip(); err != nil {
		return at, err
	}
	return s.pos, nil
}

// Member returns the bytes of the value of a member of the JSON object raw, nil when it has none of that key, or is no
// object. Keys with escapes are not found.
func Member(raw []byte, key string) []byte {
	s := scanner{buf: raw}
	if !s.take('{') || s.take('}') {
		return nil
	}
	for {
		k, err := s.str()
		if err != nil || !s.take(':') {
			return nil
		}
		value, err := s.value()
		if err != nil {
			return nil
		}
		if string(k) == key {
			return value
		}
		if !s.take(',') {
			return nil
		}
	}
}

// Elements calls f with the bytes of each element of the JSON array raw and its place, until f returns false. It returns
// false when raw is no array that it can follow.
func Elements(raw []byte, f func(i int, value []byte) bool) bool {
	s := scanner{buf: raw}
	if !s.take('[') {
		return false
	}
	if s.take(']') {
		return true
	}
	for i := 0; ; i++ {
		value, err := s.value()
		if err != nil {
			return false
		}
		if !f(i, value) {
			return true
		}
		if !s.take(',') {
			return s.take(']')
		}
	}
}

// Members returns how many members the JSON object raw has, 0 when it is none.
func Members(raw []byte) int {
	n := 0
	s := scanner{buf: raw}
	if s.object(func([]byte) error { n++; return s.skip() }) != nil {
		return 0
	}
	return n
}
