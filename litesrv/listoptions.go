package litesrv

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metainternalvalidation "k8s.io/apimachinery/pkg/apis/meta/internalversion/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// listOptions is the query of a LIST or WATCH, decoded, defaulted and validated as kube-apiserver 1.37 does with its
// default feature gates.
type listOptions = metainternalversion.ListOptions

// parseListOptions reads the query. name is an object's name from the path, "" if there is none. The order of the
// checks is that of apiserver pkg/endpoints/handlers/get.go.
func parseListOptions(query url.Values, r *watchlog.Resource, name string) (listOptions, error) {
	var o listOptions
	if err := metainternalscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, &o); err != nil {
		return o, apierrors.NewBadRequest(err.Error())
	}
	metainternalversion.SetListOptionsDefaults(&o, true)
	if errs := metainternalvalidation.ValidateListOptions(&o, true); len(errs) > 0 {
		return o, apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "ListOptions"}, "", errs)
	}
	if o.FieldSelector != nil {
		s, err := o.FieldSelector.Transform(fieldLabels(r))
		if err != nil {
			return o, apierrors.NewBadRequest(err.Error())
		}
		o.FieldSelector = s
	}
	return o, takeName(&o, name)
}

// takeName makes a name from the path a field selector.
func takeName(o *listOptions, name string) error {
	if name == "" {
		return nil
	}
	if o.FieldSelector == nil || o.FieldSelector.Empty() {
		o.FieldSelector = fields.OneTermEqualSelector("metadata.name", name)
		return nil
	}
	if selected, ok := o.FieldSelector.RequiresExactMatch("metadata.name"); !ok || selected != name {
		return apierrors.NewBadRequest("fieldSelector metadata.name doesn't match requested name")
	}
	return nil
}

// looseBool reads a boolean parameter: present means true, unless it says false or 0.
func looseBool(query url.Values, key string) bool {
	v, ok := query[key]
	if !ok || len(v) == 0 {
		return false
	}
	switch strings.ToLower(v[0]) {
	case "false", "0":
		return false
	}
	return true
}

// maxWait is how long any answer but a watch may take.
const maxWait = time.Minute

// parseTimeout reads the timeout parameter of a request that is not a watch.
func parseTimeout(query url.Values) (time.Duration, error) {
	text := query.Get("timeout")
	if text == "" {
		return maxWait, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, apierrors.NewBadRequest("invalid timeout specified in the request URL - " + err.Error())
	}
	if d <= 0 || d > maxWait {
		return maxWait, nil
	}
	return d, nil
}

// timedOut is what a request gets that took longer than its timeout (apiserver pkg/server/filters/timeout.go): a Status
// that lacks kind and apiVersion.
func timedOut(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(http.StatusGatewayTimeout)
	_, _ = w.Write([]byte(`{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the ` +
		`allotted timeout","reason":"Timeout","details":{},"code":504}` + "\n"))
}
