package session

import (
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// sayEvery is how often an edge that stays without a hub says so.
const sayEvery = time.Minute

// complaints tells when it is to be said that there is no session. The zero value is ready for use.
type complaints struct {
	said  time.Time             // when it was last said
	codes map[string]codes.Code // what each hub's last attempt failed with
}

// due tells whether a failure is worth a line: the first after a session, one of another kind than the hub's last one, such as a
// revocation, or one in a minute.
func (c *complaints) due(hub string, err error, progressed bool, now time.Time) bool {
	code := status.Code(err)
	last, known := c.codes[hub]
	if c.codes == nil {
		c.codes = map[string]codes.Code{}
	}
	c.codes[hub] = code
	if !progressed && (!known || last == code) && now.Sub(c.said) < sayEvery {
		return false
	}
	c.said = now
	return true
}
