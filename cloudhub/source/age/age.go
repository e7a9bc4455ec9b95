// Package age knows how the cells of a table tell ages so that they are the same wherever they were made and true whenever
// they are shown: by the time since when (see package proto/tombolo/v1, Operation).
package age

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Plain is the format of a cell that is nothing but an age.
const Plain = "%s"

// Age is what a cell tells: %s in Format stands for the time since then. Ahead is a format for a time that has not come
// yet, "" when there is none.
type Age struct {
	Since  string `json:"since"` // RFC 3339
	Format string `json:"format"`
	Ahead  string `json:"ahead,omitempty"`
}

// Append appends the cell to dst.
func (a Age) Append(dst []byte) []byte {
	if a.Format == Plain && a.Ahead == "" {
		return append(append(append(dst, `{"since":"`...), a.Since...), `","format":"%s"}`...)
	}
	raw, err := json.Marshal(a)
	if err != nil {
		panic(err) // strings can always be encoded
	}
	return append(dst, raw...)
}

// Rule returns the age that a cell with the text tells of an object; false when it tells none.
type Rule func(object []byte, text string) (Age, bool)

// Of is an age since the time at a path of members.
func Of(path ...string) Rule {
	return func(object []byte, _ string) (Age, bool) {
		t, ok := At(object, path...)
		return Age{Since: t, Format: Plain}, ok
	}
}

// FirstOf returns the age since the first of the times at some paths that is there.
func FirstOf(object []byte, paths ...[]string) (Age, bool) {
	for _, p := range paths {
		if t, ok := At(object, p...); ok {
			return Age{Since: t, Format: Plain}, true
		}
	}
	return Age{}, false
}

// At returns the time that stands in an object at a path of members; false when there is none, or the zero one, for which
// kube-apiserver prints "<unknown>".
func At(object []byte, path ...string) (string, bool) {
	for _, key := range path {
		if object = watchlog.Member(object, key); object == nil {
			return "", false
		}
	}
	text, ok := Text(object)
	return text, ok && IsTime(text)
}

// IsTime tells whether a text is a time as kube-apiserver reads it, and not the zero one.
func IsTime(text string) bool {
	t, err := time.Parse(time.RFC3339, text)
	return err == nil && !t.IsZero() && !strings.ContainsAny(text, `"\`)
}

// Text returns what a JSON value says if it is a string.
func Text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	var text string
	return text, json.Unmarshal(value, &text) == nil
}
