// Package delta compares and encodes states: digests by which an edge and a hub find out that they hold the same, patches
// that make an object's version of the one before, and frames that make a run of messages small.
package delta
