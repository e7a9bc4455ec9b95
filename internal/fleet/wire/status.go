package wire

import (
	"encoding/base64"
	"io"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// trailerStatus returns how trailers end a stream: io.EOF for OK. Without headers before them they are these as well.
// Source: gRPC over HTTP2, "Responses".
func trailerStatus(fields []hpack.HeaderField, replied bool) error {
	var code, message, details, http string
	for _, f := range fields {
		switch f.Name {
		case ":status":
			http = f.Value
		case "grpc-status":
			code = f.Value
		case "grpc-message":
			message = f.Value
		case "grpc-status-details-bin":
			details = f.Value
		}
	}
	if code == "" {
		if !replied {
			return httpStatus(http)
		}
		return status.Error(codes.Internal, "the server has ended the stream without a status")
	}
	n, err := strconv.ParseUint(code, 10, 32)
	switch {
	case err != nil:
		return status.Errorf(codes.Internal, "grpc-status %.20q is not a number", code)
	case n == 0:
		return io.EOF
	}
	if s := detailed(details); s != nil && s.GetCode() == int32(n) {
		return status.ErrorProto(s)
	}
	return status.Error(codes.Code(n), unescape(message))
}

// detailed decodes grpc-status-details-bin, whose padding may be left out. It returns nil if it can't be.
func detailed(value string) *spb.Status {
	if value == "" {
		return nil
	}
	raw, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(value, "="))
	if err != nil {
		return nil
	}
	s := &spb.Status{}
	if proto.Unmarshal(raw, s) != nil {
		return nil
	}
	return s
}

// unescape decodes a grpc-message, which is percent-encoded. What is not is left as it is.
func unescape(message string) string {
	if text, err := url.PathUnescape(message); err == nil {
		return text
	}
	return message
}

// answerStatus returns nil for the headers of a gRPC server's answer.
func answerStatus(http string, fields []hpack.HeaderField) error {
	if http != "200" {
		return httpStatus(http)
	}
	for _, f := range fields {
		if f.Name == "content-type" {
			if f.Value == "application/grpc" || strings.HasPrefix(f.Value, "application/grpc+") || strings.HasPrefix(f.Value, "application/grpc;") {
				return nil
			}
			return status.Errorf(codes.Unknown, "the server answers with a content-type %.100q", f.Value)
		}
	}
	return status.Error(codes.Unknown, "the server answers without a content-type")
}

// httpStatus returns what a status of HTTP alone stands for. Source: gRPC, "HTTP to gRPC Status Code Mapping".
func httpStatus(http string) error {
	code := codes.Unknown
	switch http {
	case "400":
		code = codes.Internal
	case "401":
		code = codes.Unauthenticated
	case "403":
		code = codes.PermissionDenied
	case "404":
		code = codes.Unimplemented
	case "429", "502", "503", "504":
		code = codes.Unavailable
	}
	return status.Errorf(code, "the server answers with HTTP status %.20q", http)
}

// resetStatus returns what a reset of the stream stands for. Source: gRPC over HTTP2, "Errors".
func resetStatus(reset http2.ErrCode) error {
	code := codes.Internal
	switch reset {
	case http2.ErrCodeRefusedStream:
		code = codes.Unavailable
	case http2.ErrCodeCancel:
		code = codes.Canceled
	case http2.ErrCodeEnhanceYourCalm:
		code = codes.ResourceExhausted
	case http2.ErrCodeInadequateSecurity:
		code = codes.PermissionDenied
	}
	return status.Errorf(code, "the server has reset the stream: %s", reset)
}
