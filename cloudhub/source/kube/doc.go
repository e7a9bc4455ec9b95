// Package kube takes objects from a kube-apiserver: one client-go reflector per resource in use, feeding one log that
// everybody shares.
//
//	kube-apiserver ──frames──▶ watch frames ──items──▶ client-go reflector ──▶ logStore ──Plan, Commit──▶ watchlog.Log
//
// client-go's reflector decides when to list, watch, retry and back off; this package only gives it objects that keep
// the bytes they came in, and a store that turns what it reports into steps of a log.
//
//   - What a watch reports is exact: every event is one step of the log at the event's resourceVersion. A DELETED carries
//     the revision of the deletion, as kube-apiserver sends it.
//   - What a list or WatchList reports after the first one is a gap: the log learns the state, not the way to it.
//   - An error that the reflector would only log (its store refused an event) ends the watch and makes it list again.
//   - A position is checked against the cloud before a watch resumes from it: a plain watch from a revision that the
//     cloud no longer has is silent for ever, and that is what a restored etcd leads to.
//
// A resource is started by the first Open and stopped some time after the last user has gone. Its log is closed, with
// the reason, when the resource disappears or changes its definition.
package kube
