// Package wire is as much of gRPC over HTTP/2 as a light edge needs of it: one connection, with TLS if it is given any, one
// bidirectional stream at a time on it, and no goroutine, timer or lock of its own. Who owns a Conn reads from it, and what has to be
// written in answer to frames (acknowledgements of settings and pings, window updates) is written by that same goroutine.
//
// While a Conn waits for a frame it holds no buffer beyond what crypto/tls keeps: framer, header decoder and scratch come
// out of a pool once the frame's header is there.
//
// What the peer sends is not trusted: frames, header lists and messages are bounded, and memory for a message is taken
// as it comes, not as it was announced.
package wire
