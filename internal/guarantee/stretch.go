package guarantee

// stretch is a part of a reader's log that is judged by one history of the cloud.
type stretch struct {
	r        *Reader
	from, to int  // in the log
	era      int  // how many restores were before that history
	moves    bool // it is followed by one of another history
	seam     *seam
}

// left tells whether nothing is demanded of what the stretch ends with.
func (s stretch) left() bool {
	return s.to < len(s.r.log) || s.to > s.from && s.r.log[s.to-1].kind == closed
}

// told tells whether the reader was told before that its position is gone.
func (s stretch) told() bool {
	for i := s.from - 1; i >= 0; i-- {
		switch s.r.log[i].kind {
		case expired:
			return true
		case ended, failed:
		default:
			return false
		}
	}
	return false
}

// end returns when the last thing in the stretch was recorded.
func (s stretch) end() uint64 {
	if s.to == s.from {
		return 0
	}
	return s.r.log[s.to-1].seq
}

// stretches divides a log where the reader takes a whole new state. One that never watches takes a new one each time.
func (r *Reader) stretches() []stretch {
	watches := false
	for i := range r.log {
		watches = watches || r.log[i].kind == opened
	}
	parts := []stretch{{r: r}}
	for i := range r.log {
		o := &r.log[i]
		state := o.kind == listed && !o.exact || o.kind == opened && o.initial || !watches
		if state && i > 0 {
			parts = append(parts, stretch{r: r, from: i})
		}
		parts[len(parts)-1].to = i + 1
	}
	return parts
}

// joined makes one of neighbours that go by the same history.
func joined(parts []stretch) []stretch {
	whole := parts[:1]
	for _, s := range parts[1:] {
		last := &whole[len(whole)-1]
		if last.era == s.era && s.seam == nil {
			last.to = s.to
			continue
		}
		last.moves = true
		whole = append(whole, s)
	}
	return whole
}
