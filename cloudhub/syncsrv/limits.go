package syncsrv

import (
	"golang.org/x/time/rate"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// maxPositions is how many resources an edge may hold, or say something of in one message. Edges know it too.
	maxPositions = 10_000
	// maxText bounds what an edge says in words, in bytes: its version, hashes, names.
	maxText = 512
	// itemWeight is what an item of an inventory takes in memory beside its bytes on the wire.
	itemWeight = 128
	// demandRate and demandBurst bound how often an edge may want other resources, per second.
	demandRate, demandBurst = 100, 1000
)

// checkHello fails for a Hello that would take memory for nothing.
func checkHello(h *tombolov1.Hello) error {
	if len(h.GetPositions()) > maxPositions {
		return status.Errorf(codes.InvalidArgument, "a Hello with more than %d positions", maxPositions)
	}
	texts := []string{h.GetEpoch(), h.GetDocumentsHash(), h.GetSoftware()}
	for _, p := range h.GetPositions() {
		texts = append(texts, p.GetEpoch(), p.GetView(), p.GetResource().GetGroup(), p.GetResource().GetResource())
	}
	for _, text := range texts {
		if len(text) > maxText {
			return status.Errorf(codes.InvalidArgument, "a Hello with a text of %d bytes", len(text))
		}
	}
	return nil
}

// weight is what a message that waits for a turn takes in memory, roughly. size is what it takes on the wire.
func weight(req *tombolov1.SyncRequest, size int) int64 {
	return int64(size + itemWeight*(len(req.GetInventory().GetItems())+len(req.GetAck().GetAlso())))
}

// allow takes one of what a limiter gives, which it makes first.
func allow(l **rate.Limiter, perSecond rate.Limit, burst int) bool {
	if *l == nil {
		*l = rate.NewLimiter(perSecond, burst)
	}
	return (*l).Allow()
}

// mayDisagree fails when a live edge disagrees so often that it keeps the hub busy: each time costs a look at all that
// the edge holds. One that was asked may always answer.
func (u *subscription) mayDisagree() error {
	if u.phase == live && !u.s.mayNeed() {
		return status.Errorf(codes.ResourceExhausted, "%s: the edge disagrees with the hub again and again", u.gr)
	}
	return nil
}
