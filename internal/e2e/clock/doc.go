// Package clock builds programs whose wall clock jumps when a test says so, as
// one that was set by hand, by a broken battery or by NTP does. Their monotonic
// clock, which timers go by, does not.
//
// [Build] compiles a program with an overlay (go build -overlay): time.Now adds
// an offset that it reads from shared memory, the file named by the environment
// variable TOMBOLO_E2E_CLOCK. Nothing of the program itself is other than it
// is. The overlay fits a Go whose time.Now begins as it did when this was
// written, and is refused with a clear message by any other.
//
// A [Clock] is such a file. It does not run on Windows.
package clock
