package kube

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/tombolo-sync/tombolo/cloudhub/source/age"
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
func (p printerColumns) ages() []age.Rule {
	rules := make([]age.Rule, len(p.columns))
	for i, c := range p.columns {
		if c.Type == "date" {
			rules[i] = age.Path(c.JSONPath)
		}
	}
	return rules
}
