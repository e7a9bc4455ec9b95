package embedded

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
)

// maxBody is the most that a request may carry, in bytes, as in kube-apiserver.
const maxBody = 3 << 20

// request is a request to change something.
type request struct {
	http   *http.Request
	target target
	face   face // as it was when the request came
	body   []byte
	reads  http.Handler // what answers a GET
}

func (r *request) mediaType() string { return codec.MediaType(r.http.Header.Get("Content-Type")) }

// at returns what the request is about in the resources that t has. They may have changed since the request came.
func (r *request) at(t *tx) (place, error) {
	f, ok := t.resources.byGVR[r.target.resource]
	if !ok {
		return place{}, noResource()
	}
	return place{face: f, namespace: r.target.namespace, name: r.target.name, sub: r.target.sub}, nil
}

// readBody returns the body of a request, or a 413.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("limit is %d", maxBody))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("read the body: %v", err))
	}
	return body, nil
}

// mode is how a write is carried out.
type mode struct {
	dry        bool
	validation string // a fieldValidation directive
}

func (r *request) createMode() (mode, error) {
	var o metav1.CreateOptions
	err := r.options("CreateOptions", func(q *url.Values) error { return metav1.Convert_url_Values_To_v1_CreateOptions(q, &o, nil) },
		func() field.ErrorList { return metavalidation.ValidateCreateOptions(&o) })
	return mode{len(o.DryRun) > 0, o.FieldValidation}, err
}

func (r *request) updateMode() (mode, error) {
	var o metav1.UpdateOptions
	err := r.options("UpdateOptions", func(q *url.Values) error { return metav1.Convert_url_Values_To_v1_UpdateOptions(q, &o, nil) },
		func() field.ErrorList { return metavalidation.ValidateUpdateOptions(&o) })
	return mode{len(o.DryRun) > 0, o.FieldValidation}, err
}

func (r *request) patchMode() (mode, error) {
	var o metav1.PatchOptions
	err := r.options("PatchOptions", func(q *url.Values) error { return metav1.Convert_url_Values_To_v1_PatchOptions(q, &o, nil) },
		func() field.ErrorList { return metavalidation.ValidatePatchOptions(&o, types.PatchType(r.mediaType())) })
	return mode{len(o.DryRun) > 0, o.FieldValidation}, err
}

// options reads the query of a request into options of the kind and validates them.
func (r *request) options(kind string, read func(*url.Values) error, validate func() field.ErrorList) error {
	query := r.http.URL.Query()
	if err := read(&query); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if errs := validate(); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: kind}, "", errs)
	}
	return nil
}

// deleteOptions returns the options of a DELETE, from its body or else from its query.
func (r *request) deleteOptions() (*metav1.DeleteOptions, error) {
	o := &metav1.DeleteOptions{}
	read := func(q *url.Values) error { return metav1.Convert_url_Values_To_v1_DeleteOptions(q, o, nil) }
	if len(r.body) > 0 {
		if err := codec.DecodeOptions(r.body, r.mediaType(), o); err != nil {
			return nil, err
		}
		read = func(*url.Values) error { return nil }
	}
	err := r.options("DeleteOptions", read, func() field.ErrorList { return metavalidation.ValidateDeleteOptions(o) })
	return o, err
}
