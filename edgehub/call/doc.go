// Package call answers requests of the edge's clients from the cloud, through the hub: what can't be answered from the
// edge's store.
//
// An answer is passed on as it comes, frame by frame, and so is a request's body. When there is no answer, the client gets
// a Status as kube-apiserver would send one, and the Status tells apart what a client must not confuse: 503 means that
// nothing has happened, 504 that nobody knows whether it has. An answer that is cut short ends in a cut connection; it
// never looks complete.
package call
