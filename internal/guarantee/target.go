package guarantee

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Target is where a recorder sends its requests.
type Target struct {
	Client *http.Client // without a timeout, or watches end with it
	URL    string       // of the collection, "http://127.0.0.1:8001/api/v1/namespaces/x/configmaps"
	Query  url.Values   // selectors, sent with every list and watch
	Header http.Header  // sent with every request; nil = none
}

// StatusError is an answer other than 2xx.
type StatusError struct {
	Method, URL string
	Code        int    // HTTP status
	Body        string // at most 4 KiB of it
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %d %s", e.Method, e.URL, e.Code, e.Body)
}

// get sends a GET with the target's query and the parameters given. The caller closes the body.
// An answer other than 200 is a *StatusError.
func (t *Target) get(ctx context.Context, path string, parameters url.Values) (*http.Response, error) {
	query := url.Values{}
	for _, values := range []url.Values{t.Query, parameters} {
		for name, value := range values {
			query[name] = value
		}
	}
	u := t.URL + path
	if len(query) > 0 {
		u += "?" + query.Encode()
	}
	return send(ctx, t.Client, http.MethodGet, u, t.Header, nil)
}

// send makes a request; an answer other than 2xx is a *StatusError.
func send(ctx context.Context, client *http.Client, method, u string, header http.Header, body io.Reader) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, u, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, u, err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request) //nolint:bodyclose // closed by the caller, or below
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, u, err)
	}
	if response.StatusCode/100 == 2 {
		return response, nil
	}
	defer func() { _ = response.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(response.Body, 4<<10))
	return nil, &StatusError{Method: method, URL: u, Code: response.StatusCode, Body: string(text)}
}
