package session

import (
	"fmt"

	"github.com/tombolo-sync/tombolo/internal/delta"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// inventoryItems is how many items one message of an inventory has.
const inventoryItems = 2000

// sendInventory tells the hub what the edge holds, or would hold if the step under way ended now: as sums over parts of
// it when there is much of it, of which the hub then asks for those that differ. apart is how many objects more or less one
// side has, as far as is known: so many differ at least.
func (s *session) sendInventory(r *replica, apart int, reason string) error {
	r.asked = true
	if r.inventories++; r.inventories > maxInventories {
		return fmt.Errorf("%w: %s: hub and edge do not agree after %d inventories", errLimit, r.gr, maxInventories)
	}
	if s.agreed.ranges {
		if sums := delta.NewRanges(r.log.Snapshot().Len()+len(r.step.ops), apart); sums != nil {
			return s.sendRanges(r, sums, reason)
		}
	}
	return s.sendItems(r, &tombolov1.Inventory{Reason: reason}, func(o *watchlog.Object) *tombolov1.Item {
		return &tombolov1.Item{Key: o.Key(), Uid: o.UID(), Rev: o.Rev(), Crc32C: o.Checksum()}
	})
}

func (s *session) sendRanges(r *replica, sums delta.Ranges, reason string) error {
	var d delta.Digest
	r.holds(func(o *watchlog.Object) { d.AddRanged(sums, o) })
	r.sums = sums
	return s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ranges{Ranges: &tombolov1.Ranges{
		Subscription: s.numbers[r], Sums: sums.Bytes(), Reason: reason,
	}}})
}

// rangeNeed sends the inventory of the parts that the hub asks for.
func (s *session) rangeNeed(m *tombolov1.RangeNeed) error {
	r, err := s.replica(m.GetSubscription())
	if err != nil {
		return err
	}
	if !r.asked || r.sums == nil {
		return nil // another plan has begun since
	}
	sums, parts := r.sums, delta.Parts(m.GetParts())
	r.sums = nil
	return s.sendItems(r, &tombolov1.Inventory{Ranged: true}, func(o *watchlog.Object) *tombolov1.Item {
		if !parts.Has(sums.Part(o.Key())) {
			return nil
		}
		return &tombolov1.Item{Key: o.Key(), Hash: delta.HashOf(o)}
	})
}

// sendItems sends what the edge holds, but for objects that item has nothing to say of, in messages like m.
func (s *session) sendItems(r *replica, m *tombolov1.Inventory, item func(*watchlog.Object) *tombolov1.Item) error {
	var items []*tombolov1.Item
	r.holds(func(o *watchlog.Object) {
		if i := item(o); i != nil {
			items = append(items, i)
		}
	})
	for {
		n := min(len(items), inventoryItems)
		err := s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Inventory{Inventory: &tombolov1.Inventory{
			Subscription: s.numbers[r], Items: items[:n], More: n < len(items), Reason: m.GetReason(), Ranged: m.GetRanged(),
		}}})
		if err != nil {
			return err
		}
		if items = items[n:]; len(items) == 0 {
			return nil
		}
	}
}
