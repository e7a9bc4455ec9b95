// Package session keeps an edge in step with a hub. It dials, resumes from what is on disk, applies what comes, and
// makes it visible in the logs that the edge serves from. It is the only place of the edge that knows the wire.
//
//	stream ──▶ receive ──▶ group ──▶ store.Update (fsync) ──▶ Log.Commit (visible) ──▶ Ack
//
// What arrived during one commit goes into the next one together. Nothing becomes visible before it is durable together
// with its position, so a crash at any moment leaves the edge at a position that it has shown or is about to show.
//
// A catch-up (first sync, changes after a hub restart, reconcile) is staged: durable as it arrives, and visible all at
// once when a checkpoint says that the outcome is what the hub holds.
package session
