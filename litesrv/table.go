package litesrv

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// kindTable is the kind of the group meta.k8s.io as which objects and lists can be had in rows of cells, as the cloud
// printed them. Only the ages in them are made here.
const kindTable = "Table"

// tableForm is what a shape of kindTable holds.
type tableForm struct {
	include metav1.IncludeObjectPolicy // what of the objects stands in the rows
	columns string                     // the columnDefinitions; "null" once a watch has sent them
}

// newTableForm reads the options of a request for tables of r.
func newTableForm(query url.Values, r *watchlog.Resource) *tableForm {
	t := &tableForm{include: metav1.IncludeObjectPolicy(query.Get("includeObject")), columns: r.Columns}
	if t.include == "" {
		t.include = metav1.IncludeMetadata
	}
	return t
}

// plainTable tells whether the tables of a resource are those that kube-apiserver makes of anything: its column for the
// creation is called so in no other (apiserver pkg/registry/rest/table.go, and its copy for CRDs).
func plainTable(r *watchlog.Resource) bool {
	return !r.Custom && strings.Contains(r.Columns, `"name":"Created At"`)
}

// validate fails when the options can't be followed (apiserver pkg/endpoints/handlers/response.go).
func (t *tableForm) validate() error {
	switch t.include {
	case metav1.IncludeNone, metav1.IncludeMetadata, metav1.IncludeObject:
		return nil
	default:
		return apierrors.NewBadRequest(fmt.Sprintf("Unable to convert to Table as requested: includeObject: Invalid value: %q: "+
			"must be 'Metadata', 'Object', 'None', or empty", t.include))
	}
}

// appendTable appends an object as a table of one row.
func (s shape) appendTable(dst []byte, o *watchlog.Object, rev uint64) []byte {
	dst = s.appendRow(s.beginTable(dst, rev), o, rev)
	return append(dst, "]}"...)
}

// beginTable begins a table up to its first row.
func (s shape) beginTable(dst []byte, rev uint64) []byte {
	dst = appendType(dst, kindTable, s.apiVersion())
	dst = appendRevision(append(dst, `,"metadata":{`...), rev)
	return append(s.appendColumns(append(dst, '}')), `,"rows":[`...)
}

func (s shape) appendColumns(dst []byte) []byte {
	return append(append(dst, `,"columnDefinitions":`...), s.table.columns...)
}

// appendRow appends an object as a row. One without cells is from before its columns were known; it is being fetched
// again.
func (s shape) appendRow(dst []byte, o *watchlog.Object, rev uint64) []byte {
	dst = append(dst, '{')
	if len(o.Cells()) > 0 {
		dst = o.AppendCells(dst, time.Now())
	} else {
		dst = appendNoCells(append(dst, `"cells":`...), s.table.columns, o.Name())
	}
	dst = append(dst, `,"object":`...)
	switch s.table.include {
	case metav1.IncludeNone:
		dst = append(dst, "null"...)
	case metav1.IncludeObject:
		dst = o.AppendJSON(dst, rev)
	default:
		dst = s.partial().appendObject(dst, o, rev)
	}
	return append(dst, '}')
}

// partial is the shape of the metadata in a table.
func (s shape) partial() shape {
	return shape{kind: kindPartial, version: s.version, derived: s.derived}
}

// appendTableBookmark appends a bookmark in the form of a table. The one that ends the initial events has its metadata
// in any case: without them it could not be told from the others.
func (s shape) appendTableBookmark(dst []byte, r *watchlog.Resource, rev uint64, initial bool) []byte {
	dst = append(s.beginTable(dst, rev), `{"cells":`...)
	dst = append(appendEmptyCells(dst, r), `,"object":`...)
	switch {
	case s.table.include == metav1.IncludeObject:
		dst = appendBookmark(dst, r, rev, initial, shape{})
	case s.table.include == metav1.IncludeNone && !initial:
		dst = append(dst, "null"...)
	default:
		dst = appendBookmark(dst, r, rev, initial, s.partial())
	}
	return append(dst, "}]}"...)
}
