package syncsrv

import (
	"bytes"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// minFramed is how many bytes a batch's operations must have to be put into a frame: less would hardly get smaller.
const minFramed = 512

// frameScratch is memory for putting a frame together.
type frameScratch struct{ text, frame []byte }

var frameScratches = sync.Pool{New: func() any { return &frameScratch{} }}

// pack puts the operations of a batch into a frame if that saves an eighth or more. It is the one place where frames are
// made: edges with the same view get the same runs of operations, which could share them.
func pack(b *tombolov1.Batch) bool {
	all := &tombolov1.Operations{Operations: b.GetOperations()}
	if size := proto.Size(all); size < minFramed || size > delta.MaxFramed {
		return false
	}
	s := frameScratches.Get().(*frameScratch) //nolint:forcetypeassert // there is nothing else in the pool
	defer frameScratches.Put(s)
	var err error
	if s.text, err = (proto.MarshalOptions{}).MarshalAppend(s.text[:0], all); err != nil {
		return false // a string that is no UTF-8, which no send would take either
	}
	s.frame = delta.AppendFrame(s.frame[:0], s.text)
	if len(s.frame) > len(s.text)/8*7 {
		return false
	}
	b.Operations, b.Frame, b.FramedSize = nil, bytes.Clone(s.frame), uint32(len(s.text)) //nolint:gosec // see above
	return true
}
