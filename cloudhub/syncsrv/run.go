package syncsrv

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"google.golang.org/protobuf/proto"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// run is operations of one subscription that follow one another. It is immutable, and so are the bytes that batches hold
// of it: all sessions that send the same operations send the same bytes.
type run struct {
	pieces []piece
	ops    int
	last   uint64 // the position of the last operation
	// err says, instead of pieces, which object is too large to be sent.
	err error
}

var noRun = &run{}

// piece is what one batch has of a run. It is encoded when it is first sent: a run may be long, and an edge may be slow.
type piece struct {
	upto uint64 // the position of the last operation
	torn bool   // the run goes on with an operation at the same position

	once   sync.Once // makes all below
	ops    []*tombolov1.Operation
	frames bool
	body   []byte // the fields operations, or frame and framed_size, of a Batch message
	err    error
	kept   *sharedRun // is told how much memory the body takes; nil for a run that is not kept

	objects                int // bytes of objects, as patches or in a frame where they are
	puts, deletes, patches int
}

// minFramed is how many bytes a batch's operations must have to be put into a frame: less would hardly get smaller.
const minFramed = 512

var errUnsendable = errors.New("it can't be sent")

// newRun makes pieces of bounded size of operations. Frames are made where they save an eighth or more.
func newRun(ops []*tombolov1.Operation, frames bool) *run {
	r := &run{ops: len(ops)}
	for _, op := range ops {
		if n := size(op); n > maxObject {
			return &run{err: fmt.Errorf("%s has %d bytes: %w", op.GetKey(), n, errUnsendable)}
		}
		r.last = op.GetRev()
	}
	for len(ops) > 0 {
		n := cut(ops)
		upto := ops[n-1].GetRev()
		r.pieces = append(r.pieces, piece{
			ops: ops[:n], frames: frames, upto: upto, torn: n < len(ops) && ops[n].GetRev() == upto,
		})
		ops = ops[n:]
	}
	return r
}

// encoded returns the piece's bytes, which must not be changed. It fails for a string that is no UTF-8.
func (p *piece) encoded() (*[]byte, error) {
	p.once.Do(func() {
		p.count()
		b := &tombolov1.Batch{Operations: p.ops}
		if p.frames {
			p.pack(b)
		}
		p.body, p.err = proto.Marshal(b)
		p.ops = nil
		if p.kept != nil {
			p.kept.grew(int64(cap(p.body)))
		}
	})
	return &p.body, p.err
}

func (p *piece) count() {
	for _, op := range p.ops {
		p.objects += size(op)
		switch {
		case op.GetType() == tombolov1.OperationType_OPERATION_TYPE_DELETE:
			p.deletes++
		case op.GetEncoding() == tombolov1.Encoding_ENCODING_ZSTD_PATCH:
			p.patches++
			p.puts++
		default:
			p.puts++
		}
	}
}

// frameScratch is memory for putting a frame together.
type frameScratch struct{ text, frame []byte }

var frameScratches = sync.Pool{New: func() any { return &frameScratch{} }}

// pack puts a batch's operations into a frame if that saves enough.
func (p *piece) pack(b *tombolov1.Batch) {
	all := &tombolov1.Operations{Operations: b.GetOperations()}
	if size := proto.Size(all); size < minFramed || size > delta.MaxFramed {
		return
	}
	s := frameScratches.Get().(*frameScratch) //nolint:forcetypeassert // there is nothing else in the pool
	defer frameScratches.Put(s)
	var err error
	if s.text, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(s.text[:0], all); err != nil {
		return // a string that is no UTF-8: the batch can't be encoded, either
	}
	s.frame = delta.AppendFrame(s.frame[:0], s.text)
	if len(s.frame) > len(s.text)/8*7 {
		return
	}
	p.objects = len(s.frame)
	b.Operations, b.Frame, b.FramedSize = nil, bytes.Clone(s.frame), uint32(len(s.text)) //nolint:gosec // see above
}

// cost is how many bytes the run takes in memory, beside its bodies.
func (r *run) cost() int64 { return runOverhead + int64(len(r.pieces))*pieceOverhead }

// runOverhead is for a place in a cache as well.
const runOverhead, pieceOverhead = 300, 200
