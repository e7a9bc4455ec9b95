package embedded_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded"
)

var (
	configMapsResource = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	podsResource       = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// post sends a POST to a handler.
func post(t *testing.T, h http.Handler, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
	return w
}

// victim creates config maps from several goroutines and prints the name and revision of each that was answered.
func victim(path string) {
	cloud, err := embedded.Open(path, embedded.Options{})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	api := embedded.NewAPI(cloud, http.NotFoundHandler())
	var mu sync.Mutex // one line at a time
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for {
				w := httptest.NewRecorder()
				api.ServeHTTP(w, httptest.NewRequest(http.MethodPost, configMaps, strings.NewReader(`{"metadata":{"generateName":"v-"}}`)))
				var o object
				_ = json.Unmarshal(w.Body.Bytes(), &o)
				mu.Lock()
				_, _ = fmt.Fprintln(os.Stdout, o.Metadata.Name, o.Metadata.ResourceVersion)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}
