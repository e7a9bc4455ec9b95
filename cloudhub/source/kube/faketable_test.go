package kube

import (
	"encoding/json"
	"fmt"
	"strings"
)

// wantsTable tells whether the answer to a request with this Accept is a table.
func (r *fakeResource) wantsTable(accept string) bool {
	return r.columns != "" && strings.Contains(accept, "as=Table")
}

// row returns the row of an object, as item of a list: its name, what is printed of it, and an age of ten seconds.
func (r *fakeResource) row(whole string) string {
	var o struct {
		Metadata struct{ Name string }
		Print    string
	}
	if json.Unmarshal([]byte(whole), &o) != nil {
		return `{"cells":[],"object":` + whole + `}`
	}
	return fmt.Sprintf(`{"cells":[%q,%q,"10s"],"object":%s}`, o.Metadata.Name, r.printed+o.Print, whole)
}

// table returns a table of rows.
func (r *fakeResource) table(rv, columns string, rows ...string) string {
	return fmt.Sprintf(`{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"resourceVersion":%q},"columnDefinitions":%s,"rows":[%s]}`,
		rv, columns, strings.Join(rows, ","))
}
