package guarantee

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Match tells whether a version of an object belongs to what a reader asked for. It has to
// depend on the object alone: transitions show as ADDED and DELETED. nil admits everything.
type Match func(o Object) bool

// InNamespace admits the objects of one namespace.
func InNamespace(namespace string) Match {
	return func(o Object) bool { return strings.HasPrefix(o.Key, namespace+"/") }
}

// HasField admits objects with a value at a dot-separated path of the JSON; an absent
// value is "". Path segments can't contain dots.
func HasField(path, value string) Match {
	return func(o Object) bool { return lookup(o.Body, strings.Split(path, ".")) == value }
}

// HasLabel admits objects with a label of that value.
func HasLabel(key, value string) Match {
	return func(o Object) bool { return lookup(o.Body, []string{"metadata", "labels", key}) == value }
}

// All admits what every one of the matches admits.
func All(matches ...Match) Match {
	return func(o Object) bool {
		for _, m := range matches {
			if m != nil && !m(o) {
				return false
			}
		}
		return true
	}
}

// lookup returns the scalar at the path as a string, "" when there is none.
func lookup(body string, path []string) string {
	raw := json.RawMessage(body)
	for _, name := range path {
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return ""
		}
		raw = members[name]
	}
	var value any
	if len(raw) == 0 || json.Unmarshal(raw, &value) != nil || value == nil {
		return ""
	}
	return fmt.Sprint(value)
}
