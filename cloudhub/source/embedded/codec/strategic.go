package codec

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/catalog"
)

// strategic returns current after a strategic merge patch, whose rules come from the tags of the face's Go type.
func strategic(f *catalog.Face, current, patch []byte, validation string) (runtime.Object, []string, error) {
	obj, err := catalog.Scheme.New(f.GVK())
	if err != nil {
		return nil, nil, apierrors.NewInternalError(err)
	}
	patchMap, dups, err := decodePatchMap(patch, validation)
	if err != nil {
		return nil, nil, err
	}
	shown := fmt.Sprintf("%+v", patchMap) // merging changes the map
	merged, err := mergeMaps(current, patchMap, obj)
	if err != nil {
		return nil, nil, err
	}
	strict := validation != metav1.FieldValidationIgnore
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(merged, obj, strict)
	found, ok := runtime.AsStrictDecodingError(err)
	if err != nil && !ok {
		return nil, nil, invalidPatch(shown, err)
	}
	if ok {
		dups = append(dups, found.Errors()...)
	}
	if len(dups) > 0 && validation == metav1.FieldValidationStrict {
		return nil, nil, invalidPatch(shown, runtime.NewStrictDecodingError(dups))
	}
	if got := obj.GetObjectKind().GroupVersionKind(); got != f.GVK() {
		return nil, nil, invalidPatch(shown, sameKind(obj, &got, f))
	}
	return obj, warn(dups), nil
}

func decodePatchMap(patch []byte, validation string) (m map[string]any, dups []error, err error) {
	if validation == metav1.FieldValidationIgnore {
		err = kjson.UnmarshalCaseSensitivePreserveInts(patch, &m)
	} else {
		dups, err = kjson.UnmarshalStrict(patch, &m)
	}
	if err != nil {
		return nil, nil, apierrors.NewBadRequest(err.Error())
	}
	if m == nil {
		m = map[string]any{} // the patch "null" changes nothing
	}
	return m, dups, nil
}

func mergeMaps(current []byte, patch map[string]any, typ runtime.Object) (map[string]any, error) {
	var m map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(current, &m); err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	merged, err := strategicpatch.StrategicMergeMapPatch(m, patch, typ)
	if err != nil {
		return nil, strategicError(err)
	}
	return merged, nil
}

// strategicError gives the errors of a merge the codes that kube-apiserver gives them.
func strategicError(err error) error {
	for _, bad := range []error{
		mergepatch.ErrBadJSONDoc, mergepatch.ErrBadPatchFormatForPrimitiveList, mergepatch.ErrBadPatchFormatForRetainKeys,
		mergepatch.ErrBadPatchFormatForSetElementOrderList, mergepatch.ErrUnsupportedStrategicMergePatchFormat,
	} {
		if errors.Is(err, bad) {
			return apierrors.NewBadRequest(err.Error())
		}
	}
	if errors.Is(err, mergepatch.ErrNoListOfLists) || errors.Is(err, mergepatch.ErrPatchContentNotMatchRetainKeys) {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "",
			err.Error(), 0, false)
	}
	// Anything else is a patch that doesn't fit the type. kube-apiserver answers 500 without a reason.
	return apierrors.NewBadRequest(err.Error())
}
