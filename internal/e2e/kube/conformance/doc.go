// Package conformance is the part of Kubernetes' own end-to-end suite that
// judges an API server by what it answers: the specs of API machinery. They
// are upstream's, unchanged; here is only what makes a test binary of them.
// Which specs have to pass is in internal/e2e/testdata.
package conformance
