package litesrv

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
)

// fail answers with an error.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		timedOut(w)
	case errors.Is(err, context.Canceled):
		writeStatus(w, r, stopping()) // or the client is gone, and this to nobody
	default:
		writeStatus(w, r, err)
	}
}

// writeStatus answers with the Status of an error: YAML, protobuf or compact JSON if the client takes that and doesn't
// want it pretty, else indented JSON (apiserver pkg/endpoints/handlers/responsewriters).
func writeStatus(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	raw, jsonErr := json.Marshal(status)
	if jsonErr != nil {
		panic(jsonErr) // a Status has nothing that can't be encoded
	}
	p, ok := negotiateError(r)
	switch {
	case !ok || p.pretty:
		raw = new(indenter).append(nil, raw)
	case p.encoding == encodeYAML:
		raw = statusYAML(raw)
	case p.encoding == encodeProtobuf:
		kind, message := statusMessage(status)
		raw = kind.appendMessage(nil, message)
	default:
		raw = append(raw, '\n')
	}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	w.Header().Set("Content-Type", p.mediaType())
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(raw) //nolint:gosec // the type is one of an API, which no browser renders; there is no one to tell of an error
}

// statusYAML returns a Status, which raw is the JSON of, as YAML. When that can't hold a text of it, it says so instead,
// as in kube-apiserver.
func statusYAML(raw []byte) []byte {
	out, err := appendYAML(nil, raw)
	if err == nil {
		return out
	}
	raw, jsonErr := json.Marshal(statusOf(err))
	if jsonErr != nil {
		panic(jsonErr) // as above
	}
	if out, err = appendYAML(nil, raw); err != nil {
		panic(err) // the text is the encoder's own
	}
	return out
}
