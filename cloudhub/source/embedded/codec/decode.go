package codec

import (
	"encoding/hex"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// Decode returns the object of the face that body encodes, and warnings about fields that were dropped because the type
// has no such field or because they stand there twice. validation is a fieldValidation directive: Strict makes an error
// of them, Ignore says nothing; empty means Warn. A body without kind and apiVersion is taken as the face's.
func Decode(f *catalog.Face, body []byte, mediaType, validation string) (runtime.Object, []string, error) {
	r, ok := readers[mediaType]
	if !ok || mediaType == Protobuf && !hasProtobuf(f) {
		return nil, nil, unsupportedMedia(bodyTypes(f))
	}
	decoder := r.strict
	if validation == metav1.FieldValidationIgnore {
		decoder = r.lax
	}
	into, err := New(f)
	if err != nil {
		return nil, nil, apierrors.NewInternalError(err)
	}
	want := f.GVK()
	obj, got, err := decoder.Decode(body, &want, into)
	var warnings []string
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil && validation != metav1.FieldValidationStrict {
		warnings, err = strictWarnings(strict.Errors()), nil
	}
	if err == nil {
		err = sameKind(obj, got, f)
	}
	if err != nil {
		return nil, nil, badBody(err, got, f, body)
	}
	if obj, warnings, err = finish(f, obj, validation, warnings); err != nil {
		return nil, nil, badBody(err, got, f, body)
	}
	return obj, warnings, nil
}

// DecodeStored returns the object of the face that raw, as Encode made it, encodes.
func DecodeStored(f *catalog.Face, raw []byte) (runtime.Object, error) {
	into, err := New(f)
	if err != nil {
		return nil, err
	}
	want := f.GVK()
	obj, _, err := readers[JSON].lax.Decode(raw, &want, into)
	if err != nil {
		return nil, fmt.Errorf("decode stored %s: %w", f.Resource.GroupResource(), err)
	}
	return obj, nil
}

// New returns an empty object of the face.
func New(f *catalog.Face) (runtime.Object, error) {
	if f.Resource.Custom {
		return &unstructured.Unstructured{}, nil
	}
	return catalog.Scheme.New(f.GVK())
}

// hasProtobuf tells whether the face's Go type can be read from protobuf.
func hasProtobuf(f *catalog.Face) bool {
	return !f.Resource.Custom && f.Resource.Group != "apiextensions.k8s.io"
}

func bodyTypes(f *catalog.Face) []string {
	if hasProtobuf(f) {
		return MediaTypes()
	}
	return []string{JSON, YAML}
}

// finish sets what decoding left open: kind and apiVersion, and the metadata of a custom resource.
func finish(f *catalog.Face, obj runtime.Object, validation string, warnings []string) (runtime.Object, []string, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		obj.GetObjectKind().SetGroupVersionKind(f.GVK())
		return obj, warnings, nil
	}
	more, err := coerceMetadata(u, validation)
	if err != nil {
		return nil, nil, err
	}
	return u, append(warnings, more...), nil
}

// sameKind holds the kind of a body against the face's, in the words that kube-apiserver's conversion finds.
func sameKind(obj runtime.Object, got *schema.GroupVersionKind, f *catalog.Face) error {
	want := f.GVK()
	if got == nil || *got == want {
		return nil
	}
	if f.Resource.Custom {
		return fmt.Errorf("no kind %q is registered for version %q", got.Kind, got.GroupVersion())
	}
	if got.GroupVersion() != want.GroupVersion() && got.Kind == want.Kind {
		return fmt.Errorf("the API version in the data (%s) does not match the expected API version (%s)",
			got.GroupVersion(), want.GroupVersion())
	}
	return fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", got.Version, got.Kind, want.Version, want.Kind)
}

// badBody wraps a decoding error as kube-apiserver does.
func badBody(err error, got *schema.GroupVersionKind, f *catalog.Face, body []byte) error {
	if got != nil && got.Kind != "" {
		return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %v",
			got.Kind, got.Version, f.Resource.Kind, err))
	}
	return apierrors.NewBadRequest(fmt.Sprintf("the object provided is unrecognized (must be of type %s): %v (%s)",
		f.Resource.Kind, err, summary(body)))
}

// summary returns the beginning of a body that could not be read, for an error message.
func summary(body []byte) string {
	const most = 30
	if len(body) == 0 {
		return "<empty>"
	}
	text := func(b []byte) string { return string(b) }
	if body[0] != '{' {
		text = hex.EncodeToString
	}
	if len(body) > most {
		return text(body[:most]) + " ..."
	}
	return text(body)
}
