package authn

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// server answers reviews; it is an http.RoundTripper.
type server func(r *http.Request, body string) (int, string)

func (s server) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	code, text := s(r, string(body))
	if code == 0 {
		return nil, errors.New("no link")
	}
	w := httptest.NewRecorder()
	w.WriteHeader(code)
	_, _ = io.WriteString(w, text)
	return w.Result(), nil
}

func TestReviews(t *testing.T) {
	for name, c := range map[string]struct {
		code        int
		text        string
		user        string
		unreachable bool
	}{
		"a user":       {201, `{"status":{"userInfo":{"username":"ann","groups":["g"]}}}`, "ann", false},
		"no user":      {201, `{"status":{}}`, "", true},
		"unknown":      {401, `{}`, "", false},
		"overload":     {429, `{}`, "", true},
		"offline":      {503, `{}`, "", true},
		"no link":      {0, ``, "", true},
		"no JSON":      {201, `<html>`, "", true},
		"old servers":  {404, `{}`, "", true},
		"not allowed?": {403, `{}`, "", true},
	} {
		cloud := &Cloud{Online: func() bool { return true }, Transport: server(func(r *http.Request, body string) (int, string) {
			if r.Header.Get("Authorization") != "Bearer t" || !strings.Contains(body, "SelfSubjectReview") {
				t.Errorf("%v %s", r.Header, body)
			}
			return c.code, c.text
		})}
		u, err := cloud.Review(t.Context(), "t")
		if (err == nil) != (c.user != "") || err == nil && (u.Name != c.user || !u.Bearer) || errors.Is(err, errUnreachable) != c.unreachable {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
	}
}

func TestReviewsForAudiences(t *testing.T) {
	for text, good := range map[string]bool{
		`{"status":{"authenticated":true,"audiences":["tombolo"],"user":{"username":"ann"}}}`: true,
		`{"status":{"authenticated":true,"audiences":["else"],"user":{"username":"ann"}}}`:    false,
		`{"status":{"authenticated":true,"user":{"username":"ann"}}}`:                         false, // a server that knows no audiences
		`{"status":{"error":"no"}}`: false,
	} {
		cloud := &Cloud{Audiences: []string{"tombolo"}, Online: func() bool { return true }, Transport: server(func(r *http.Request, body string) (int, string) {
			if r.Header.Get("Authorization") != "" || !strings.Contains(body, `"token":"t"`) || !strings.Contains(body, `"audiences":["tombolo"]`) {
				t.Errorf("%v %s", r.Header, body)
			}
			return 201, text
		})}
		if u, err := cloud.Review(t.Context(), "t"); (err == nil) != good || errors.Is(err, errUnreachable) || err == nil && u.Bearer {
			t.Errorf("%s: %+v, %v", text, u, err)
		}
	}
}
