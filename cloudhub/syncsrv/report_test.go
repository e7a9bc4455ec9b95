package syncsrv

import (
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// TestReportIsKept: the last one of a session.
func TestReportIsKept(t *testing.T) {
	s := &session{can: capabilities{lazy: true}}
	for n := range uint64(3) {
		if err := s.handle(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Report{
			Report: &tombolov1.Report{Objects: n, Bytes: 1 << 20},
		}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.report.Load(); got.GetObjects() != 2 || got.GetBytes() != 1<<20 {
		t.Errorf("kept %v", got)
	}
}

// TestLazinessIsAgreedOn: what an edge says that was not agreed on ends the session.
func TestLazinessIsAgreedOn(t *testing.T) {
	s := &session{}
	for _, m := range []*tombolov1.SyncRequest{
		{Message: &tombolov1.SyncRequest_Report{Report: &tombolov1.Report{}}},
		{Message: &tombolov1.SyncRequest_Ack{Ack: &tombolov1.Ack{Also: []*tombolov1.Durable{{Subscription: 1}}}}},
	} {
		if err := s.handle(m); status.Code(err) != codes.InvalidArgument {
			t.Errorf("%v: %v", m, err)
		}
	}
}
