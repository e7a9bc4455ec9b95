// Package proc runs servers as processes for end-to-end tests: their output
// goes to a file, they can be killed as a crash would, and they never outlive
// the test: on Linux they die with the test process even when that is killed.
package proc
