// Package store is the edge's durable file: the objects of every synced resource, the events that led to them, the
// positions, a catch-up under way, the API documents and a few facts. What it says after a restart is exactly what it
// said when the last Update returned.
//
// # Basics
//
// Open takes a directory and owns it until Close. Everything is written by Update, one transaction that is on disk when
// it returns nil and leaves no trace when it returns an error. Objects, events and the position that they lead to go
// into the same transaction; the position is stored, never derived from what happens to be there.
//
//	err := s.Update(func(tx *store.Tx) error {
//		return tx.Apply(gr, batch) // several resources may share one fsync
//	})
//	// only now may the batch be shown to anyone
//
// A catch-up too large for one transaction is staged first (Tx.Stage): durable, resumable, invisible. The Apply that ends
// it moves references only, so the step from the old state to the new one is small and atomic whatever its size.
//
// # Layout
//
// The data directory holds edge.db, a bbolt file, edge.lock, and at most two edge.db.corrupt-<time> that were set aside.
// The buckets of the file:
//
//	store                    format version; whether the file was closed in order
//	resources/<name>         one per resource, "pods" or "deployments.apps":
//	    meta                 description: resource, epoch, scope · progress: position, staged position, window, gaps
//	    bodies               id → JSON and cells of one version of an object, written once
//	    index                key → id and rev of the live version
//	    events               seq → one event, by the ids of the versions it leads from and to
//	    staged               key → id and rev of a staged version; id 0 is a deletion
//	documents                path and accept → one API document: its text as a zstd frame, size and hash of the text
//	arrivals                 the same for documents that came in and wait for others; there once it was needed
//	info                     small facts by name
//
// Numbers are big endian. Bodies, events, documents and the records of meta and info carry a CRC-32C of their key and
// value. Index and staged entries need none: the body that they name tells its own key and revision.
//
// # Invariants
//
// Check verifies all of them:
//
//   - Every body is referenced exactly once: by the index while it is live, by staged while it waits, or by the event
//     that ended its life (as what was there before) while that event is in the window. Trimming the event frees it.
//   - The version that an event leads to is live, or is what a later event in the window ended.
//   - Sequence numbers of events have no holes; their positions never decrease and never exceed the resource's.
//   - A body id is never used twice, so a page that a failing disk did not write can lose a body but not swap two.
//
// The window is bounded as watchlog.Config says, each version counted whole, as it is here, and trimmed a little with each
// Apply. A log in memory packs its old versions and so reaches further back: after a restart a watch can start from what
// whole versions have room for.
//
// # Encryption
//
// With Options.Keys the bodies of Secrets, or of everything, are AES-256-GCM: a mark that no JSON begins with, the key's id, a random
// nonce and the sealed text, bound to the resource and the id of the body. The checksum is of that, not of the text. Keys of the index and
// of events, which are names, are not encrypted, nor are positions and API documents. Open writes a file anew, as a whole and
// in another file, when something in it is not as it is to be: so nothing is left in free pages when encryption is turned on, and
// an old key is needed no more once a new one is first. A file without its key is left alone.
//
// # Crashes and damage
//
// A crash at any moment leaves the state before or after an Update. A file that was not closed in order is verified as
// a whole before it is used, in a child process when Options.Probe is given; the structure of its pages is verified at
// every Open, because bbolt answers some damage with a panic that no caller can recover. A file that fails is set aside
// and a fresh one is started: see Store.Recovered.
//
// # Caveats
//
// Every Update waits for the disk (two fsyncs): apply what arrived during the last one together.
//
// Do not call the Store inside the function given to Update: the transaction waits for readers when the file grows.
//
// Load copies: nothing that it returns refers to the file.
//
// The file does not shrink; freed pages are used again.
package store
