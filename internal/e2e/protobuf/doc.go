// Package protobuf compares the protobuf that litesrv makes of stored JSON with a real kube-apiserver's. What the server
// answers about testdata/objects.yaml is recorded, and litesrv's own tests are run against that; with -update it becomes
// their testdata. The test needs `make kube` and the build tag e2e.
package protobuf
