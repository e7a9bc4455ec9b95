// Package link is a network link between two parties of a test, as a TCP proxy
// on loopback that can be cut, can swallow everything, and can be slow.
package link
