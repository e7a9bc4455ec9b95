package syncsrv

import (
	"cmp"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/delta"
	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// position is how far an edge has come with a resource.
type position struct {
	epoch, view string
	rev, staged uint64
	// digest is of what the edge holds at rev, where told is set: only a Hello tells.
	digest delta.Digest
	told   bool
}

// readPosition reads what a Hello says of a resource.
func readPosition(hello *tombolov1.Hello, p *tombolov1.Position) position {
	at := position{
		epoch: cmp.Or(p.GetEpoch(), hello.GetEpoch()), view: p.GetView(), rev: p.GetRev(), staged: p.GetStagedRev(),
	}
	digest, err := delta.Parse(p.GetCount(), p.GetDigest())
	at.digest, at.told = digest, err == nil
	return at
}

func groupResource(r *tombolov1.Resource) schema.GroupResource {
	return schema.GroupResource{Group: r.GetGroup(), Resource: r.GetResource()}
}
