package kube

import (
	"bytes"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// acceptTable asks for tables, and takes plain JSON from a server that has none of a resource.
const acceptTable = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"

// rawTable is a table with everything as it came.
type rawTable struct {
	Kind       string          `json:"kind"`
	APIVersion string          `json:"apiVersion"`
	Metadata   metav1.ListMeta `json:"metadata"`
	Columns    json.RawMessage `json:"columnDefinitions"`
	Rows       []rawRow        `json:"rows"`
}

// rawRow is a row of a table, with a whole object in it.
type rawRow struct {
	Cells      json.RawMessage `json:"cells"`
	Conditions json.RawMessage `json:"conditions"`
	Object     json.RawMessage `json:"object"`
}

const (
	tableHead    = `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":`
	tableColumns = `,"columnDefinitions":`
	tableRow     = `,"rows":[{"cells":`
	rowObject    = `,"object":`
	rowMore      = `,"conditions":`
	tableEnd     = `}]}`
)

// isTable tells whether an answer, or the object of an event, is a table.
func isTable(raw []byte) bool {
	return bytes.HasPrefix(raw, []byte(tableHead[:len(tableHead)-len(`,"metadata":`)]))
}

// parseTable decodes a list in the form of a table.
func parseTable(body []byte) (*rawTable, error) {
	t := &rawTable{}
	if err := json.Unmarshal(body, t); err != nil {
		return nil, fmt.Errorf("table: %w", err)
	}
	return t, nil
}

// splitTable returns the columns and the only row of the table in an event. The bytes are part of raw.
func splitTable(raw []byte) (columns []byte, row rawRow, err error) {
	if columns, row, ok := cutTable(raw); ok {
		return columns, row, nil
	}
	t, err := parseTable(raw) // another order or spacing than kube-apiserver's
	if err != nil {
		return nil, rawRow{}, err
	}
	if len(t.Rows) != 1 {
		return nil, rawRow{}, fmt.Errorf("table of %d rows in an event", len(t.Rows))
	}
	return t.Columns, t.Rows[0], nil
}

// cutTable does that for a table as kube-apiserver writes it. It does not look into the object, which is the largest
// part: that is the decoder's.
func cutTable(raw []byte) (columns []byte, row rawRow, ok bool) {
	c := cutter{raw: raw}
	c.text(tableHead)
	c.value()
	c.text(tableColumns)
	columns = c.value()
	c.text(tableRow)
	row.Cells = c.value()
	if bytes.HasPrefix(c.raw, []byte(rowMore)) {
		c.text(rowMore)
		row.Conditions = c.value()
	}
	c.text(rowObject)
	object, ended := bytes.CutSuffix(c.raw, []byte(tableEnd))
	row.Object = object
	return columns, row, !c.failed && ended
}

// cutter takes pieces off the front of bytes.
type cutter struct {
	raw    []byte
	failed bool
}

func (c *cutter) text(s string) {
	rest, ok := bytes.CutPrefix(c.raw, []byte(s))
	c.raw, c.failed = rest, c.failed || !ok
}

func (c *cutter) value() []byte {
	end, err := watchlog.SkipValue(c.raw, 0)
	v := c.raw[:end]
	c.raw, c.failed = c.raw[end:], c.failed || err != nil
	return v
}

// definedAs tells whether the columns in an answer are those that the resource is known by. Events but the first carry
// none.
func definedAs(columns []byte, r *watchlog.Resource) bool {
	return len(columns) == 0 || string(columns) == "null" || string(columns) == r.Columns
}

// rowJoiner makes objects of rows. It is used by one goroutine.
type rowJoiner struct {
	printer *printer
	dec     *watchlog.Decoder
	scratch []byte
}

// join returns the object of a row with its cells, in memory of its own.
func (j *rowJoiner) join(row rawRow) (*watchlog.Object, error) {
	j.scratch = j.printer.appendRow(j.scratch[:0], row)
	n := len(row.Object)
	both := append(append(make([]byte, 0, n+len(j.scratch)), row.Object...), j.scratch...)
	return j.dec.DecodeRow(both[:n:n], both[n:])
}

// column is a column of a table.
type column struct {
	Name string `json:"name"`
}
