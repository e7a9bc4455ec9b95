package embedded_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDeleteCollectionKeepsToTheLimit holds that a deletion of many deletes what a list with its options has, and no more.
func TestDeleteCollectionKeepsToTheLimit(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		r.must(http.MethodPost, configMaps, "", `{"metadata":{"name":"`+name+`"}}`)
	}
	left := func(want string) {
		t.Helper()
		var names []string
		for o := range r.log("", "v1", "configmaps").Snapshot().All("") {
			names = append(names, o.Name())
		}
		if got := strings.Join(names, ""); got != want {
			t.Fatalf("left are %q, want %q", got, want)
		}
	}
	got := r.do(http.MethodDelete, configMaps+"?limit=2&watch=true", "", "")
	var first metav1.PartialObjectMetadataList
	if err := json.Unmarshal([]byte(got.body), &first); err != nil || got.code != http.StatusOK {
		t.Fatalf("%d %s: %v", got.code, got.body, err)
	}
	if first.Continue == "" || first.RemainingItemCount == nil || *first.RemainingItemCount != 3 || len(first.Items) != 2 {
		t.Errorf("first page: %s", got.body)
	}
	left("cde")
	r.must(http.MethodDelete, configMaps+"/c", "", "") // behind the back of who goes on
	r.must(http.MethodDelete, configMaps+"?limit=1&continue="+url.QueryEscape(first.Continue), "", "")
	left("e")
	r.must(http.MethodDelete, configMaps+"?limit=1&dryRun=All", "", "")
	left("e")
}
