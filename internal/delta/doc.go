// Package delta compares and encodes states: digests by which an edge and a hub find out that they hold the same.
package delta
