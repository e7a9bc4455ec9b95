package guarantee

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Lister lists and gets, and records what it is shown. Its methods belong to one goroutine.
type Lister struct {
	*Reader
	Target
	RV    string // resourceVersion of the lists: "" is consistent, "0" any
	Limit int    // items a page; 0 = everything at once
}

// NewLister registers a reader that lists.
func NewLister(h *History, cfg ReaderConfig, target Target) *Lister {
	return &Lister{Reader: h.Reader(cfg), Target: target}
}

// page is the JSON of a list.
type page struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		ResourceVersion string `json:"resourceVersion"`
		Continue        string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// List lists everything, page by page, and records it. It returns the list's resourceVersion.
func (l *Lister) List(ctx context.Context) (uint64, error) {
	return l.list(ctx, url.Values{"resourceVersion": {l.RV}}, false)
}

// ListExact lists the state at a past revision.
func (l *Lister) ListExact(ctx context.Context, rv uint64) error {
	_, err := l.list(ctx, url.Values{
		"resourceVersion":      {strconv.FormatUint(rv, 10)},
		"resourceVersionMatch": {"Exact"},
	}, true)
	return err
}

func (l *Lister) list(ctx context.Context, query url.Values, exact bool) (uint64, error) {
	answer := Answer{Began: l.Begin(), Exact: exact, Any: query.Get("resourceVersion") != ""}
	if query.Get("resourceVersion") == "" {
		query.Del("resourceVersion")
	}
	if l.Limit > 0 {
		query.Set("limit", strconv.Itoa(l.Limit))
	}
	var items []Object
	for {
		p, stale, err := l.page(ctx, query)
		if err != nil {
			l.note(query, err)
			return 0, err
		}
		answer.Stale = answer.Stale || stale
		items, err = p.objects(items)
		if err != nil {
			return 0, err
		}
		if p.Metadata.Continue == "" {
			rv, err := strconv.ParseUint(p.Metadata.ResourceVersion, 10, 64)
			if err != nil {
				return 0, fmt.Errorf("list %s: resourceVersion: %w", l.URL, err)
			}
			l.Listed(rv, items, answer)
			return rv, nil
		}
		query.Set("continue", p.Metadata.Continue)
		query.Del("resourceVersion")
		query.Del("resourceVersionMatch")
	}
}

// note records why a list was not answered.
func (l *Lister) note(query url.Values, err error) {
	var status *StatusError
	if errors.As(err, &status) && status.Code == http.StatusGone && query.Get("continue") == "" {
		rv, _ := strconv.ParseUint(query.Get("resourceVersion"), 10, 64)
		l.Expired(rv)
		return
	}
	l.Failed(err.Error())
}

func (l *Lister) page(ctx context.Context, query url.Values) (*page, bool, error) {
	response, err := l.get(ctx, "", query)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = response.Body.Close() }()
	var p page
	if err := json.NewDecoder(response.Body).Decode(&p); err != nil {
		return nil, false, fmt.Errorf("list %s: %w", l.URL, err)
	}
	return &p, stale(response), nil
}

// stale tells whether an answer says that it may be behind the cloud.
func stale(response *http.Response) bool { return response.Header.Get("Warning") != "" }

// objects appends the items as whole objects: those of typed lists come without kind and
// apiVersion, which a GET or an event of the same object has in front.
func (p *page) objects(items []Object) ([]Object, error) {
	front := fmt.Sprintf(`{"kind":%q,"apiVersion":%q,`, strings.TrimSuffix(p.Kind, "List"), p.APIVersion)
	for _, raw := range p.Items {
		o, err := ParseObject(raw)
		if err != nil {
			return nil, fmt.Errorf("list of %s: %w", p.Kind, err)
		}
		var id identity
		if json.Unmarshal(raw, &id) == nil && id.Kind == "" {
			o.Body = front + strings.TrimPrefix(o.Body, "{")
		}
		items = append(items, o)
	}
	return items, nil
}

// Get gets one object and records it, also when it isn't found.
func (l *Lister) Get(ctx context.Context, name string) (Object, error) {
	answer := Answer{Began: l.Begin()}
	response, err := l.get(ctx, "/"+name, nil)
	var status *StatusError
	if errors.As(err, &status) && status.Code == http.StatusNotFound {
		o := Object{Key: joinKey(namespaceIn(l.URL), name)}
		l.Got(o, answer)
		return o, nil
	}
	if err != nil {
		l.Failed(err.Error())
		return Object{}, err
	}
	defer func() { _ = response.Body.Close() }()
	answer.Stale = stale(response)
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return Object{}, fmt.Errorf("get %s/%s: %w", l.URL, name, err)
	}
	o, err := ParseObject([]byte(strings.TrimSuffix(string(body), "\n")))
	if err != nil {
		return Object{}, err
	}
	l.Got(o, answer)
	return o, nil
}

// namespaceIn returns the namespace of a collection's URL, "" when it has none.
func namespaceIn(u string) string {
	_, rest, found := strings.Cut(u, "/namespaces/")
	namespace, _, inside := strings.Cut(rest, "/")
	if !found || !inside {
		return ""
	}
	return namespace
}
