package printer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/tombolo-sync/tombolo/cloudhub/source/age"
)

// Column is an additional printer column of a CustomResourceDefinition.
type Column struct {
	Name        string `json:"name"`
	Type        string `json:"type"`
	Format      string `json:"format,omitempty"`
	Description string `json:"description,omitempty"`
	Priority    int32  `json:"priority,omitempty"`
	JSONPath    string `json:"jsonPath"`
}

// Custom returns the printer of a custom resource (apiextensions-apiserver pkg/registry/customresource/tableconvertor).
// One that declares no columns shows its age.
func Custom(columns []Column) *Printer {
	if len(columns) == 0 {
		columns = []Column{{
			Name: "Age", Type: "date", JSONPath: ".metadata.creationTimestamp",
			Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"],
		}}
	}
	p := named()
	for _, c := range columns {
		description := c.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + c.JSONPath
		}
		p.add(metav1.TableColumnDefinition{
			Name: c.Name, Type: c.Type, Format: c.Format, Description: description, Priority: c.Priority,
		}, c.cell())
	}
	return p
}

// Name names how cells are made of columns, for watchlog.Resource.Printer.
func Name(columns []Column) string {
	raw, err := json.Marshal(columns)
	if err != nil {
		panic(err) // texts and numbers can always be encoded
	}
	return string(raw)
}

// cell prints what is at the column's path; null when there is nothing, or something of another type.
func (c Column) cell() cell {
	path := jsonpath.New(c.Name).AllowMissingKeys(true)
	if path.Parse("{"+c.JSONPath+"}") != nil {
		return func([]byte) []byte { return nil }
	}
	var mu sync.Mutex // a path that is followed has state
	return func(object []byte) []byte {
		var content map[string]any
		if utiljson.Unmarshal(object, &content) != nil {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		results, err := path.FindResults(content)
		if err != nil || len(results) == 0 || len(results[0]) == 0 || !results[0][0].CanInterface() {
			return nil
		}
		value := results[0][0].Interface()
		if c.Type != "string" {
			return typed(c.Type, value)
		}
		var b bytes.Buffer
		if path.PrintResults(&b, []reflect.Value{reflect.ValueOf(value)}) != nil {
			return nil
		}
		return text(b.String())
	}
}

func typed(kind string, value any) []byte {
	switch v := value.(type) {
	case int64:
		if kind == "integer" || kind == "number" {
			return fmt.Append(nil, v)
		}
	case float64:
		if kind == "integer" {
			return fmt.Append(nil, int64(v))
		}
		if raw, err := json.Marshal(v); kind == "number" && err == nil {
			return raw
		}
	case bool:
		if kind == "boolean" {
			return fmt.Append(nil, v)
		}
	case string:
		if kind == "date" {
			return date(v)
		}
	}
	return nil
}

func date(s string) []byte {
	if age.IsTime(s) {
		return age.Age{Since: s, Format: age.Plain}.Append(nil)
	}
	var t metav1.Time
	if t.UnmarshalQueryParameter(s) != nil {
		return []byte(invalid)
	}
	return []byte(unknown)
}
