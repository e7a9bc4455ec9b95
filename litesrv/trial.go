package litesrv

import (
	"maps"
	"net/http"
)

// trial passes an answer on, unless it is a refusal: nothing of that is seen.
type trial struct {
	http.ResponseWriter
	header  http.Header // until the answer begins
	begun   bool
	refused bool
}

// Header returns the answer's header.
func (t *trial) Header() http.Header { return t.header }

// WriteHeader begins the answer.
func (t *trial) WriteHeader(code int) {
	if t.begun {
		return
	}
	t.begun = true
	if t.refused = code == http.StatusUnauthorized || code == http.StatusForbidden; t.refused {
		return
	}
	h := t.ResponseWriter.Header()
	clear(h)
	maps.Copy(h, t.header)
	t.ResponseWriter.WriteHeader(code)
}

// Write writes a part of it.
func (t *trial) Write(p []byte) (int, error) {
	t.WriteHeader(http.StatusOK)
	if t.refused {
		return len(p), nil
	}
	return t.ResponseWriter.Write(p)
}

// FlushError sends what was written.
func (t *trial) FlushError() error {
	t.WriteHeader(http.StatusOK)
	if t.refused {
		return nil
	}
	return http.NewResponseController(t.ResponseWriter).Flush()
}

// Unwrap is how http.ResponseController finds what the connection can do.
func (t *trial) Unwrap() http.ResponseWriter { return t.ResponseWriter }
