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
	var beyond errBeyond
	switch {
	case errors.As(err, &beyond) && s.cfg.Fallback != nil && beyond.live:
		s.fallBack(w, r)
	case errors.Is(err, context.DeadlineExceeded):
		timedOut(w)
	case errors.Is(err, context.Canceled):
		writeStatus(w, r, stopping()) // or the client is gone, and this to nobody
	default:
		writeStatus(w, r, err)
	}
}

// writeStatus answers with the Status of an error: compact if the client takes JSON and doesn't want it pretty, else
// indented (apiserver pkg/endpoints/handlers/responsewriters).
func writeStatus(w http.ResponseWriter, r *http.Request, err error) {
	status := statusOf(err)
	raw, jsonErr := json.Marshal(status)
	if jsonErr != nil {
		panic(jsonErr) // a Status has nothing that can't be encoded
	}
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	if p, ok := negotiateError(r); !ok || p.pretty {
		raw = new(indenter).append(nil, raw)
	} else {
		raw = append(raw, '\n')
	}
	_, _ = w.Write(raw) // there is no one to tell
}
