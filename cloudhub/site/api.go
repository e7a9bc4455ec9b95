package site

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writeLimit bounds how long one write may take.
const writeLimit = 10 * time.Second

// Writer returns the Write of a ReporterConfig: it sends patches to an API server, as whoever the transport says it is.
func Writer(to http.RoundTripper) func(ctx context.Context, name string, patch []byte) error {
	return func(ctx context.Context, name string, patch []byte) error {
		ctx, cancel := context.WithTimeout(ctx, writeLimit)
		defer cancel()
		path := fmt.Sprintf("http://cloud/apis/%s/edgesites/%s/status?fieldManager=tombolo-cloudhub", GroupVersion, name)
		req, err := http.NewRequestWithContext(ctx, http.MethodPatch, path, bytes.NewReader(patch))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/merge-patch+json")
		req.Header.Set("Accept", "application/json")
		resp, err := to.RoundTrip(req)
		if err != nil {
			return fmt.Errorf("status of EdgeSite %s: %w", name, err)
		}
		defer resp.Body.Close() //nolint:errcheck // it was read
		if resp.StatusCode < 300 {
			_, err := io.Copy(io.Discard, resp.Body)
			return err
		}
		var s metav1.Status
		if err := json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&s); err != nil || s.Message == "" {
			return fmt.Errorf("status of EdgeSite %s: %s", name, resp.Status)
		}
		return fmt.Errorf("status of EdgeSite %s: %w", name, &apierrors.StatusError{ErrStatus: s})
	}
}
