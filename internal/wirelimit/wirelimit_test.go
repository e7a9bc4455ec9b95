package wirelimit

import (
	"bytes"
	"errors"
	"testing"

	"google.golang.org/protobuf/proto"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

var responses = (&tombolov1.SyncResponse{}).ProtoReflect().Descriptor()

func encode(t testing.TB, m proto.Message) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func batch(n int, op *tombolov1.Operation) *tombolov1.SyncResponse {
	b := &tombolov1.Batch{}
	for range n {
		b.Operations = append(b.Operations, op)
	}
	return &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Batch{Batch: b}}
}

func TestOnlyWhatHasTooManyFieldsIsRefused(t *testing.T) {
	removal := &tombolov1.Operation{Key: "ns/a", Type: tombolov1.OperationType_OPERATION_TYPE_DELETE, Rev: 1}
	large := &tombolov1.Operation{Key: "ns/a", Data: make([]byte, 4<<20)}
	fields := &tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Subscription{Subscription: &tombolov1.Subscription{
		Info: &tombolov1.ResourceInfo{Fields: make([]*tombolov1.Field, Max)},
	}}}
	for i := range fields.GetSubscription().GetInfo().GetFields() {
		fields.GetSubscription().Info.Fields[i] = &tombolov1.Field{}
	}
	for name, c := range map[string]struct {
		m    proto.Message
		want error
	}{
		"nothing":              {&tombolov1.SyncResponse{}, nil},
		"4,096 removals":       {batch(4096, removal), nil},
		"a large object":       {batch(1, large), nil},
		"empty operations":     {batch(Max, &tombolov1.Operation{}), ErrTooMany},
		"fields of a resource": {fields, ErrTooMany},
		"numbers, one after the other": {&tombolov1.SyncResponse{Message: &tombolov1.SyncResponse_Welcome{
			Welcome: &tombolov1.Welcome{Resumed: make([]uint32, 8*Max+8)},
		}}, ErrTooMany},
	} {
		if err := Check(responses, encode(t, c.m)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhatIsUnknownCounts: it is kept by who decodes it.
func TestWhatIsUnknownCounts(t *testing.T) {
	if err := Check(responses, bytes.Repeat([]byte{0x78, 0x01}, Max+1)); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
}

// FuzzCheck: what is decoded without an error is let through unless it is large.
func FuzzCheck(f *testing.F) {
	f.Add(encode(f, batch(2, &tombolov1.Operation{Key: "ns/a", Rev: 7})))
	f.Fuzz(func(t *testing.T, raw []byte) {
		err := Check(responses, raw)
		if decoded := proto.Unmarshal(raw, &tombolov1.SyncResponse{}); decoded == nil && err != nil && len(raw) < Max && !errors.Is(err, ErrTooMany) {
			t.Fatal(err)
		}
	})
}
