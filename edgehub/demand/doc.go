// Package demand keeps book of the resources that an edge holds because a client asked for them: who waits for one, which
// ones the hub has refused, and which ones nobody has used for so long that the edge had better let them go.
//
//	want ──▶ wish ──settle──▶ in use ──idle for long──▶ expired
//	           └────refuse──▶ refused, for a while
//
// Only time in contact with a hub counts as idle: what an edge holds is most precious while there is no way to more of it.
package demand
