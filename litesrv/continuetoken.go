package litesrv

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// continueToken says where the next page of a list begins. It is written and read as kube-apiserver does (apiserver
// pkg/storage/continue.go), so that a client may take it from here to the cloud and back. The order of the fields is
// part of the format.
type continueToken struct {
	Version string `json:"v"`
	// Rev is the position of the list; -1 for a list that could not be continued at its position and goes on at the
	// newest.
	Rev int64 `json:"rv"`
	// Start is the first possible key of the page relative to what is listed: "/namespace/name\x00" over all
	// namespaces, "/name\x00" in one. The leading slash may be absent.
	Start string `json:"start"`
}

const (
	continueVersion = "meta.k8s.io/v1"
	newestRev       = -1
)

var errBadToken = errors.New("continue key is not valid")

// decodeContinue reads a token.
func decodeContinue(text string) (continueToken, error) {
	var t continueToken
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return t, fmt.Errorf("%w: %v", errBadToken, err) //nolint:errorlint // the text is upstream's
	}
	if err := json.Unmarshal(raw, &t); err != nil {
		return t, fmt.Errorf("%w: %s", errBadToken, strings.Replace(err.Error(), "litesrv.", "storage.", 1)) //nolint:errorlint // as above
	}
	return t, t.check()
}

func (t *continueToken) check() error {
	switch {
	case t.Version != continueVersion:
		return fmt.Errorf("%w: server does not recognize this encoded version %s", errBadToken, t.Version)
	case t.Rev == 0:
		return fmt.Errorf("%w: incorrect encoded start resourceVersion (version meta.k8s.io/v1)", errBadToken)
	case t.Start == "":
		return fmt.Errorf("%w: encoded start key empty (version meta.k8s.io/v1)", errBadToken)
	}
	key := t.Start
	if !strings.HasPrefix(key, "/") {
		key = "/" + key
	}
	if path.Clean(key) != key {
		return fmt.Errorf("%w: %s", errBadToken, t.Start)
	}
	return nil
}

// from returns the first key of the page in a list of namespace; "" lists all.
func (t *continueToken) from(namespace string) string {
	start := strings.TrimPrefix(t.Start, "/")
	if namespace == "" {
		return start
	}
	return namespace + "/" + start
}

// encode returns the token's text.
func (t continueToken) encode() string {
	t.Version = continueVersion
	raw, err := json.Marshal(t)
	if err != nil {
		panic(err) // strings and an integer
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

// tokenBehind returns the token of the page behind the object at key, in a list of r in namespace at rev. Pages that
// kube-apiserver reads from etcd have no leading slash.
func tokenBehind(r *watchlog.Resource, key, namespace string, rev uint64) string {
	if namespace != "" {
		key = strings.TrimPrefix(key, namespace+"/")
	}
	if !direct(r) {
		key = "/" + key
	}
	return continueToken{Rev: int64(rev), Start: key + "\x00"}.encode()
}

// expired is the answer to a page at a position that can't be read any more. Its token goes on with what there is
// now.
func (t *continueToken) expired() *apierrors.StatusError {
	err := apierrors.NewResourceExpired(expiredContinue)
	err.ErrStatus.Continue = continueToken{Rev: newestRev, Start: strings.TrimPrefix(t.Start, "/")}.encode()
	return err
}
