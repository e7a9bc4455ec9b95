// Package litesrv answers GET, LIST and WATCH of Kubernetes resources from the logs of a Backend, byte for byte as
// kube-apiserver 1.37 would, so that unmodified kubectl, client-go informers and controllers can use it in its place.
//
//	request ─▶ target ─▶ representation ─▶ list options ─▶ selection ┐
//	           (which)   (in what form)    (how fresh)     (which of them)
//	                                                                 ▼
//	                     Backend.Log ─▶ Snapshot ─▶ spliced bytes ─▶ body      GET, LIST
//	                                 └▶ Reader   ─▶ frames        ─▶ stream    WATCH
//
// # What is kept exactly
//
// Which state a read is answered from, for every combination of resourceVersion, resourceVersionMatch, limit, continue
// and sendInitialEvents; the bytes of objects, lists, watch frames, bookmarks and error Statuses; continue tokens, which
// may be carried to the cloud and back; the order in which a request is checked, so that of two faults the same one is
// reported.
//
// # What differs from kube-apiserver
//
//   - A read without a resourceVersion is answered once a Prover has proved that nothing is missing, from the position that
//     the proof is of, which may be below the cloud's revision: the content is the cloud's, and a watch from there misses
//     nothing. kube-apiserver fails when it can't do that; here the answer is what is held, with a Warning header that has
//     the time of the last contact and the revision, as has any other answer that may be behind.
//   - A resource whose first sync is under way is waited for as long as for a future revision, then answered with 429.
//     kube-apiserver doesn't wait, and reads single objects from etcd meanwhile.
//   - Tables have the cells that the cloud printed when the object was written; only ages are made here. Of a resource that
//     the cloud gives no tables of there are none: the client's next choice is taken.
//   - A watch of tables has the columns in its first event alone; kube-apiserver may repeat them.
//   - Protobuf is made of the JSON, which doesn't have all of it: an empty text of bytes that may be left out is left out,
//     and what is itself JSON, in a ControllerRevision or a ResourceClaim, is spelled as in the JSON. A built-in kind that
//     can't be made is the cloud's to answer if there is a Fallback and the log follows the cloud, else the client's next
//     choice. These are the kinds that package kinds does not have, and each kind of which an object has been seen with
//     a field that this program doesn't know; a watch that meets such an object ends, and resumes in the other way.
//   - A list in which a text can't be YAML is a 500 only within the first 192 KiB. Behind them the connection is cut.
//   - The 406 for metadata in the wrong shape names kube-apiserver's Go type, which is a guess for resources that neither
//     it nor a CRD serves.
//   - The list of paths at / has what is held and served here. The Last-Modified of OpenAPI is when this process got it.
//   - Bookmarks are also sent at once after changes that a client can't resume between.
//   - Watches are not ended because they are slow: only when nothing could be written for 10 minutes, or when the events
//     that they have yet to see have left the window; then the stream says 410.
//   - The token of a list over all namespaces whose selector names one is relative to all of them. kube-apiserver's is
//     relative to the one, and read as relative to all on the next page, which repeats or leaves out objects.
//
// # Cost
//
// Objects are never decoded or encoded here, except for YAML and protobuf. YAML takes about a thousand times as long as
// JSON and protobuf a hundred times; both are made of one object at a time, and the last 8 MiB of protobuf are kept, so
// that an event is encoded once for all its watchers. Metadata is cut out of the objects' bytes, and cells are spliced. A
// list by key, namespace, label or indexed field touches only the objects of the narrowest of these. The last page of a
// list costs what the first does. A watch holds a cursor and no queue, and while nothing happens no buffer either.
package litesrv
