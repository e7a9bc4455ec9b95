// Package scope decides which objects an edge may hold. A scope is made of rules; a view is what the rules make of one
// resource for one edge: a filter, the index terms that find its objects, and a hash by which a change is noticed.
//
// Scope is decided in the cloud from the edge's identity, never from what the edge claims.
package scope
