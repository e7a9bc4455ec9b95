package codec

import (
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// yamlErrors begin the error that the strict YAML decoder makes of all it found.
var yamlErrors = []string{"yaml: unmarshal errors:\n", "error converting YAML to JSON: yaml: unmarshal errors:\n"}

// warn returns one warning for each violation that strict decoding found.
func warn(errs []error) []string {
	var warnings []string
	for _, err := range errs {
		warnings = append(warnings, splitYAML(err.Error())...)
	}
	return warnings
}

func splitYAML(text string) []string {
	for _, prefix := range yamlErrors {
		rest, ok := strings.CutPrefix(text, prefix)
		if !ok {
			continue
		}
		lines := strings.Split(rest, "\n")
		for i := range lines {
			lines[i] = strings.TrimSpace(lines[i])
		}
		return lines
	}
	return []string{text}
}

// unsupportedMedia returns the 415 that names the media types that would do.
func unsupportedMedia(accepted []string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure,
		Code:   http.StatusUnsupportedMediaType,
		Reason: metav1.StatusReasonUnsupportedMediaType,
		Message: fmt.Sprintf("the body of the request was in an unknown format - accepted media types include: %s",
			strings.Join(accepted, ", ")),
	}}
}
