package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

const (
	mediaJSON = "application/json"
	// maxDocument bounds an API document. The largest, a legacy OpenAPI document, has a few MiB.
	maxDocument = 64 << 20
	// requestTimeout bounds every request that is neither a watch nor a list of objects.
	requestTimeout = 30 * time.Second
)

// api sends requests to the API server. It is immutable.
type api struct {
	config *rest.Config
	http   *http.Client
	base   *url.URL // of the server, with the path prefix it may have
}

func newAPI(config *rest.Config) (*api, error) {
	c := rest.CopyConfig(config)
	c.Timeout = 0
	c.NegotiatedSerializer = statusCodecs()
	c.ContentType, c.AcceptContentTypes = mediaJSON, mediaJSON
	if c.UserAgent == "" {
		c.UserAgent = rest.DefaultKubernetesUserAgent()
	}
	if c.QPS == 0 {
		c.QPS = -1 // the reflectors back off, and the server has its own fairness
	}
	client, err := rest.HTTPClientFor(c)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	base, _, err := rest.DefaultServerUrlFor(c)
	if err != nil {
		return nil, fmt.Errorf("kube: %w", err)
	}
	return &api{config: c, http: client, base: base}, nil
}

// statusCodecs know Status and nothing else: errors are all that client-go decodes for this package.
func statusCodecs() runtime.NegotiatedSerializer {
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	return serializer.NewCodecFactory(scheme).WithoutConversion()
}

// client returns a client for the resources of a group version.
func (a *api) client(gv schema.GroupVersion) (rest.Interface, error) {
	c := rest.CopyConfig(a.config)
	c.GroupVersion = &gv
	c.APIPath = "/apis"
	if gv.Group == "" {
		c.APIPath = "/api"
	}
	client, err := rest.RESTClientForConfigAndClient(c, a.http)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", gv, err)
	}
	return client, nil
}

// answer is what the server said to a GET.
type answer struct {
	status    int
	mediaType string
	etag      string
	body      []byte
}

// address returns the URL of a path, which may have a query.
func (a *api) address(path string) string {
	path, query, _ := strings.Cut(path, "?")
	u := a.base.JoinPath(path)
	u.RawQuery = query
	return u.String()
}

// get fetches a path. Only what keeps an answer from coming is an error; the caller looks at the status.
func (a *api) get(ctx context.Context, path, accept, etag string) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.address(path), nil)
	if err != nil {
		return answer{}, fmt.Errorf("get %s: %w", path, err)
	}
	req.Header.Set("Accept", accept)
	if etag != "" {
		req.Header.Set("If-None-Match", etag)
	}
	resp, err := a.http.Do(req)
	if err != nil {
		return answer{}, fmt.Errorf("get %s: %w", path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	if err != nil {
		return answer{}, fmt.Errorf("get %s: %w", path, err)
	}
	if len(body) > maxDocument {
		return answer{}, fmt.Errorf("get %s: the answer has more than %d bytes", path, maxDocument)
	}
	return answer{
		status: resp.StatusCode, mediaType: resp.Header.Get("Content-Type"), etag: resp.Header.Get("ETag"), body: body,
	}, nil
}

// failure returns the error that an answer other than 200 stands for.
func (a answer) failure(path string) error {
	var status metav1.Status
	if json.Unmarshal(a.body, &status) == nil && status.Status == metav1.StatusFailure {
		return fmt.Errorf("get %s: %w", path, &apierrors.StatusError{ErrStatus: status})
	}
	text := string(a.body[:min(len(a.body), 500)])
	return fmt.Errorf("get %s: %w", path,
		apierrors.NewGenericServerResponse(a.status, http.MethodGet, schema.GroupResource{}, "", text, 0, true))
}
