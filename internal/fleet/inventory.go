package fleet

import (
	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// inventoryItems is how many items one message of an inventory has, as at an edgehub.
const inventoryItems = 2000

// inventory tells the hub what the edge holds, or would hold if the step under way ended now: as sums over parts of it
// when there is much of it. apart is how many objects one side has more than the other, as far as is known.
func (l *link) inventory(r *replica, apart int, reason string) error {
	l.e.f.stats.inventories.Add(1)
	r.asked, r.live = true, false
	if l.ranges {
		if sums := delta.NewRanges(len(r.held)+len(r.staged), apart); sums != nil {
			r.all(func(v *version) { sums.Add(v.id.key, v.hash) })
			r.sums = sums
			return l.send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Ranges{Ranges: &tombolov1.Ranges{
				Subscription: r.id, Sums: sums.Bytes(), Reason: reason,
			}}})
		}
	}
	var items []*tombolov1.Item
	r.all(func(v *version) {
		items = append(items, &tombolov1.Item{Key: v.id.key, Uid: v.uid, Rev: v.rev, Crc32C: v.id.crc})
	})
	return l.sendItems(items, &tombolov1.Inventory{Subscription: r.id, Reason: reason})
}

// rangeNeed sends the inventory of the parts that the hub asks for.
func (l *link) rangeNeed(m *tombolov1.RangeNeed) error {
	r, err := l.byID(m.GetSubscription())
	if err != nil {
		return err
	}
	if !r.asked || r.sums == nil {
		return nil // another plan has begun since
	}
	sums, parts := r.sums, delta.Parts(m.GetParts())
	r.sums = nil
	var items []*tombolov1.Item
	r.all(func(v *version) {
		if parts.Has(sums.Part(v.id.key)) {
			items = append(items, &tombolov1.Item{Key: v.id.key, Hash: v.hash})
		}
	})
	return l.sendItems(items, &tombolov1.Inventory{Subscription: r.id, Ranged: true})
}

// sendItems sends an inventory in messages like m.
func (l *link) sendItems(items []*tombolov1.Item, m *tombolov1.Inventory) error {
	for {
		n := min(len(items), inventoryItems)
		part := &tombolov1.Inventory{
			Subscription: m.GetSubscription(), Items: items[:n], More: n < len(items), Reason: m.GetReason(), Ranged: m.GetRanged(),
		}
		if err := l.send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Inventory{Inventory: part}}); err != nil {
			return err
		}
		if items = items[n:]; len(items) == 0 {
			return nil
		}
	}
}
