package litesrv

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// holdLimit bounds the messages that all lists that are being written hold on to together, in bytes. What is beyond is
// encoded twice, unless the cache has it.
const holdLimit = 16 << 20

// writeProtobuf writes protobuf. The length of a list comes before its items, so all are encoded once to find it.
func (p *pageWriter) writeProtobuf() error {
	list := protobufList{pageWriter: p}
	defer func() { p.proto.held.Add(-list.held) }()
	meta, err := p.listMeta().Marshal()
	if err != nil {
		return err
	}
	size, err := list.measure()
	if err != nil {
		return err
	}
	b := p.body
	b.buf = typeMeta{p.apiVersion(), p.kind()}.appendEnvelope(b.buf, fieldSize(len(meta))+size)
	if p.itemsFirst() {
		if more, err := list.writeItems(tagFirst); !more {
			return err
		}
		b.buf = append(appendFieldHead(b.buf, tagSecond, len(meta)), meta...)
	} else {
		b.buf = append(appendFieldHead(b.buf, tagFirst, len(meta)), meta...)
		if more, err := list.writeItems(tagSecond); !more {
			return err
		}
	}
	b.buf = append(b.buf, unknownEnd...)
	return nil
}

// itemsFirst tells whether the items are the first field of the list and its metadata the second, which only
// PartialObjectMetadataList has so, in v1beta1 (apimachinery pkg/apis/meta/v1beta1/types.go).
func (p *pageWriter) itemsFirst() bool {
	return p.form.shape.kind == kindPartialList && p.form.shape.version == "v1beta1"
}

// listMeta is the metadata of the list.
func (p *pageWriter) listMeta() *metav1.ListMeta {
	meta := &metav1.ListMeta{ResourceVersion: strconv.FormatUint(p.rev, 10), Continue: p.next}
	if p.next != "" && p.remaining > 0 {
		left := int64(p.remaining)
		meta.RemainingItemCount = &left
	}
	return meta
}

// protobufList is a list that is being written in protobuf.
type protobufList struct {
	*pageWriter
	messages [][]byte // of the first items
	held     int64    // bytes of those
}

func (l *protobufList) message(o *watchlog.Object) ([]byte, error) {
	return l.proto.message(l.res, l.form.shape, o, o.Rev())
}

// measure returns the size of all items.
func (l *protobufList) measure() (size int, err error) {
	holding := true
	for o := range l.items {
		message, err := l.message(o)
		if err != nil {
			return 0, err
		}
		size += fieldSize(len(message))
		if holding = holding && l.hold(message); holding {
			l.messages = append(l.messages, message)
		}
	}
	return size, nil
}

// hold tells whether there is room to hold on to a message.
func (l *protobufList) hold(message []byte) bool {
	n := int64(len(message))
	if l.proto.held.Add(n) > holdLimit {
		l.proto.held.Add(-n)
		return false
	}
	l.held += n
	return true
}

// writeItems writes the items as the field of a tag. more is false when nothing that follows would be sent.
func (l *protobufList) writeItems(tag byte) (more bool, err error) {
	b := l.body
	n := 0
	for o := range l.items {
		var message []byte
		if n < len(l.messages) {
			message = l.messages[n]
		} else if m, err := l.message(o); err == nil {
			message = m
		} else {
			return false, err
		}
		n++
		b.buf = append(appendFieldHead(b.buf, tag, len(message)), message...)
		if !b.spill() {
			return false, nil
		}
	}
	return true, nil
}
