package embedded

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"sigs.k8s.io/yaml"

	"github.com/tombolo-sync/tombolo/cloudhub/source/embedded/codec"
)

// answer is what a request is answered with.
type answer struct {
	code     int
	raw      []byte                  // JSON
	gvk      schema.GroupVersionKind // what raw is
	warnings []string
}

func statusAnswer(code int, s *metav1.Status) answer {
	s.Kind, s.APIVersion = "Status", "v1"
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and numbers
	}
	return answer{code: code, raw: raw, gvk: schema.GroupVersionKind{Version: "v1", Kind: "Status"}}
}

// writeError answers with the Status of an error.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	s := asStatus(err)
	if s.Details != nil && s.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(s.Details.RetryAfterSeconds)))
	}
	form, negotiateErr := negotiate(r, face{})
	if negotiateErr != nil {
		form = representation{mediaType: codec.JSON}
	}
	form.partial = false
	form.write(w, statusAnswer(int(s.Code), &s))
}

// representation is how a client wants an answer.
type representation struct {
	mediaType string
	partial   bool // as PartialObjectMetadata
	pretty    bool
}

// served are the media types of answers, in the order of error messages.
var served = codec.MediaTypes()

// negotiate reads what a client accepts. It fails with a 406 when that is nothing that an object of f can be shown as;
// a face without a resource stands for Statuses.
func negotiate(r *http.Request, f face) (representation, error) {
	form := representation{mediaType: codec.JSON, pretty: wantsPretty(r)}
	clauses := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(clauses) == "" {
		return form, nil
	}
	for _, clause := range byQuality(strings.Split(clauses, ",")) {
		if got, ok := form.accept(clause, f); ok {
			return got, nil
		}
	}
	return form, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + strings.Join(served, ", "),
	}}
}

// clause is one media range of an Accept header.
type clause struct {
	mediaType string
	params    map[string]string
	quality   float64
}

// byQuality returns the clauses that can be read, the most wanted first.
func byQuality(texts []string) []clause {
	var clauses []clause
	for _, text := range texts {
		mediaType, params, err := mime.ParseMediaType(text)
		if err != nil {
			continue
		}
		q := 1.0
		if v, ok := params["q"]; ok {
			q, err = strconv.ParseFloat(v, 64)
			if err != nil {
				continue
			}
			delete(params, "q")
		}
		clauses = append(clauses, clause{mediaType, params, q})
	}
	slices.SortStableFunc(clauses, func(a, b clause) int {
		switch {
		case a.quality > b.quality:
			return -1
		case a.quality < b.quality:
			return 1
		}
		return 0
	})
	return clauses
}

// accept returns form as a clause wants it; false when it can't be had.
func (form representation) accept(c clause, f face) (representation, bool) {
	switch c.mediaType {
	case "*/*", "application/*":
	case codec.JSON, codec.YAML:
		form.mediaType = c.mediaType
	case codec.Protobuf:
		if f.resource != nil && !codec.HasProtobuf(f.def()) && c.params["as"] == "" {
			return form, false
		}
		form.mediaType = c.mediaType
	default:
		return form, false
	}
	switch c.params["as"] {
	case "":
	case "PartialObjectMetadata":
		form.partial = true
	default:
		return form, false
	}
	return form, true
}

// wantsPretty tells whether JSON is to be indented: on request, and for people at a terminal or in a browser.
func wantsPretty(r *http.Request) bool {
	if v := r.URL.Query().Get("pretty"); v != "" {
		return v == "1" || v == "true"
	}
	for _, prefix := range []string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(r.UserAgent(), prefix) {
			return true
		}
	}
	return false
}

// write sends an answer.
func (form representation) write(w http.ResponseWriter, ans answer) {
	body, err := form.encode(ans)
	if err != nil {
		s := apierrors.NewInternalError(err).ErrStatus
		ans = statusAnswer(int(s.Code), &s)
		form = representation{mediaType: codec.JSON}
		body = append(ans.raw, '\n')
	}
	h := w.Header()
	for _, text := range ans.warnings {
		if value, err := utilnet.NewWarningHeader(299, "-", text); err == nil {
			h.Add("Warning", value)
		}
	}
	h.Set("Cache-Control", "no-cache, private")
	h.Set("Content-Type", form.mediaType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(ans.code)
	_, _ = w.Write(body) //nolint:gosec // no HTML, by its type; and the client may be gone: what it asked for stands
}

func (form representation) encode(ans answer) ([]byte, error) {
	raw := ans.raw
	if form.partial && ans.gvk.Kind != "Status" {
		var err error
		if raw, err = codec.Partial(raw); err != nil {
			return nil, err
		}
		ans.gvk = codec.PartialKind
	}
	switch form.mediaType {
	case codec.YAML:
		return yaml.JSONToYAML(raw)
	case codec.Protobuf:
		return codec.ToProtobuf(ans.gvk, raw)
	}
	if form.pretty {
		var out bytes.Buffer
		err := json.Indent(&out, raw, "", "  ")
		return out.Bytes(), err
	}
	return append(slices.Clip(raw), '\n'), nil
}
