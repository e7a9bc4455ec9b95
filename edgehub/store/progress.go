package store

import (
	"encoding/binary"
	"fmt"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// progress says how far a resource is.
type progress struct {
	rev    uint64 // the position; 0 until the first state is in
	staged uint64 // everything up to here is staged; 0 when nothing is
	oldest uint64 // the smallest position that can be watched from: every event behind it is in the window
	bytes  uint64 // what the events in the window cost, see cost
	gaps   []watchlog.Gap
}

const (
	progressFixed = 4 * 8
	gapSize       = 2 * 8
)

func (p *progress) encode() []byte {
	b := make([]byte, 0, progressFixed+len(p.gaps)*gapSize)
	for _, n := range [...]uint64{p.rev, p.staged, p.oldest, p.bytes} {
		b = binary.BigEndian.AppendUint64(b, n)
	}
	for _, g := range p.gaps {
		b = binary.BigEndian.AppendUint64(b, g.From)
		b = binary.BigEndian.AppendUint64(b, g.To)
	}
	return b
}

func decodeProgress(b []byte) (progress, error) {
	if len(b) < progressFixed || (len(b)-progressFixed)%gapSize != 0 {
		return progress{}, fmt.Errorf("%w: progress of %d bytes", ErrCorrupt, len(b))
	}
	p := progress{
		rev:    binary.BigEndian.Uint64(b),
		staged: binary.BigEndian.Uint64(b[8:]),
		oldest: binary.BigEndian.Uint64(b[16:]),
		bytes:  binary.BigEndian.Uint64(b[24:]),
	}
	for b = b[progressFixed:]; len(b) > 0; b = b[gapSize:] {
		p.gaps = append(p.gaps, watchlog.Gap{From: binary.BigEndian.Uint64(b), To: binary.BigEndian.Uint64(b[8:])})
	}
	return p, nil
}
