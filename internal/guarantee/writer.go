package guarantee

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// Writer writes one resource through an API server and records what was acknowledged. Keys
// may be written by one goroutine at a time each; different keys at the same time.
type Writer struct {
	h        *History
	server   string
	resource string
	client   *http.Client
	base     string // of the group version, "http://127.0.0.1:8001/api/v1"
	plural   string
	header   http.Header

	mu    sync.Mutex
	known map[string]Object // what this writer last knew to be there, by key; guarded by mu
}

// NewWriter writes to the plural below base on the named server. In the history the resource
// goes by the name given.
func NewWriter(h *History, server, resource string, client *http.Client, base, plural string, header http.Header) *Writer {
	return &Writer{h: h, server: server, resource: resource, client: client, base: base, plural: plural, header: header, known: map[string]Object{}}
}

// ErrUnknownOutcome says that a write may or may not have happened: call [Writer.Resolve]
// before the key is written again.
var ErrUnknownOutcome = errors.New("the outcome of the write is unknown")

// Create creates the object of that JSON. Its namespace comes from the key.
func (w *Writer) Create(ctx context.Context, key string, body []byte) (Object, error) {
	namespace, _, _ := strings.Cut(key, "/")
	if !strings.Contains(key, "/") {
		namespace = ""
	}
	return w.write(ctx, http.MethodPost, w.collection(namespace), key, body)
}

// Update replaces the object.
func (w *Writer) Update(ctx context.Context, key string, body []byte) (Object, error) {
	return w.write(ctx, http.MethodPut, w.url(key), key, body)
}

// Delete deletes the object at once, without a grace period.
func (w *Writer) Delete(ctx context.Context, key string) error {
	answer, err := w.send(ctx, http.MethodDelete, w.url(key)+"?gracePeriodSeconds=0", key, nil)
	if err != nil {
		return err
	}
	var rv uint64
	if o, err := ParseObject(answer); err == nil && o.UID != "" {
		rv = o.RV
	}
	w.removed(key, rv)
	return nil
}

// Resolve finds out what became of a write with an unknown outcome, and records it.
func (w *Writer) Resolve(ctx context.Context, key string) error {
	answer, err := w.send(ctx, http.MethodGet, w.url(key), key, nil)
	var status *StatusError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		w.removed(key, 0)
		return nil
	}
	if err != nil {
		return err
	}
	_, err = w.wrote(answer)
	return err
}

// Relearn takes what the cloud has now for what the writer knew: it was restored from a backup.
func (w *Writer) Relearn(ctx context.Context) error {
	t := Target{Client: w.client, URL: w.collection(""), Header: w.header}
	response, err := t.get(ctx, "", nil)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	var p page
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil {
		return fmt.Errorf("relearn %s: %w", t.URL, err)
	}
	items, err := p.objects(nil)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known = make(map[string]Object, len(items))
	for _, o := range items {
		w.known[o.Key] = o
	}
	return nil
}

// Known returns what the writer last knew to be under the key; false when nothing is.
func (w *Writer) Known(key string) (Object, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	o, ok := w.known[key]
	return o, ok
}

func (w *Writer) write(ctx context.Context, method, u, key string, body []byte) (Object, error) {
	answer, err := w.send(ctx, method, u, key, body)
	if err != nil {
		return Object{}, err
	}
	return w.wrote(answer)
}

func (w *Writer) wrote(answer []byte) (Object, error) {
	o, err := ParseObject(answer)
	if err != nil {
		return Object{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.RV != w.known[o.Key].RV {
		w.known[o.Key] = o
		w.h.Wrote(w.server, w.resource, o)
	}
	return o, nil
}

func (w *Writer) removed(key string, rv uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o, ok := w.known[key]; ok {
		delete(w.known, key)
		w.h.Removed(w.server, w.resource, key, o.UID, rv)
	}
}

// send makes the request. No answer, or one that the server itself failed, leaves the outcome unknown.
func (w *Writer) send(ctx context.Context, method, u, key string, body []byte) ([]byte, error) {
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	response, err := send(ctx, w.client, method, u, w.header, reader)
	var status *StatusError
	if errors.As(err, &status) && status.Code < http.StatusInternalServerError {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("write %s: %w: %w", key, ErrUnknownOutcome, err)
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, fmt.Errorf("write %s: %w: %w", key, ErrUnknownOutcome, err)
	}
	return bytes.TrimSuffix(answer, []byte("\n")), nil
}

func (w *Writer) collection(namespace string) string {
	if namespace == "" {
		return w.base + "/" + w.plural
	}
	return w.base + "/namespaces/" + namespace + "/" + w.plural
}

func (w *Writer) url(key string) string {
	namespace, name, found := strings.Cut(key, "/")
	if !found {
		namespace, name = "", key
	}
	return w.collection(namespace) + "/" + name
}
