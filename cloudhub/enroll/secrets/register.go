// Package secrets is an enrolment register in a namespace of a cluster: for any number of hubs. A token is a Secret, and so is the
// last revocation of an edge. That a token has one holder is the API server's doing: it takes an update of the version that
// was read, and of no other.
package secrets

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
)

const (
	label      = "tombolo.dev/register" // with one of the kinds
	token      = "token"
	revocation = "revocation"
	// field is what a Secret's data holds: JSON of the token or the revocation.
	field = "record"
)

// Register is a register in a namespace. It is safe for concurrent use.
type Register struct {
	client  *typed.CoreV1Client
	secrets typed.SecretInterface
	space   string
}

// New returns the register in a namespace, which must exist.
func New(rc *rest.Config, namespace string) (*Register, error) {
	rc = rest.CopyConfig(rc)
	rc.QPS, rc.Burst = 50, 100
	client, err := typed.NewForConfig(rc)
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	return &Register{client: client, secrets: client.Secrets(namespace), space: namespace}, nil
}

func tokenName(id string) string { return "tombolo-token-" + id }

// revocationName has a hash of the edge's name, which may be longer than a Secret's.
func revocationName(edge string) string {
	sum := sha256.Sum256([]byte(edge))
	return "tombolo-revoked-" + hex.EncodeToString(sum[:16])
}

func secret(name, kind, edge string, record any) (*corev1.Secret, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return nil, err
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Labels:      map[string]string{label: kind, "app.kubernetes.io/part-of": "tombolo"},
			Annotations: map[string]string{"tombolo.dev/edge": edge},
		},
		Type: corev1.SecretType("tombolo.dev/" + kind),
		Data: map[string][]byte{field: data},
	}, nil
}

func decode(s *corev1.Secret, record any) error {
	if err := json.Unmarshal(s.Data[field], record); err != nil {
		return fmt.Errorf("secret %s/%s: %w", s.Namespace, s.Name, err)
	}
	return nil
}

// Token returns a token: see enroll.Tokens.
func (r *Register) Token(ctx context.Context, id string) (enroll.Token, error) {
	t, _, err := r.get(ctx, id)
	return t, err
}

func (r *Register) get(ctx context.Context, id string) (t enroll.Token, s *corev1.Secret, err error) {
	if !enroll.ValidID(id) {
		return t, nil, enroll.ErrNoToken
	}
	s, err = r.secrets.Get(ctx, tokenName(id), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return t, nil, enroll.ErrNoToken
	}
	if err != nil {
		return t, nil, fmt.Errorf("token %s: %w", id, err)
	}
	return t, s, decode(s, &t)
}

// claims bounds how often a token is claimed that others change at the same time.
const claims = 10

// Claim makes a key the holder of a token: see enroll.Tokens.
func (r *Register) Claim(ctx context.Context, id, holder string) (string, error) {
	for range claims {
		t, s, err := r.get(ctx, id)
		if err != nil || t.Holder != "" {
			return t.Holder, err
		}
		t.Holder = holder
		if s.Data[field], err = json.Marshal(t); err != nil {
			return "", fmt.Errorf("token %s: %w", id, err)
		}
		_, err = r.secrets.Update(ctx, s, metav1.UpdateOptions{})
		switch {
		case err == nil:
			return holder, nil
		case apierrors.IsNotFound(err):
			return "", enroll.ErrNoToken
		case !apierrors.IsConflict(err):
			return "", fmt.Errorf("token %s: %w", id, err)
		}
	}
	return "", fmt.Errorf("token %s: it was changed %d times meanwhile", id, claims)
}

// Add keeps a new token.
func (r *Register) Add(ctx context.Context, t enroll.Token) error {
	s, err := secret(tokenName(t.ID), token, t.Edge, t)
	if err == nil {
		_, err = r.secrets.Create(ctx, s, metav1.CreateOptions{})
	}
	if err != nil {
		return fmt.Errorf("token %s: %w", t.ID, err)
	}
	return nil
}

// Tokens returns all tokens, the oldest first.
func (r *Register) Tokens(ctx context.Context) ([]enroll.Token, error) {
	out, err := list[enroll.Token](ctx, r, token)
	slices.SortFunc(out, func(a, b enroll.Token) int { return a.Created.Compare(b.Created) })
	return out, err
}

func list[T any](ctx context.Context, r *Register, kind string) ([]T, error) {
	all, err := r.secrets.List(ctx, metav1.ListOptions{LabelSelector: label + "=" + kind})
	if err != nil {
		return nil, fmt.Errorf("%ss: %w", kind, err)
	}
	out := make([]T, len(all.Items))
	for i := range all.Items {
		if err := decode(&all.Items[i], &out[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Remove takes a token back. enroll.ErrNoToken when there is none.
func (r *Register) Remove(ctx context.Context, id string) error {
	if !enroll.ValidID(id) {
		return enroll.ErrNoToken
	}
	err := r.secrets.Delete(ctx, tokenName(id), metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return enroll.ErrNoToken
	}
	if err != nil {
		return fmt.Errorf("token %s: %w", id, err)
	}
	return nil
}

// Revoke keeps a revocation, instead of an earlier one of the edge.
func (r *Register) Revoke(ctx context.Context, v enroll.Revocation) error {
	s, err := secret(revocationName(v.Edge), revocation, v.Edge, v)
	if err != nil {
		return fmt.Errorf("revocation of %s: %w", v.Edge, err)
	}
	_, err = r.secrets.Create(ctx, s, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = r.secrets.Update(ctx, s, metav1.UpdateOptions{}) // whatever is there: the last one counts
	}
	if err != nil {
		return fmt.Errorf("revocation of %s: %w", v.Edge, err)
	}
	return nil
}

// Revocations returns the last revocation of each edge that was ever revoked.
func (r *Register) Revocations(ctx context.Context) ([]enroll.Revocation, error) {
	return list[enroll.Revocation](ctx, r, revocation)
}

var errNoSecret = errors.New("not a Secret")
