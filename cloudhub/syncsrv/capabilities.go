package syncsrv

import (
	"slices"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// capabilities are what the two ends of a session can do beyond the protocol version's minimum.
type capabilities struct {
	patches bool
	frames  bool
	ranges  bool
	resumed bool
	lazy    bool // acks may wait and be of several positions, and there are reports
}

// meet returns what the hub can do of what an edge can.
func meet(edge []tombolov1.Capability) capabilities {
	return capabilities{
		patches: slices.Contains(edge, tombolov1.Capability_CAPABILITY_ZSTD_PATCH),
		frames:  slices.Contains(edge, tombolov1.Capability_CAPABILITY_ZSTD_BATCH),
		ranges:  slices.Contains(edge, tombolov1.Capability_CAPABILITY_RANGES),
		resumed: slices.Contains(edge, tombolov1.Capability_CAPABILITY_RESUMED),
		lazy:    slices.Contains(edge, tombolov1.Capability_CAPABILITY_LAZY_ACKS),
	}
}

func (c capabilities) list() (out []tombolov1.Capability) {
	if c.patches {
		out = append(out, tombolov1.Capability_CAPABILITY_ZSTD_PATCH)
	}
	if c.frames {
		out = append(out, tombolov1.Capability_CAPABILITY_ZSTD_BATCH)
	}
	if c.ranges {
		out = append(out, tombolov1.Capability_CAPABILITY_RANGES)
	}
	if c.resumed {
		out = append(out, tombolov1.Capability_CAPABILITY_RESUMED)
	}
	if c.lazy {
		out = append(out, tombolov1.Capability_CAPABILITY_LAZY_ACKS)
	}
	return out
}
