package codec

import (
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	kjson "sigs.k8s.io/json"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// maxOperations bounds the operations of one JSON patch, as kube-apiserver does.
const maxOperations = 10000

// PatchTypes returns the media types of patches that a face accepts. Server-side apply is not among them: the embedded
// cloud keeps no field managers.
func PatchTypes(f *catalog.Face) []string {
	accepted := []string{string(types.JSONPatchType), string(types.MergePatchType)}
	if !f.Resource.Custom {
		accepted = append(accepted, string(types.StrategicMergePatchType))
	}
	return accepted
}

// CheckPatch fails with a 415 that names the accepted types when the face can't be patched with mediaType.
func CheckPatch(f *catalog.Face, mediaType string) error {
	accepted := PatchTypes(f)
	for _, t := range accepted {
		if t == mediaType {
			return nil
		}
	}
	return unsupportedMedia(accepted)
}

// Patch returns current, which is the JSON of an object of the face, after a patch, and warnings about fields of the
// result that were dropped. validation is as for Decode.
func Patch(f *catalog.Face, current []byte, mediaType string, patch []byte, validation string) (runtime.Object, []string, error) {
	if types.PatchType(mediaType) == types.StrategicMergePatchType {
		return strategic(f, current, patch, validation)
	}
	patched, violations, err := apply(current, types.PatchType(mediaType), patch, validation)
	if err != nil {
		return nil, nil, err
	}
	obj, _, found, err := decode(f, patched, JSON, validation)
	violations = append(violations, found...)
	if err == nil && validation == metav1.FieldValidationStrict && len(violations) > 0 {
		err = runtime.NewStrictDecodingError(violations)
	}
	if err != nil {
		return nil, nil, invalidPatch(string(patched), err)
	}
	return obj, warn(violations), nil
}

// apply returns the JSON after a JSON patch or merge patch, and the fields that stand twice in the patch.
func apply(current []byte, t types.PatchType, patch []byte, validation string) (patched []byte, dups []error, err error) {
	if validation != metav1.FieldValidationIgnore {
		if dups, err = duplicates(t, patch); err != nil {
			return nil, nil, err
		}
	}
	if t == types.JSONPatchType {
		patched, err = applyJSON(current, patch)
		return patched, dups, err
	}
	patched, err = jsonpatch.MergePatch(current, patch)
	if errors.Is(err, jsonpatch.ErrBadJSONPatch) {
		err = apierrors.NewBadRequest("invalid JSON patch")
	}
	return patched, dups, err
}

// operation is what a JSON patch may have, for finding what it may not have.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	From  string `json:"from"`
	Value any    `json:"value"`
}

func duplicates(t types.PatchType, patch []byte) ([]error, error) {
	if t == types.JSONPatchType {
		var ops []operation
		dups, err := kjson.UnmarshalStrict(patch, &ops)
		if err != nil {
			return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
		}
		for i := range dups {
			dups[i] = fmt.Errorf("json patch %w", dups[i])
		}
		return dups, nil
	}
	var m map[string]any
	dups, err := kjson.UnmarshalStrict(patch, &m)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return dups, nil
}

func applyJSON(current, patch []byte) ([]byte, error) {
	ops, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if len(ops) > maxOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
			"The allowed maximum operations in a JSON patch is %d, got %d", maxOperations, len(ops)))
	}
	patched, err := ops.Apply(current)
	if err != nil {
		return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "",
			err.Error(), 0, false)
	}
	return patched, nil
}

// invalidPatch returns the 422 about a patch, or a patched object, that is no object of the kind.
func invalidPatch(value string, err error) error {
	return apierrors.NewInvalid(schema.GroupKind{}, "", field.ErrorList{field.Invalid(field.NewPath("patch"), value, err.Error())})
}
