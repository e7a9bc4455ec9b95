package embedded

import (
	"bytes"
	"net/http"
)

// capture is a ResponseWriter that keeps the answer.
type capture struct {
	header http.Header
	code   int // 0 until there is an answer
	body   bytes.Buffer
}

// Header returns the header, which nobody sees.
func (c *capture) Header() http.Header { return c.header }

// WriteHeader keeps the first code, as the others are none.
func (c *capture) WriteHeader(code int) {
	if c.code == 0 {
		c.code = code
	}
}

// Write keeps a part of the body.
func (c *capture) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	return c.body.Write(p)
}
