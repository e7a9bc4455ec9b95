package guarantee

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// withRV returns the body with metadata.resourceVersion replaced, every other byte kept:
// what a DELETED event carries. A body without one comes back unchanged.
func withRV(body string, rv uint64) string {
	start, end := rvSpan(body)
	if end == 0 {
		return body
	}
	return body[:start] + `"` + strconv.FormatUint(rv, 10) + `"` + body[end:]
}

// rvSpan finds the value of metadata.resourceVersion, quotes included; end 0 when there is none.
func rvSpan(body string) (start, end int) {
	dec := json.NewDecoder(strings.NewReader(body))
	if !enter(dec) || !seek(dec, "metadata") || !enter(dec) || !seek(dec, "resourceVersion") {
		return 0, 0
	}
	from := int(dec.InputOffset())
	var value json.RawMessage
	if dec.Decode(&value) != nil {
		return 0, 0
	}
	end = int(dec.InputOffset())
	start = from + bytes.IndexByte([]byte(body[from:end]), '"')
	if start < from {
		return 0, 0
	}
	return start, end
}

// enter consumes the brace that opens an object.
func enter(dec *json.Decoder) bool {
	token, err := dec.Token()
	return err == nil && token == json.Delim('{')
}

// seek consumes members of the object the decoder is in, up to and including the name given.
func seek(dec *json.Decoder, name string) bool {
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return false
		}
		if token == name {
			return true
		}
		var skipped json.RawMessage
		if dec.Decode(&skipped) != nil {
			return false
		}
	}
	return false
}
