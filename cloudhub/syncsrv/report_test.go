package syncsrv

import (
	"testing"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// TestReportIsKept: the last one of a session.
func TestReportIsKept(t *testing.T) {
	s := &session{}
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
