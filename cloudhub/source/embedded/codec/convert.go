package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// DecodeOptions reads the body of a DELETE. Clients send it with the version of whatever they delete.
func DecodeOptions(body []byte, mediaType string, into *metav1.DeleteOptions) error {
	var kind string
	var err error
	switch mediaType {
	case Protobuf:
		kind, err = optionsFromProtobuf(body, into)
	case YAML:
		if body, err = yaml.YAMLToJSON(body); err == nil {
			kind, err = optionsFromJSON(body, into)
		}
	case JSON:
		kind, err = optionsFromJSON(body, into)
	default:
		return unsupportedMedia(MediaTypes())
	}
	if err == nil && kind != "" && kind != "DeleteOptions" {
		err = errors.New("decoded object cannot be converted to DeleteOptions")
	}
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return nil
}

func optionsFromJSON(body []byte, into *metav1.DeleteOptions) (kind string, err error) {
	err = kjson.UnmarshalCaseSensitivePreserveInts(body, into)
	return into.Kind, err
}

// envelope begins every protobuf body.
const envelope = "k8s\x00"

func optionsFromProtobuf(body []byte, into *metav1.DeleteOptions) (kind string, err error) {
	rest, ok := bytes.CutPrefix(body, []byte(envelope))
	if !ok {
		return "", errors.New("provided data does not appear to be a protobuf message")
	}
	var u runtime.Unknown
	if err := u.Unmarshal(rest); err != nil {
		return "", err
	}
	return u.Kind, into.Unmarshal(u.Raw)
}

// PartialKind is what Partial returns.
var PartialKind = metav1.SchemeGroupVersion.WithKind("PartialObjectMetadata")

// Partial returns the JSON of the metadata alone of the object whose JSON is raw.
func Partial(raw []byte) ([]byte, error) {
	var p metav1.PartialObjectMetadata
	if err := json.Unmarshal(raw, &p); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	p.SetGroupVersionKind(PartialKind)
	return json.Marshal(&p)
}

// ToProtobuf returns the protobuf encoding, in its envelope, of an object of a built-in kind whose JSON is raw.
func ToProtobuf(gvk schema.GroupVersionKind, raw []byte) ([]byte, error) {
	obj, err := catalog.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, obj); err != nil {
		return nil, fmt.Errorf("%s: %w", gvk.Kind, err)
	}
	var out bytes.Buffer
	if err := protobufSerializer.Encode(obj, &out); err != nil {
		return nil, fmt.Errorf("%s: %w", gvk.Kind, err)
	}
	return out.Bytes(), nil
}
