package apidoc

// Part is a group of documents that belong together: they refer to one another, and are of one reading of the cloud. What
// is of different parts may be of different moments, as it may be in the cloud.
type Part uint8

// The parts, in the order of their importance.
const (
	Discovery Part = iota // and the version
	OpenAPIV3             // an index and what it refers to by hash
	OpenAPIV2
	Parts // how many there are
)
