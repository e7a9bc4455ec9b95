// Package callsrv carries requests of edges' clients to the cloud's API server: one HTTP exchange per stream, streamed
// both ways.
//
//	stream ─▶ head ─▶ identity ─▶ gate ─▶ request ─▶ RoundTripper of the caller, or of the edge ─▶ answer ─▶ stream
//
// # Whose request it is
//
// A request with credentials of its own (an Authorization header, or a token among the WebSocket protocols) goes out over
// a transport that has none: the API server decides as if the caller had come itself. Any other goes out as the edge's
// own user. Which that is, the edge's certificate says; such a request can't choose another one to impersonate.
//
// # What is not trusted
//
// An edge may have been taken over, so every head is read as if an attacker had written it: paths can't leave the API
// server's, headers that a proxy of the API server would set are dropped, upgrades are those that Kubernetes knows. Of the
// hub's own headers none are forwarded.
//
// # Bounds
//
// Nothing is gathered: a body goes on frame by frame, and a side that does not read stops the other one by gRPC's and
// TCP's flow control. Header, path, body, idle time and the calls of one edge and of all are limited by Config.
package callsrv
