package codec

import (
	"encoding/hex"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// Decode returns the object of the face that body encodes, and warnings about fields that were dropped because the type
// has no such field or because they stand there twice. validation is a fieldValidation directive: Strict makes an error
// of them, Ignore says nothing; empty means Warn. A body without kind and apiVersion is taken as the face's.
func Decode(f *catalog.Face, body []byte, mediaType, validation string) (runtime.Object, []string, error) {
	if _, ok := readers[mediaType]; !ok || mediaType == Protobuf && !HasProtobuf(f) {
		return nil, nil, unsupportedMedia(bodyTypes(f))
	}
	obj, got, violations, err := decode(f, body, mediaType, validation)
	if err == nil && validation == metav1.FieldValidationStrict && len(violations) > 0 {
		err = runtime.NewStrictDecodingError(violations)
	}
	if err != nil {
		return nil, nil, badBody(err, got, f, body)
	}
	return obj, warn(violations), nil
}

// decode returns the object in body, the kind that body names, and what a strict reader objects to. Its errors are not
// yet ones for clients.
func decode(f *catalog.Face, body []byte, mediaType, validation string) (
	obj runtime.Object, got *schema.GroupVersionKind, violations []error, err error,
) {
	decoder := readers[mediaType].strict
	if validation == metav1.FieldValidationIgnore {
		decoder = readers[mediaType].lax
	}
	into, err := New(f)
	if err != nil {
		return nil, nil, nil, apierrors.NewInternalError(err)
	}
	want := f.GVK()
	obj, got, err = decoder.Decode(body, &want, into)
	if strict, ok := runtime.AsStrictDecodingError(err); ok && obj != nil {
		violations, err = strict.Errors(), nil
	}
	if err == nil {
		err = sameKind(obj, got, f)
	}
	if err != nil {
		return nil, got, nil, err
	}
	u, custom := obj.(*unstructured.Unstructured)
	if !custom {
		obj.GetObjectKind().SetGroupVersionKind(f.GVK())
		return obj, got, violations, nil
	}
	unknown, err := coerceMetadata(u)
	if err != nil || validation == metav1.FieldValidationIgnore {
		return u, got, nil, err
	}
	return u, got, append(violations, unknown...), nil
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

// HasProtobuf tells whether objects of the face can be read from and written as protobuf.
func HasProtobuf(f *catalog.Face) bool {
	return !f.Resource.Custom && f.Resource.Group != "apiextensions.k8s.io"
}

func bodyTypes(f *catalog.Face) []string {
	if HasProtobuf(f) {
		return MediaTypes()
	}
	return []string{JSON, YAML}
}

// sameKind holds the kind of a body against the face's, in the words of kube-apiserver.
func sameKind(obj runtime.Object, got *schema.GroupVersionKind, f *catalog.Face) error {
	want := f.GVK()
	switch {
	case got == nil || *got == want:
		return nil
	case got.GroupVersion() != want.GroupVersion() && (got.Kind == want.Kind || f.Resource.Custom):
		return apierrors.NewBadRequest(fmt.Sprintf(
			"the API version in the data (%s) does not match the expected API version (%s)", got.GroupVersion(), want.GroupVersion()))
	case f.Resource.Custom:
		return wrongKind(obj, got, want.Kind)
	default:
		return fmt.Errorf("converting (%s.%s) to (%s.%s): unknown conversion", got.Version, got.Kind, want.Version, want.Kind)
	}
}

func wrongKind(obj runtime.Object, got *schema.GroupVersionKind, want string) error {
	name := ""
	if m, err := meta.Accessor(obj); err == nil {
		name = m.GetName()
	}
	return apierrors.NewInvalid(got.GroupKind(), name, field.ErrorList{
		field.Invalid(field.NewPath("kind"), got.Kind, "must be "+want),
	})
}

// badBody wraps a decoding error as kube-apiserver does.
func badBody(err error, got *schema.GroupVersionKind, f *catalog.Face, body []byte) error {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return err
	}
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
