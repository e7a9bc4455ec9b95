// Package syncsrv serves the sync protocol (proto/tombolo/v1) to edges. It is the only place of the hub that knows the
// wire, and the only one where errors become gRPC codes.
//
// A session is one edge's stream. Its one goroutine, gRPC's, receives. All else is done in turns by a few workers: who has
// something for a session (a log, the edge, the clock) wakes it, and a queue gives it a turn, urgent or bulk. A
// subscription is a small state machine over one resource's log:
//
//	opening ──▶ (waiting) ──▶ resume ───────────────────────────────┐
//	                      ├─▶ changes ──▶ checkpoint ──▶ confirming ─┼─▶ live ──▶ (compacted, log closed) ──▶ opening
//	                      └─▶ reconcile ─▶ checkpoint ──▶ confirming ┘
//
// A turn never waits: a message is given to gRPC only while gRPC takes it at once, see outbox. The session holds cursors
// into the shared logs and no queue: an edge that does not take what it is sent has no turns, leaves its cursors behind,
// and costs nothing else.
package syncsrv
