package guarantee

import (
	"fmt"
	"strings"
)

// Violation is one broken promise.
type Violation struct {
	Err      error    // the guarantee: one of the errors of this package
	Reader   string   // who saw it; "" when it isn't about a reader
	Resource string   // as given to the recorder
	Key      string   // the object it is about, "" when there is none
	RV       uint64   // the position it is about
	Detail   string   // what was seen and what should have been
	Around   []string // what the reader saw before and after, oldest first
}

// Error tells everything on several lines, fit for a test log.
func (v Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v\n  reader %q, resource %q, key %q, rv %d\n  %s", v.Err, v.Reader, v.Resource, v.Key, v.RV, v.Detail)
	for _, line := range v.Around {
		b.WriteString("\n    ")
		b.WriteString(line)
	}
	return b.String()
}

// Unwrap gives the guarantee, for errors.Is.
func (v Violation) Unwrap() error { return v.Err }
