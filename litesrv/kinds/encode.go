package kinds

import (
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"
)

// ErrUnknownKind is returned for a kind that the table does not have.
var ErrUnknownKind = errors.New("no Go type for this kind")

// ErrUnknownFields is returned for JSON that has more in it than the Go type: it comes from a newer API server.
var ErrUnknownFields = errors.New("the Go type does not have all fields")

// Known tells whether the table has a kind. apiVersion is group/version, or the version of a core kind.
func Known(apiVersion, kind string) bool {
	_, ok := table[name{apiVersion, kind}]
	return ok
}

// Encode returns the protobuf message of an object of a kind, without the envelope, from its JSON. The result is as long
// as its capacity. It fails when that would not hold all of the JSON: with ErrUnknownKind, ErrUnknownFields, or an error
// of JSON.
func Encode(apiVersion, kind string, raw []byte) ([]byte, error) {
	construct, ok := table[name{apiVersion, kind}]
	if !ok {
		return nil, fmt.Errorf("%s %s: %w", apiVersion, kind, ErrUnknownKind)
	}
	o := construct()
	if err := encodable(raw, o); err != nil {
		return nil, fmt.Errorf("%s %s: %w", apiVersion, kind, err)
	}
	return marshal(o)
}

// EncodePartial returns the protobuf message of a PartialObjectMetadata, which holds the metadata of an object of any
// kind, from the JSON of a PartialObjectMetadata. It fails as Encode does.
func EncodePartial(raw []byte) ([]byte, error) {
	o := &metav1.PartialObjectMetadata{}
	if err := encodable(raw, o); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	return marshal(o)
}

// encodable decodes raw into o. What is there twice isn't looked for, which would take half as long again: it reads as it
// would for the clients that get the JSON.
func encodable(raw []byte, o object) error {
	surplus, err := json.UnmarshalStrict(raw, o, json.DisallowUnknownFields)
	if err != nil {
		return err
	}
	if len(surplus) > 0 {
		return fmt.Errorf("%w: %w", ErrUnknownFields, surplus[0])
	}
	return nil
}

func marshal(o object) ([]byte, error) {
	out := make([]byte, o.Size())
	n, err := o.MarshalToSizedBuffer(out)
	if err != nil {
		return nil, err
	}
	return out[len(out)-n:], nil
}
