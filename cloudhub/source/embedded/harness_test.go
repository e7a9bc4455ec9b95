package embedded_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// rig is a cloud with its API on a test server.
type rig struct {
	*testing.T
	path   string
	cloud  *embedded.Cloud
	server *httptest.Server
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{T: t, path: filepath.Join(t.TempDir(), "cloud.db")}
	r.open()
	t.Cleanup(r.close)
	return r
}

func (r *rig) open() {
	r.Helper()
	cloud, err := embedded.Open(r.path, embedded.Options{})
	if err != nil {
		r.Fatal(err)
	}
	r.cloud = cloud
	r.server = httptest.NewServer(embedded.NewAPI(cloud, fakeReads{cloud}))
}

// close ends the cloud and holds its file against bbolt's own check.
func (r *rig) close() {
	r.Helper()
	r.server.Close()
	if err := r.cloud.Close(); err != nil {
		r.Error(err)
	}
	db, err := bolt.Open(r.path, 0o600, nil)
	if err != nil {
		r.Fatal(err)
	}
	defer db.Close()
	err = db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			r.Errorf("the file is damaged: %v", err)
		}
		return nil
	})
	if err != nil {
		r.Error(err)
	}
}

func (r *rig) reopen() {
	r.Helper()
	r.close()
	r.open()
}

func (r *rig) config(contentType string) *rest.Config {
	return &rest.Config{Host: r.server.URL, QPS: -1, ContentConfig: rest.ContentConfig{
		ContentType: contentType, AcceptContentTypes: contentType + ",application/json",
	}}
}

func (r *rig) clientset(contentType string) *kubernetes.Clientset {
	r.Helper()
	c, err := kubernetes.NewForConfig(r.config(contentType))
	if err != nil {
		r.Fatal(err)
	}
	return c
}

func (r *rig) dynamic() *dynamic.DynamicClient {
	r.Helper()
	c, err := dynamic.NewForConfig(r.config("application/json"))
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// reply is what a plain HTTP request got.
type reply struct {
	code   int
	header http.Header
	body   string
}

// do sends a request; contentType "" means JSON.
func (r *rig) do(method, path, contentType, body string, header ...string) reply {
	r.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, r.server.URL+path, strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	if contentType == "" {
		contentType = "application/json"
	}
	req.Header.Set("Content-Type", contentType)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		r.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, strings.TrimSuffix(string(raw), "\n")}
}

// must is do for a request that has to succeed; it returns the answer as an object.
func (r *rig) must(method, path, contentType, body string) object {
	r.Helper()
	got := r.do(method, path, contentType, body)
	if got.code > 299 {
		r.Fatalf("%s %s: %d %s", method, path, got.code, got.body)
	}
	var o object
	if err := json.Unmarshal([]byte(got.body), &o); err != nil {
		r.Fatalf("%s %s: %v: %s", method, path, err, got.body)
	}
	return o
}

// fails holds a request to be refused with this code and message.
func (r *rig) fails(method, path, contentType, body string, code int, message string) {
	r.Helper()
	got := r.do(method, path, contentType, body)
	var s metav1.Status
	if err := json.Unmarshal([]byte(got.body), &s); err != nil {
		r.Fatalf("%s %s: no Status: %s", method, path, got.body)
	}
	if got.code != code || int(s.Code) != code || s.Message != message {
		r.Errorf("%s %s\ngot  %d %s\nwant %d %s", method, path, got.code, s.Message, code, message)
	}
}

// object is a Kubernetes object as far as tests look at it.
type object struct {
	Kind, APIVersion string
	Metadata         metav1.ObjectMeta
	Spec             map[string]any
	Status           any
	Data             map[string]string
	Items            []object
	Details          *metav1.StatusDetails
}

func (r *rig) log(group, version, resource string) *watchlog.Log {
	r.Helper()
	l, err := r.cloud.Log(schema.GroupVersionResource{Group: group, Version: version, Resource: resource})
	if err != nil {
		r.Fatal(err)
	}
	return l
}

// events returns the events of a log behind a position, as "TYPE key@rev".
func (r *rig) events(l *watchlog.Log, after uint64) []*watchlog.Event {
	r.Helper()
	reader, err := l.NewReader(after, make(watchlog.Signal, 1))
	if err != nil {
		r.Fatal(err)
	}
	defer reader.Close()
	var all []*watchlog.Event
	for {
		page, err := reader.Read(make([]*watchlog.Event, 0, 64))
		if err != nil {
			r.Fatal(err)
		}
		all = append(all, page.Events...)
		if !page.More {
			return all
		}
	}
}

const (
	mergePatch     = "application/merge-patch+json"
	jsonPatch      = "application/json-patch+json"
	strategicPatch = "application/strategic-merge-patch+json"
)
