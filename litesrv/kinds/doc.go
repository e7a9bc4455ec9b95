// Package kinds encodes the objects of Kubernetes' built-in kinds in protobuf, as kube-apiserver 1.37 does, from their
// JSON.
//
// Both encodings are of the same Go types, so an object is decoded into its type and encoded again. That loses nothing
// if the type has all fields that the JSON has, which is checked. A type is found by a table and not by a
// runtime.Scheme: the table costs nothing until it is used.
package kinds
