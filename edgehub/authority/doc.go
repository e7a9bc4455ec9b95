// Package authority is an edge's own certificate authority, for its local API alone: it signs the certificate that the API shows
// to whoever has no other way to know it, and that of the administrator whose kubeconfig the edge writes. No hub trusts it.
//
//	ca.pem, ca.key   in the folder; for their owner alone. Who has the key is an administrator of this edge's API
//
// Everything else is made when it is needed and kept in memory. Whoever deletes the folder and starts the edge again has a new
// authority, and every certificate of the old one is worth nothing.
package authority
