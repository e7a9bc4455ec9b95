package fleet

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Header is the first line of the table that Line writes the others of.
const Header = "  time  connected     live  sessions   ended   updates/s   in KiB/s  out KiB/s  p50 ms  p99 ms  mismatches"

// Line returns the table's line for what has happened between two moments.
func Line(elapsed time.Duration, before, now Stats, between time.Duration) string {
	per := func(n int64) float64 { return float64(n) / between.Seconds() }
	return fmt.Sprintf("%6.0f %10d %8d %9d %7d %11.0f %10.1f %10.1f %7.1f %7.1f %11d",
		elapsed.Seconds(), now.Connected, now.Live, now.Sessions, now.Ended, per(now.Updates-before.Updates),
		per(now.WireIn-before.WireIn)/1024, per(now.WireOut-before.WireOut)/1024,
		milliseconds(now.Latency.P50), milliseconds(now.Latency.P99), now.Mismatches)
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Summary writes what has come of a run.
func (s *Stats) Summary(w io.Writer) error {
	edges := float64(max(1, s.Edges))
	_, err := fmt.Fprintf(w, `
edges         %d, %d connected, %d caught up, %d stuck
sessions      %d opened, %d ended%s
catch-ups     %s; %d inventories, %d rewinds
received      %d operations, %d of them live, %d patches of which %d did not apply; %d different versions held
bytes         %.0f received and %.0f sent by an edge, of which messages %.0f and %.0f
live update   %d bytes on average, p99 %d (message without TLS and frames)
latency       p50 %.1f ms, p99 %.1f ms, longest %.1f ms, of %d
checkpoints   %d compared, %d mismatches
`,
		s.Edges, s.Connected, s.Live, s.Stuck, s.Sessions, s.Ended, counts(" (", s.Failures, ")"),
		counts("", s.Plans, ""), s.Inventories, s.Rewinds, s.Operations, s.Updates, s.Patches, s.Misses, s.Versions,
		float64(s.WireIn)/edges, float64(s.WireOut)/edges, float64(s.BytesIn)/edges, float64(s.BytesOut)/edges,
		s.UpdateSize.Mean, s.UpdateSize.P99,
		milliseconds(s.Latency.P50), milliseconds(s.Latency.P99), milliseconds(s.Latency.Max), s.Latency.Count,
		s.Checkpoints, s.Mismatches)
	return err
}

// counts returns named numbers in the order of their names, between two texts; "" for none.
func counts(before string, n map[string]int64, after string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, n[name]))
	}
	if parts == nil {
		return ""
	}
	return before + strings.Join(parts, ", ") + after
}
