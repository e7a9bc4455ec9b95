package embedded

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
)

// Prove returns the position of the log of gr, at which it has all that was written before the call: logs are written to
// before a write returns. The part and minRev do not matter. It fails with source.ErrUnknownResource.
func (c *Cloud) Prove(_ context.Context, gr schema.GroupResource, _ source.Part, _ uint64) (uint64, error) {
	f, ok := c.settled().byGR[gr]
	if !ok {
		return 0, fmt.Errorf("prove %s: %w", gr, source.ErrUnknownResource)
	}
	return f.log().Rev(), nil
}
