package site

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// undefined is a cloud that has no EdgeSites.
type undefined struct{}

func (undefined) Open(_ context.Context, _ schema.GroupResource) (*watchlog.Log, func(), error) {
	return nil, nil, errors.New("unknown resource")
}

// TestMissingDefinitionsAreSaidOnceAMinute, of each of the two, though they are looked for more often.
func TestMissingDefinitionsAreSaidOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		r := New(undefined{}, slog.New(slog.NewTextHandler(&said, nil)))
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute-retryDelay)
		defer cancel()
		if err := r.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(said.String(), "can't be followed"); n != 6 {
			t.Errorf("said %d times:\n%s", n, &said)
		}
		if err := r.Ready(); err == nil || !strings.Contains(err.Error(), "unknown resource") {
			t.Errorf("ready: %v", err)
		}
	})
}
