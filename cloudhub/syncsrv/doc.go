// Package syncsrv serves the sync protocol (proto/tombolo/v1) to edges. It is the only place of the hub that knows the
// wire, and the only one where errors become gRPC codes.
//
// A session is one edge's stream. One goroutine runs it: it takes turns over the edge's subscriptions and sends; a
// second one receives. A subscription is a small state machine over one resource's log:
//
//	opening ──▶ (waiting) ──▶ resume ───────────────────────────────┐
//	                      ├─▶ changes ──▶ checkpoint ──▶ confirming ─┼─▶ live ──▶ (compacted, log closed) ──▶ opening
//	                      └─▶ reconcile ─▶ checkpoint ──▶ confirming ┘
//
// The session holds cursors into the shared logs and no queue: an edge that does not take what it is sent leaves its
// cursors behind and costs nothing else.
package syncsrv
