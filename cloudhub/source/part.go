package source

import "errors"

// Part is a part of a resource, in the API server's own terms. The zero value is all of it.
type Part struct {
	Namespace string
	Name      string
	Labels    string // a label selector
	Fields    string // a field selector
}

// ErrLost is why a source can't prove anything: it has lost sight of the cloud.
var ErrLost = errors.New("the hub has lost sight of the cloud")
