// Package fleet is a crowd of light edges in one process, for sizing hubs and for tests. Each edge has a connection and a
// session of its own, speaks the sync protocol (proto/tombolo/v1) as an edgehub does, and acknowledges what it has taken
// in, but stores nothing and serves nobody.
//
// Of an object an edge keeps a pointer to its version: key, UID, revision and checksum, of which there is one for all
// edges that hold it (pool). By these it keeps the digest that the hub's checkpoints are compared with, so that every
// edge proves that it holds what it should. A hub that breaks the protocol ends the run with ErrNonsense.
//
//	Fleet ── edge (one goroutine) ── link (one session) ── replica (one resource) ──▶ version (shared)
package fleet
