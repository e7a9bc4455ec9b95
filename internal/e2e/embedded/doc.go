// Package embedded tests the embedded cloud as its users meet it: with kubectl, and request by request against a real
// kube-apiserver. The tests need `make kube` and the build tag e2e.
package embedded
