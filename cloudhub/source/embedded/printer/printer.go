// Package printer makes the tables of the embedded cloud: the columns of its kinds and the cells of their objects. Custom
// kinds have those that their CustomResourceDefinitions declare, as in a cluster; of the built-in ones those with the
// columns that are looked at most have more than a name and an age.
package printer

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/cloudhub/source/age"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// Printer prints the objects of one resource. It is immutable.
type Printer struct {
	columns []metav1.TableColumnDefinition
	cells   []cell
}

// cell returns the JSON of a cell; nil is null.
type cell func(object []byte) []byte

// Columns returns the JSON of the columnDefinitions.
func (p *Printer) Columns() string {
	raw, err := json.Marshal(p.columns)
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	return string(raw)
}

// Cells returns the cells of an object, as watchlog.Object keeps them.
func (p *Printer) Cells(object []byte) []byte {
	out := []byte{'['}
	for i, c := range p.cells {
		if i > 0 {
			out = append(out, ',')
		}
		if v := c(object); v != nil {
			out = append(out, v...)
		} else {
			out = append(out, "null"...)
		}
	}
	return append(out, ']')
}

func (p *Printer) add(column metav1.TableColumnDefinition, c cell) {
	p.columns, p.cells = append(p.columns, column), append(p.cells, c)
}

// named begins a printer with the name.
func named() *Printer {
	p := &Printer{}
	p.add(metav1.TableColumnDefinition{
		Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"],
	}, at("metadata", "name"))
	return p
}

// at is what stands at a path of members; an empty text when there is nothing.
func at(path ...string) cell {
	return func(object []byte) []byte {
		if v := member(object, path...); v != nil && string(v) != "null" {
			return v
		}
		return []byte(`""`)
	}
}

func member(object []byte, path ...string) []byte {
	for _, key := range path {
		object = watchlog.Member(object, key)
	}
	return object
}

// since is an age since the time at a path.
func since(path ...string) cell { return aged(age.Of(path...)) }

func aged(rule age.Rule) cell {
	return func(object []byte) []byte {
		if a, ok := rule(object, ""); ok {
			return a.Append(nil)
		}
		return []byte(unknown)
	}
}

// What kube-apiserver prints for a time that isn't there, and for a text that is none.
const (
	unknown = `"\u003cunknown\u003e"`
	invalid = `"\u003cinvalid\u003e"`
)

func text(s string) []byte {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a text can always be encoded
	}
	return raw
}
