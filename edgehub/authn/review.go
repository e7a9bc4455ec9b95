package authn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"

	"github.com/tombolo-sync/tombolo/internal/access"
)

// Cloud asks the API server about tokens: with a SelfSubjectReview that is made with the token itself, which every user may
// make and which takes the tokens that the API server takes, or, for audiences of its own, with a TokenReview as the edge's user.
type Cloud struct {
	// Transport carries requests to the API server. One without an Authorization is made as the edge's user.
	Transport http.RoundTripper
	// Online tells whether that is possible at this moment.
	Online func() bool
	// Audiences are those that a token has to be for, one of them; none: the API server.
	Audiences []string
}

// maxReview bounds an answer, in bytes.
const maxReview = 1 << 20

// Review implements Reviewer.
func (c *Cloud) Review(ctx context.Context, token string) (*access.User, error) {
	switch {
	case !c.Online():
		return nil, errUnreachable
	case len(c.Audiences) > 0:
		return c.tokenReview(ctx, token)
	}
	var out authenticationv1.SelfSubjectReview
	out.SetGroupVersionKind(authenticationv1.SchemeGroupVersion.WithKind("SelfSubjectReview"))
	code, err := c.post(ctx, "selfsubjectreviews", "Bearer "+token, &out)
	switch {
	case err != nil:
		return nil, err
	case code == http.StatusUnauthorized:
		return nil, errors.New("the cloud does not know the token")
	case code != http.StatusCreated || out.Status.UserInfo.Username == "":
		return nil, fmt.Errorf("%w: it answers %d", errUnreachable, code)
	}
	return userOf(out.Status.UserInfo, true), nil
}

func (c *Cloud) tokenReview(ctx context.Context, token string) (*access.User, error) {
	out := authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: c.Audiences}}
	out.SetGroupVersionKind(authenticationv1.SchemeGroupVersion.WithKind("TokenReview"))
	code, err := c.post(ctx, "tokenreviews", "", &out)
	switch s := &out.Status; {
	case err != nil:
		return nil, err
	case code != http.StatusCreated:
		return nil, fmt.Errorf("%w: it answers %d", errUnreachable, code)
	case !s.Authenticated:
		return nil, fmt.Errorf("the cloud does not know the token: %s", s.Error)
	case !slices.ContainsFunc(c.Audiences, func(a string) bool { return slices.Contains(s.Audiences, a) }):
		return nil, fmt.Errorf("the token is for %q", s.Audiences)
	default:
		return userOf(s.User, false), nil
	}
}

// post sends an object and reads the one that comes back in its place.
func (c *Cloud) post(ctx context.Context, resource, authorization string, object any) (int, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://cloud/apis/authentication.k8s.io/v1/"+resource, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json")
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	resp, err := c.Transport.RoundTrip(r)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxReview))
	if err == nil && resp.StatusCode == http.StatusCreated {
		err = json.Unmarshal(raw, object)
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	return resp.StatusCode, nil
}

func userOf(info authenticationv1.UserInfo, bearer bool) *access.User {
	u := &access.User{Name: info.Username, UID: info.UID, Groups: info.Groups, Extra: map[string][]string{}, Bearer: bearer}
	for k, v := range info.Extra {
		u.Extra[k] = v
	}
	if !u.In(access.Authenticated) && !u.In(access.Unauthenticated) {
		u.Groups = append(u.Groups, access.Authenticated)
	}
	return u
}
