package kube

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// serveOpenAPILocked answers from f.specs, whose keys are paths below /openapi/. The protobuf form of a document is its
// text behind a mark.
func (f *fakeAPI) serveOpenAPILocked(w http.ResponseWriter, req *http.Request) {
	name := strings.TrimPrefix(req.URL.Path, "/openapi/")
	if name == "v3" && f.specs != nil {
		reply(w, f.openAPIIndexLocked())
		if f.afterIndex != nil {
			f.afterIndex()
		}
		return
	}
	text, ok := f.specs[name]
	if !ok {
		http.NotFound(w, req)
		return
	}
	hash := openAPIHash(text)
	if asked := req.URL.Query().Get("hash"); asked != "" && asked != hash {
		http.Redirect(w, req, req.URL.Path+"?hash="+hash, http.StatusMovedPermanently)
		return
	}
	w.Header().Set("ETag", `"`+hash+`"`)
	if req.Header.Get("If-None-Match") == `"`+hash+`"` {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if strings.Contains(req.Header.Get("Accept"), "protobuf") {
		w.Header().Set("Content-Type", "application/x.v1.0+protobuf")
		text = "protobuf:" + text
	} else {
		w.Header().Set("Content-Type", mediaJSON)
	}
	_, _ = w.Write([]byte(text))
}

func openAPIHash(text string) string { return fmt.Sprintf("%X", sha256.Sum256([]byte(text))) }

func (f *fakeAPI) openAPIIndexLocked() string {
	paths := map[string]map[string]string{}
	for name, text := range f.specs {
		if key, ok := strings.CutPrefix(name, "v3/"); ok {
			paths[key] = map[string]string{"serverRelativeURL": "/openapi/" + name + "?hash=" + openAPIHash(text)}
		}
	}
	b, _ := json.Marshal(map[string]any{"paths": paths})
	return string(b)
}
