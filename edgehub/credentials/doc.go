// Package credentials is what an edge proves itself with: a key that never leaves it, a certificate for it, and the
// authorities by which it knows hubs. It gets them by joining, keeps them in a directory, and renews them in time.
//
//	cert.pem   the certificate, and those between it and its authority; replaced atomically
//	ca.pem     the authorities of hubs
//	hubs       the addresses that the edge joined at, one a line
//	join.json  the last join: which token was for which key
//	keys/      the private keys, named by their public keys; which one is in force, the certificate says
//
// So one rename moves an edge from one certificate to the next, whenever it happens to be interrupted.
package credentials
