package syncsrv

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// TestMailIsBoundedInBytes: what an edge sends while its session is held up, because it does not read, ends the session
// before it fills the hub's memory; taken in, it makes room again.
func TestMailIsBoundedInBytes(t *testing.T) {
	u, _ := testSubscription()
	s := u.s
	part := &tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Inventory{Inventory: &tombolov1.Inventory{
		Items: []*tombolov1.Item{{Key: strings.Repeat("k", 1<<20)}},
	}}}
	fill := func() (taken int, err error) {
		for ; err == nil && taken < maxMail; taken++ {
			err = s.handle(part)
		}
		return taken, err
	}
	if n, err := fill(); status.Code(err) != codes.ResourceExhausted || n > maxMailBytes>>20+2 {
		t.Fatalf("%d MiB are waiting, %v", n, err)
	}
	for _, l := range s.mail {
		if err := l.do(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	s.mail = nil
	if n := s.unread.Load(); n != 0 {
		t.Errorf("%d bytes are said to wait", n)
	}
	if err := s.handle(part); err != nil {
		t.Error(err)
	}
}

// TestInventoryOfWhatIsNoObjectIsRefused: an inventory is bounded in objects, so each must be bounded, too.
func TestInventoryOfWhatIsNoObjectIsRefused(t *testing.T) {
	u := &subscription{phase: awaiting, stock: &stock{items: map[string]*tombolov1.Item{}, limit: 10}}
	for key, want := range map[string]codes.Code{
		strings.Repeat("n", 253) + "/" + strings.Repeat("m", 253): codes.OK, strings.Repeat("k", maxIdentity+1): codes.InvalidArgument,
	} {
		err := u.inventory(&tombolov1.Inventory{Items: []*tombolov1.Item{{Key: key, Uid: strings.Repeat("u", 36)}}, More: true})
		if status.Code(err) != want {
			t.Errorf("%d bytes: %v", len(key), err)
		}
	}
}
