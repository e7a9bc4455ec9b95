// Package embedded is a cloud of its own: a bbolt file with a writable Kubernetes API, for trying the hub out and for
// fleets without a cluster. Reads are not served here: they are those of package litesrv over the same logs.
//
//	request ──▶ API ──▶ write: a function of the current state ──▶ changes ──▶ file (fsync) ──▶ logs ──▶ response
//	                     └ waits for its turn; all that wait share one transaction
//
// # Revisions
//
// There is one revision for everything, as in etcd. Each change of an object takes the next one; a write that changes
// nothing takes none. The logs of all resources move together, so that a read that begins after a write never shows a
// position before it, whatever it reads.
//
// # What it is not
//
// There are no controllers, no admission, no field managers (metadata.managedFields is always empty, server-side apply
// is refused), no schema validation or pruning of custom resources and no service addresses. Objects of built-in kinds
// get the defaults that package defaults knows. They are not validated beyond their decoding and their metadata: a Pod
// without containers or a Deployment whose selector doesn't match is stored as it is; only immutable ConfigMaps and
// Secrets stay as they are, and the type of a Secret. There are no OpenAPI schemas of built-in kinds either. A deletion takes effect at once unless finalizers hold it; its grace
// period is ignored, and owners' dependents stay.
package embedded
