package callsrv

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// refuse answers in the API server's place.
func (x *exchange) refuse(s metav1.Status) error {
	x.refused = s.Message
	s.Kind, s.APIVersion, s.Status = "Status", "v1", metav1.StatusFailure
	body, err := json.Marshal(s)
	if err != nil {
		panic(err) // a Status has nothing that can't be encoded
	}
	body = append(body, '\n')
	header := http.Header{
		"Content-Type":           {"application/json"},
		"Content-Length":         {strconv.Itoa(len(body))},
		"Cache-Control":          {"no-cache, private"},
		"X-Content-Type-Options": {"nosniff"},
	}
	if err := x.answer(int(s.Code), header); err != nil {
		return err
	}
	return x.stream.Send(&tombolov1.CallResponse{Message: &tombolov1.CallResponse_Data{Data: body}})
}

// noImpersonation is for a request that has no credentials and wants to be somebody.
func noImpersonation(edge, header string) metav1.Status {
	return metav1.Status{
		Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Details: &metav1.StatusDetails{},
		Message: fmt.Sprintf("forbidden: edge %q can't act as somebody else: %s needs a token of the caller's own", edge, header),
	}
}

// tooLarge is apimachinery pkg/api/errors, NewRequestEntityTooLargeError, as kube-apiserver words it.
func tooLarge(limit int64) metav1.Status {
	return metav1.Status{
		Code: http.StatusRequestEntityTooLarge, Reason: metav1.StatusReasonRequestEntityTooLarge,
		Message: fmt.Sprintf("Request entity too large: limit is %d", limit),
	}
}
