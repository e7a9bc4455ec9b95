package guarantee

import "sort"

// restore is a cloud that was put back to a backup: what came behind it never happened for whoever comes later.
type restore struct {
	seq    uint64
	backup uint64 // the last revision that both histories have
	head   uint64 // the last one of the history that ended; 0 = unknown
}

// Restored records that the cloud goes on from a backup. What is behind the revision of the backup is another history
// from then on: a reader is judged by the old one until it is told that its position is gone, and by the new one from the
// state that it gets then. It has to be told, unless all that it was shown is in both, or it was carried over in a way that
// nobody can tell (see [History.Untold]). Told once more, it may go back to the old one for a while, but not end there. head is the last revision of the
// history that ends, 0 when it is unknown.
//
// Call it when the writers rest, the sources have all there is, and the cloud is about to be stopped. Sources belong to the
// history in which they were registered: close them before, and register others as soon as the cloud is back.
func (h *History) Restored(backup, head uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.recordedLocked()
	h.restores = append(h.restores, restore{seq: h.seq, backup: backup, head: head})
	h.present = map[string]*presentState{}
}

// eraLocked returns how many restores were before.
func (h *History) eraLocked(seq uint64) int {
	return sort.Search(len(h.restores), func(i int) bool { return h.restores[i].seq >= seq })
}

// headLocked returns the last revision of a history; 0 = unknown.
func (h *History) headLocked(era int) uint64 {
	if era < len(h.restores) {
		return h.restores[era].head
	}
	return h.head
}
