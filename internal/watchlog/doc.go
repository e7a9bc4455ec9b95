// Package watchlog holds the current objects of one Kubernetes resource together with a bounded log of how they came
// to be, both keyed by the cloud's resourceVersion. It is the heart of both tiers: the hub fills a log from a
// kube-apiserver and every edge session reads it; an edge fills one from its disk and every local LIST and WATCH reads it.
//
//	source ──Plan──▶ Batch ──(disk)──▶ Commit ──▶ ┌ objects: ordered copy-on-write tree ──▶ Snapshot
//	                                              ├ indexes: field and label values     ──▶ Select
//	                                              └ events:  bounded window             ──▶ Reader (a cursor)
//
// # Positions
//
// A position is a revision of the cloud: a log at position N holds everything that happened up to N, and nothing after.
// An event's Rev is the position at which it took effect; positions never decrease along a log. What a client sees on
// an event is Shown, which it may always resume from: inside a group of events that share one position, all but the
// last show the position before the group, so a client that loses its connection in the middle gets the group again.
//
// # Readers
//
// A reader holds a cursor and no queue: a slow reader costs nothing and is cut only when it falls off the window
// (ErrCompacted). A reader of an index value is woken by, and looks at, only the events whose object had or has that
// value.
//
// # Gaps
//
// When a log catches up after it lost sight of the cloud, it learns the newest version of every object but not what
// happened in between. Positions strictly inside such a Gap are neither listed exactly nor watched from: ErrCompacted.
//
// # Concurrency
//
// One goroutine at a time commits. Everything else may be called by any number of goroutines. Objects, events and
// snapshots are immutable.
package watchlog
