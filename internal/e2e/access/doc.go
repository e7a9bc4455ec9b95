// Package access holds the edge's rules about who may do what against those of a real kube-apiserver.
package access
