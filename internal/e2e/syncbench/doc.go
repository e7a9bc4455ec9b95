// Package syncbench measures the sync protocol: a hub with an embedded cloud in a process of its own, and a fleet of light
// edges in the test's. Its tests print a table of figures (make bench-sync) and assert what must hold at any size and on
// any machine: counts and ratios, never how long something takes.
package syncbench
