//go:build e2e

package e2e_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/internal/e2e/cluster"
)

// cloud talks to the API server as a plain HTTP client.
type cloud struct {
	t      *testing.T
	client *http.Client
	url    string
}

func newCloud(t *testing.T, c *cluster.Cluster) *cloud {
	client, err := rest.HTTPClientFor(restConfig(c))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return &cloud{t, client, c.URL}
}

func restConfig(c *cluster.Cluster) *rest.Config {
	return &rest.Config{
		Host: c.URL, BearerToken: cluster.AdminToken, UserAgent: "e2e",
		TLSClientConfig: rest.TLSClientConfig{CAFile: c.CAFile},
	}
}

func (c *cloud) send(ctx context.Context, method, path, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		text, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		return nil, fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return resp, nil
}

func (c *cloud) call(method, path, body string, header ...string) ([]byte, error) {
	resp, err := c.send(c.t.Context(), method, path, body, header...)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func (c *cloud) must(method, path, body string) []byte {
	c.t.Helper()
	b, err := c.call(method, path, body)
	if err != nil {
		c.t.Fatal(err)
	}
	return b
}

// each calls do for the numbers in [from,to), some at a time.
func (c *cloud) each(from, to int, do func(n int) error) {
	c.t.Helper()
	var g errgroup.Group
	g.SetLimit(8)
	for n := from; n < to; n++ {
		g.Go(func() error { return do(n) })
	}
	if err := g.Wait(); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cloud) create(s sample, from, to int) {
	c.t.Helper()
	c.each(from, to, func(n int) error {
		_, err := c.call(http.MethodPost, s.path, s.body(objectName(n), n))
		return err
	})
}

func objectName(n int) string { return fmt.Sprintf("object-%03d", n) }

// createCRD returns when the custom resource is served.
func (c *cloud) createCRD() {
	c.t.Helper()
	c.must(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", widgetCRD)
	deadline := time.Now().Add(time.Minute)
	for {
		_, err := c.call(http.MethodGet, "/apis/ex.io/v1/widgets", "")
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("the CRD is not served: %v", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// plainWatch collects the frames of a watch from a revision until stop is called.
type plainWatch struct {
	mu     sync.Mutex
	frames []frame
	done   chan struct{}
	stop   context.CancelFunc
}

type frame struct {
	Type   string          `json:"type"`
	Object json.RawMessage `json:"object"`
}

func (c *cloud) watch(path string, rev uint64) *plainWatch {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	resp, err := c.send(ctx, http.MethodGet, fmt.Sprintf("%s?watch=true&resourceVersion=%d", path, rev), "")
	if err != nil {
		c.t.Fatal(err)
	}
	w := &plainWatch{done: make(chan struct{}), stop: cancel}
	go func() {
		defer close(w.done)
		defer resp.Body.Close()
		lines := bufio.NewReader(resp.Body)
		for {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				return
			}
			var f frame
			if json.Unmarshal(line, &f) != nil {
				return
			}
			w.mu.Lock()
			w.frames = append(w.frames, f)
			w.mu.Unlock()
		}
	}()
	c.t.Cleanup(func() { cancel(); <-w.done })
	return w
}

// upTo returns the frames until one that concerns the object called last.
func (w *plainWatch) upTo(t *testing.T, last string) []frame {
	t.Helper()
	mark := []byte(`"name":"` + last + `"`)
	deadline := time.Now().Add(time.Minute)
	for {
		w.mu.Lock()
		n := len(w.frames)
		if n > 0 && bytes.Contains(w.frames[n-1].Object, mark) {
			defer w.mu.Unlock()
			return w.frames
		}
		w.mu.Unlock()
		if time.Now().After(deadline) {
			t.Fatalf("the plain watch has not brought %s, but %d events", last, n)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
