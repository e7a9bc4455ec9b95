// Package link is a network link between two parties of a test, as a TCP proxy
// on loopback that can be cut, can swallow everything, can be slow, and can
// deliver what a client sent after that has given up.
package link
