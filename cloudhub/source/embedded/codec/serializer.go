// Package codec turns request bodies into objects of the embedded cloud, objects into the bytes that are stored and
// served, and patches into changed objects. It follows k8s.io/apiserver's handlers in what it accepts and in the words
// of its errors, which are all API Statuses.
package codec

import (
	"mime"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// The media types of bodies.
const (
	JSON     = runtime.ContentTypeJSON
	YAML     = runtime.ContentTypeYAML
	Protobuf = runtime.ContentTypeProtobuf
)

// MediaTypes returns the media types that request bodies may have, in the order of error messages.
func MediaTypes() []string { return []string{JSON, YAML, Protobuf} }

// reader decodes one media type.
type reader struct{ lax, strict runtime.Decoder }

// readers are never changed.
var readers = map[string]reader{
	JSON:     {jsonSerializer(json.SerializerOptions{}), jsonSerializer(json.SerializerOptions{Strict: true})},
	YAML:     {jsonSerializer(json.SerializerOptions{Yaml: true}), jsonSerializer(json.SerializerOptions{Yaml: true, Strict: true})},
	Protobuf: {protobufSerializer, protobufSerializer}, // fields unknown to it are part of the format
}

var protobufSerializer = protobuf.NewSerializer(catalog.Scheme, catalog.Scheme)

func jsonSerializer(o json.SerializerOptions) runtime.Serializer {
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, catalog.Scheme, catalog.Scheme, o)
}

// MediaType returns the media type of a Content-Type header without its parameters. An empty header means JSON.
func MediaType(contentType string) string {
	if contentType == "" {
		return JSON
	}
	m, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return contentType
	}
	return m
}
