package edge

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/edgehub"
	"github.com/tombolo-sync/tombolo/edgehub/session"
	"github.com/tombolo-sync/tombolo/litesrv"
)

// prover lets litesrv ask the agent for proofs.
type prover struct{ agent *edgehub.Agent }

// Prove implements litesrv.Prover.
func (p prover) Prove(
	ctx context.Context, gvr schema.GroupVersionResource, part litesrv.Part, minRev uint64,
) (uint64, error) {
	return p.agent.Prove(ctx, gvr, session.Part(part), minRev)
}
