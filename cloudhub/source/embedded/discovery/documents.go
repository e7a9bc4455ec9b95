package discovery

import (
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"k8s.io/apimachinery/pkg/version"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
	"github.com/tombolo-sync/tombolo/internal/apidoc"
)

const mediaJSON = "application/json"

// Documents returns all documents about an API that serves kinds. The same kinds give the same documents.
func Documents(kinds []*catalog.Kind) []apidoc.Document {
	gs := groups(kinds)
	docs := []apidoc.Document{versionDocument()}
	docs = append(docs, aggregated(gs)...)
	docs = append(docs, legacy(gs)...)
	return append(docs, openAPI(gs)...)
}

// Version is what the embedded cloud calls itself: the Kubernetes release whose API it follows, and its own mark.
const Version = "v1.37.2+tombolo-embedded"

func versionDocument() apidoc.Document {
	body, err := json.MarshalIndent(version.Info{
		Major: "1", Minor: "37",
		EmulationMajor: "1", EmulationMinor: "37",
		MinCompatibilityMajor: "1", MinCompatibilityMinor: "36",
		GitVersion:   Version,
		GitTreeState: "clean",
		BuildDate:    "1970-01-01T00:00:00Z",
		GoVersion:    runtime.Version(),
		Compiler:     runtime.Compiler,
		Platform:     runtime.GOOS + "/" + runtime.GOARCH,
	}, "", "  ")
	return apidoc.Document{Path: "/version", MediaType: mediaJSON, Body: apidoc.Pack(must(body, err))}
}

// document returns a document in compact JSON, with the newline that kube-apiserver ends it with.
func document(path string, v any) apidoc.Document {
	return apidoc.Document{Path: path, MediaType: mediaJSON, Body: apidoc.Pack(encode(v))}
}

// tagged returns document with an ETag, and the hash that the ETag is.
func tagged(path string, v any) (d apidoc.Document, hash string) {
	text := encode(v)
	hash = digest(text)
	return apidoc.Document{Path: path, MediaType: mediaJSON, ETag: quote(hash), Body: apidoc.Pack(text)}, hash
}

func encode(v any) []byte {
	body, err := json.Marshal(v)
	return append(must(body, err), '\n')
}

// must returns body; v was built here and can be encoded.
func must(body []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return body
}

// digest returns what kube-apiserver uses as an ETag: the SHA-512 in upper case hexadecimal.
func digest(body []byte) string { return strings.ToUpper(fmt.Sprintf("%x", sha512.Sum512(body))) }

func quote(s string) string { return `"` + s + `"` }
