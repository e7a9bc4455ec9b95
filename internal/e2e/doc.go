// Package e2e tests Tombolo as its users run it: the binaries as processes, a
// real kube-apiserver, kubectl and client-go as clients, and crashes, cut links
// and restarts in between. What clients were shown is judged by package
// guarantee.
//
// With the build tag conformance, specs of Kubernetes' own suite run against an
// edge (`make conformance`); testdata/conformance.txt names them.
//
// TestChaos lets everything fail in an order that the seed decides; `make chaos` does so
// for longer, with more edges (TOMBOLO_E2E_CHAOS, TOMBOLO_E2E_EDGES). What was done is in
// trail.log, beside the servers' logs. Its hubs and edges are built with clocks that jump,
// see package clock.
//
// The tests need `make kube` and the build tag e2e. They build the binaries
// themselves, unless TOMBOLO_E2E_BIN names a directory that holds them. The
// servers' logs are in the test's temporary directory, or below
// TOMBOLO_E2E_ARTIFACTS when that is set. TOMBOLO_E2E_SEED replays a run.
package e2e
