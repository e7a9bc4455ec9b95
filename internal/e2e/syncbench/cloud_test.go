//go:build e2e

package syncbench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/fleet"
)

// object is a Kubernetes object, or a patch of one.
type object map[string]any

// cloud writes to an embedded cloud.
type cloud struct {
	base   string
	client *http.Client
}

func newCloud(t testing.TB, base string) *cloud {
	transport := &http.Transport{MaxIdleConnsPerHost: writers}
	t.Cleanup(transport.CloseIdleConnections)
	return &cloud{base: base, client: &http.Client{Transport: transport, Timeout: patience}}
}

// writers is how many writes are made at a time where there are many.
const writers = 16

// do sends a request; a test goes on after one that fails, and ends when it waits for its effect.
func (c *cloud) do(t testing.TB, method, path, contentType string, body any) {
	t.Helper()
	if err := c.try(method, path, contentType, body); err != nil {
		t.Errorf("%s %s: %v", method, path, err)
	}
}

func (c *cloud) try(method, path, contentType string, body any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, c.base+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("%s: %.300s", resp.Status, text)
	}
	return err
}

func (c *cloud) create(t testing.TB, collection string, o object) {
	t.Helper()
	c.do(t, http.MethodPost, collection, "application/json", o)
}

func (c *cloud) patch(t testing.TB, path string, o object) {
	t.Helper()
	c.do(t, http.MethodPatch, path, "application/merge-patch+json", o)
}

func (c *cloud) remove(t testing.TB, path string) {
	t.Helper()
	c.do(t, http.MethodDelete, path, "application/json", object{})
}

// each calls write for 0 to n-1, several at a time.
func (c *cloud) each(n int, write func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range writers {
		wg.Go(func() {
			for i := range next {
				write(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}

// marker is a patch that marks an object with the time.
func marker() object {
	return object{"metadata": object{"annotations": object{fleet.Marker: fmt.Sprint(time.Now().UnixNano())}}}
}
