package session

import (
	"fmt"
	"time"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

const (
	// reportEvery is how often a hub hears at most what the edge holds.
	reportEvery = time.Minute
	// reportStep is by which part the file has to grow or shrink to be worth a report by itself.
	reportStep = 16
)

// reports is what the hub was told of what the edge holds. The zero value: nothing yet.
type reports struct {
	at             time.Time
	objects, bytes uint64
}

// news tells whether the hub had better hear that the edge holds this.
func (r *reports) news(now time.Time, objects, bytes uint64) bool {
	if r.at.IsZero() {
		return true
	}
	return now.Sub(r.at) >= reportEvery && (objects != r.objects || max(bytes, r.bytes)-min(bytes, r.bytes) > r.bytes/reportStep)
}

// report tells the hub what the edge holds, once that is all it should and when it has changed.
func (s *session) report(now time.Time) error {
	if !s.agreed.lazy || !s.caughtUp() {
		return nil
	}
	size, err := s.c.cfg.Store.Size()
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	objects, bytes := uint64(0), uint64(max(0, size)) //nolint:gosec // not negative
	for _, r := range s.c.replicas {
		objects += r.digest.Count
	}
	if !s.reports.news(now, objects, bytes) {
		return nil
	}
	s.reports = reports{at: now, objects: objects, bytes: bytes}
	return s.stream.Send(&tombolov1.SyncRequest{Message: &tombolov1.SyncRequest_Report{
		Report: &tombolov1.Report{Objects: objects, Bytes: bytes},
	}})
}
