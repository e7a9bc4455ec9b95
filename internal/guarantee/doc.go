// Package guarantee checks what clients saw against what happened.
//
// A [History] collects, from any number of goroutines, the writes that a cloud
// acknowledged and everything that readers were shown: lists, watch events,
// bookmarks, expired positions, and the restarts of the servers they read from.
// When a run is over, [History.Check] replays each reader against the truth and
// returns a [Violation] for every promise that was broken; each wraps one of the
// named errors of this package.
//
// # What is true
//
// The truth about a resource is the union of the acknowledged writes and of what
// readers marked [ReaderConfig].Source saw, which read the cloud itself. A source is needed
// where the cloud changes objects on its own account (a graceful pod deletion, system
// objects), and for judging [ErrNoFakeSuccess]. It has to start first.
//
// The answer to a DELETE often doesn't carry the resourceVersion of the deletion. The
// checker then takes it from a strict reader, and every other one has to agree.
//
// # Strict and coalesced readers
//
// A strict reader has to see every change that its selector admits, in order, once.
// A coalesced reader sits behind an edge that may have been disconnected or slow: it may
// miss versions of a key that were followed by a newer one, but never the last one, never
// the deletion of an object it knew, and never anything out of order.
//
// # Blame
//
// One fault has one name. When several promises are broken at once the checker reports
// the one whose wording fits the fault best, and goes on as if it had been repaired, so
// that one lost event isn't followed by a hundred reports.
//
// [Writer], [Lister] and [Watcher] are ready-made recorders on plain net/http. They don't
// depend on client-go and work against a kube-apiserver and an edge alike.
package guarantee
