package litesrv

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

// index answers with the paths that can be had here (apiserver pkg/server/routes/index.go): of documents those that are
// held, without the parts of OpenAPI.
func (s *Server) index(w http.ResponseWriter, docs *apidoc.Set) {
	var paths []string
	for _, d := range docs.All() {
		if !strings.HasPrefix(d.Path, openAPIv3+"/") {
			paths = append(paths, d.Path)
		}
		if d.Path == "/apis" || d.Path == openAPIv3 {
			paths = append(paths, d.Path+"/") // which stand for what is below
		}
	}
	for _, root := range healthRoots {
		paths = append(paths, "/"+root)
		for _, c := range s.checks(root) {
			paths = append(paths, "/"+root+"/"+c.name)
		}
	}
	slices.Sort(paths)
	text, err := json.MarshalIndent(metav1.RootPaths{Paths: slices.Compact(paths)}, "", "  ")
	if err != nil {
		panic(err) // texts can be encoded
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text) // there is no one to tell
}
