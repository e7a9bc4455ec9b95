package embedded

import (
	"bytes"
	"encoding/json"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
)

// deleteMany deletes the objects that a list with the query of the request has, and answers with that list, as
// kube-apiserver does (apiserver pkg/registry/generic/registry, Store.DeleteCollection): selectors, limit, continue and
// resourceVersion mean what they mean to a list, and an object that is gone by the time of its turn is passed over.
// Other than there, either all of the list is deleted or nothing.
func (c *Cloud) deleteMany(r *request) (answer, error) {
	o, err := r.deleteOptions()
	if err != nil {
		return answer{}, err
	}
	raw, err := r.list()
	if err != nil {
		return answer{}, err
	}
	var list metav1.PartialObjectMetadataList
	if err := json.Unmarshal(raw, &list); err != nil {
		return answer{}, apierrors.NewInternalError(err)
	}
	d := r.face.def()
	ans := answer{code: http.StatusOK, raw: raw, gvk: d.GVK().GroupVersion().WithKind(d.Resource.ListKind)}
	err = c.write(func(t *tx) error {
		t.dry = len(o.DryRun) > 0
		p, err := r.at(t)
		if err != nil {
			return err
		}
		for i := range list.Items {
			at := place{face: p.face, namespace: list.Items[i].Namespace, name: list.Items[i].Name}
			if _, _, err := t.delete(at, o.Preconditions); err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	})
	return ans, err
}

// list returns the JSON of the list that a GET with the path and query of the request is answered with, or the error
// that it is refused with.
func (r *request) list() ([]byte, error) {
	get := r.http.Clone(r.http.Context())
	get.Method, get.Body, get.ContentLength = http.MethodGet, http.NoBody, 0
	get.Header = http.Header{"Accept": {codec.JSON}}
	query := get.URL.Query()
	query.Del("watch") // which a deletion knows nothing of
	query.Del("pretty")
	get.URL.RawQuery = query.Encode()
	got := &capture{header: http.Header{}}
	r.reads.ServeHTTP(got, get)
	body := bytes.TrimSuffix(got.body.Bytes(), []byte("\n"))
	if got.code == http.StatusOK {
		return body, nil
	}
	status := metav1.Status{}
	if err := json.Unmarshal(body, &status); err != nil {
		status = metav1.Status{Message: string(body)} // a page of text
	}
	status.Status, status.Code = metav1.StatusFailure, int32(got.code)
	return nil, &apierrors.StatusError{ErrStatus: status}
}
