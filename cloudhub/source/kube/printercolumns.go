package kube

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"k8s.io/client-go/util/jsonpath"
)

// printerColumns are the additional printer columns of one version of a CRD.
type printerColumns struct {
	raw     string // the JSON, by which changes are noticed
	columns []printerColumn
}

// printerColumn is a column that a CRD defines.
type printerColumn struct {
	Type     string `json:"type"`
	JSONPath string `json:"jsonPath"`
}

// defaultColumns are those of a CRD that defines none (apiextensions-apiserver pkg/apiserver/helpers).
const defaultColumns = `[{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}]`

// readPrinterColumns reads spec.versions[].additionalPrinterColumns of a CRD.
func readPrinterColumns(crd []byte, version string) (printerColumns, error) {
	var body struct {
		Spec struct {
			Versions []struct {
				Name    string          `json:"name"`
				Columns json.RawMessage `json:"additionalPrinterColumns"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(crd, &body); err != nil {
		return printerColumns{}, fmt.Errorf("CRD: %w", err)
	}
	p := printerColumns{raw: defaultColumns}
	for _, v := range body.Spec.Versions {
		if v.Name == version && len(bytes.Trim(v.Columns, "nul[] ")) > 0 {
			p.raw = string(v.Columns)
		}
	}
	if err := json.Unmarshal([]byte(p.raw), &p.columns); err != nil {
		return printerColumns{}, fmt.Errorf("CRD: printer columns: %w", err)
	}
	return p, nil
}

// ages returns the rules of the columns of type date, nil for the others. The first column of a table is none of them.
func (p printerColumns) ages() []ageRule {
	rules := make([]ageRule, len(p.columns))
	for i, c := range p.columns {
		if c.Type == "date" {
			rules[i] = pathAge(c.JSONPath)
		}
	}
	return rules
}

// plainPath is a JSON path that only names members.
var plainPath = regexp.MustCompile(`^(\.[A-Za-z0-9_-]+)+$`)

// pathAge is an age since the time at a JSON path, as apiextensions' tableconvertor finds it. Only for a path that does
// more than name members is the object decoded.
func pathAge(path string) ageRule {
	if plainPath.MatchString(path) {
		return ageOf(strings.Split(path[1:], ".")...)
	}
	p := jsonpath.New("age").AllowMissingKeys(true)
	if p.Parse("{"+path+"}") != nil {
		return nil
	}
	var mu sync.Mutex // a path that is followed has state
	return func(object []byte, _ string) (age, bool) {
		var content any
		if json.Unmarshal(object, &content) != nil {
			return age{}, false
		}
		mu.Lock()
		defer mu.Unlock()
		results, err := p.FindResults(content)
		if err != nil || len(results) == 0 || len(results[0]) == 0 || !results[0][0].CanInterface() {
			return age{}, false
		}
		t, ok := results[0][0].Interface().(string)
		return age{Since: t, Format: plainAge}, ok && isTime(t)
	}
}
