package fleet

import (
	"errors"
	"fmt"
)

// ErrNonsense is returned by Run when a hub sends what the protocol does not allow.
var ErrNonsense = errors.New("the hub breaks the protocol")

// nonsense returns an ErrNonsense that says how.
func nonsense(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrNonsense}, args...)...)
}
