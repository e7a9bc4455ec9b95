package guarantee

// version is one state of a key in the cloud: an object, or its absence after a deletion.
type version struct {
	Object         // of a deletion: key, uid and the RV of the deletion
	deleted bool   // the key is gone from here on
	after   uint64 // not 0: nobody told the RV of this deletion, it lies in (after, RV)
	acked   string // the server that acknowledged it; "" when only a source saw it
	sourced bool   // a source saw it
}

// certain tells whether the deletion's RV is known.
func (v *version) certain() bool { return v.after == 0 }
