package kube

import (
	"fmt"
	"strconv"

	"github.com/tombolo-sync/tombolo/cloudhub/source"
)

// parseRev returns a resourceVersion as a number. Kubernetes defines those of its own resources to be positive decimal
// numbers that can be compared (KEP-5504); aggregated APIs may have others, which fail with ErrUnordered.
func parseRev(rv string) (uint64, error) {
	rev, err := strconv.ParseUint(rv, 10, 64)
	if err != nil || rev == 0 || rv[0] == '0' || rv[0] == '+' {
		return 0, fmt.Errorf("%w: %q", source.ErrUnordered, rv)
	}
	return rev, nil
}

func formatRev(rev uint64) string { return strconv.FormatUint(rev, 10) }
