package fleet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// Writer sets the Marker of one object again and again, so that there is something to be timed.
type Writer struct {
	// URL is the object's, at an API that needs no credentials: an embedded cloud's, or a kubectl proxy.
	URL string
	// Rate is how many writes a second.
	Rate float64

	count atomic.Int64
}

// Run writes until ctx ends; then it returns nil. It fails when a write does.
func (w *Writer) Run(ctx context.Context) error {
	for pace := rate.NewLimiter(rate.Limit(w.Rate), 1); pace.Wait(ctx) == nil; {
		if err := w.write(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("write %s: %w", w.URL, err)
		}
		w.count.Add(1)
	}
	return nil
}

// Count returns how many writes were made.
func (w *Writer) Count() int64 { return w.count.Load() }

func (w *Writer) write(ctx context.Context) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"%d"}}}`, Marker, time.Now().UnixNano())
	req, err := http.NewRequestWithContext(ctx, http.MethodPatch, w.URL, bytes.NewReader(patch))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/merge-patch+json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status + ": " + string(text[:min(len(text), 200)]))
	}
	return nil
}
