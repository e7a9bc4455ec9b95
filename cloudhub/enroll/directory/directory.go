// Package directory is an enrolment register in a directory: for a hub alone, or several on one machine.
//
//	tokens/ID.json    a token; never changed
//	tokens/ID.key     the fingerprint of the key that it was used for; linked into place whole, once
//	revoked/EDGE.json the edge's last revocation
package directory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
)

// Register is a register in a directory. It is safe for concurrent use, by several processes too.
type Register struct{ dir string }

// New returns the register in a directory, which it makes, for its owner alone, if there is none.
func New(dir string) (*Register, error) {
	for _, sub := range []string{"tokens", "revoked"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o700); err != nil {
			return nil, fmt.Errorf("register: %w", err)
		}
	}
	return &Register{dir: dir}, nil
}

// ErrNone is returned for a directory that is no register.
var ErrNone = errors.New("there is no register")

// Open returns the register in a directory. ErrNone when there is none: what is written to a place that no hub looks at would
// have no effect.
func Open(dir string) (*Register, error) {
	for _, sub := range []string{"tokens", "revoked"} {
		switch info, err := os.Stat(filepath.Join(dir, sub)); {
		case errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir():
			return nil, fmt.Errorf("%w in %s, which a hub makes when it starts", ErrNone, dir)
		case err != nil:
			return nil, fmt.Errorf("register: %w", err)
		}
	}
	return &Register{dir: dir}, nil
}

func (r *Register) token(id, suffix string) string { return filepath.Join(r.dir, "tokens", id+suffix) }

// Token returns a token: see enroll.Tokens.
func (r *Register) Token(_ context.Context, id string) (enroll.Token, error) {
	var t enroll.Token
	if !enroll.ValidID(id) {
		return t, enroll.ErrNoToken
	}
	if err := read(r.token(id, ".json"), &t); err != nil {
		return t, noToken(id, err)
	}
	holder, err := os.ReadFile(r.token(id, ".key"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return t, fmt.Errorf("token %s: %w", id, err)
	}
	t.Holder = string(holder)
	return t, nil
}

func noToken(id string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return enroll.ErrNoToken
	}
	return fmt.Errorf("token %s: %w", id, err)
}

// Claim makes a key the holder of a token: see enroll.Tokens.
func (r *Register) Claim(ctx context.Context, id, holder string) (string, error) {
	t, err := r.Token(ctx, id)
	if err != nil || t.Holder != "" {
		return t.Holder, err
	}
	// A file that exists can't be linked over, so that the first one wins; and it is whole from the start.
	temp, err := write(filepath.Join(r.dir, "tokens"), []byte(holder))
	if err != nil {
		return "", fmt.Errorf("token %s: %w", id, err)
	}
	defer os.Remove(temp) //nolint:errcheck // a leftover does no harm
	if err := os.Link(temp, r.token(id, ".key")); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("token %s: %w", id, err)
	}
	if err := syncDir(filepath.Join(r.dir, "tokens")); err != nil {
		return "", fmt.Errorf("token %s: %w", id, err)
	}
	t, err = r.Token(ctx, id)
	return t.Holder, err
}

// Add keeps a new token.
func (r *Register) Add(_ context.Context, t enroll.Token) error {
	if err := r.put(r.token(t.ID, ".json"), t); err != nil {
		return fmt.Errorf("token %s: %w", t.ID, err)
	}
	return nil
}

// Tokens returns all tokens, the oldest first.
func (r *Register) Tokens(ctx context.Context) ([]enroll.Token, error) {
	entries, err := os.ReadDir(filepath.Join(r.dir, "tokens"))
	if err != nil {
		return nil, fmt.Errorf("tokens: %w", err)
	}
	var out []enroll.Token
	for _, e := range entries {
		id, isToken := strings.CutSuffix(e.Name(), ".json")
		if !isToken || !enroll.ValidID(id) {
			continue
		}
		t, err := r.Token(ctx, id)
		if errors.Is(err, enroll.ErrNoToken) {
			continue // removed meanwhile
		}
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b enroll.Token) int { return a.Created.Compare(b.Created) })
	return out, nil
}

// Remove takes a token back. enroll.ErrNoToken when there is none.
func (r *Register) Remove(_ context.Context, id string) error {
	if !enroll.ValidID(id) {
		return enroll.ErrNoToken
	}
	if err := os.Remove(r.token(id, ".json")); err != nil {
		return noToken(id, err)
	}
	if err := os.Remove(r.token(id, ".key")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("token %s: %w", id, err)
	}
	return nil
}

// Revoke keeps a revocation, instead of an earlier one of the edge.
func (r *Register) Revoke(_ context.Context, v enroll.Revocation) error {
	if len(validation.IsDNS1123Subdomain(v.Edge)) > 0 {
		return fmt.Errorf("%q can't be an edge's name", v.Edge)
	}
	if err := r.put(filepath.Join(r.dir, "revoked", v.Edge+".json"), v); err != nil {
		return fmt.Errorf("revocation of %s: %w", v.Edge, err)
	}
	return nil
}

// Revocations returns the last revocation of each edge that was ever revoked, by name.
func (r *Register) Revocations(context.Context) ([]enroll.Revocation, error) {
	entries, err := os.ReadDir(filepath.Join(r.dir, "revoked"))
	if err != nil {
		return nil, fmt.Errorf("revocations: %w", err)
	}
	var out []enroll.Revocation
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".json") {
			continue
		}
		var v enroll.Revocation
		if err := read(filepath.Join(r.dir, "revoked", e.Name()), &v); err != nil {
			return nil, fmt.Errorf("revocation %s: %w", e.Name(), err)
		}
		out = append(out, v)
	}
	return out, nil
}

// followEvery is how often the directory is looked at.
const followEvery = time.Second

// Follow calls set with all revocations whenever they may have changed, first at once, until ctx ends. A register that can't be
// read any more leaves in force what was read before, and is reported to failed.
func (r *Register) Follow(ctx context.Context, set func([]enroll.Revocation), failed func(error)) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for seen := "none"; ; {
		if stamp, err := r.stamp(); err != nil {
			failed(err)
		} else if stamp != seen {
			all, err := r.Revocations(ctx)
			if err != nil {
				failed(err)
			} else {
				set(all)
				seen = stamp
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// stamp tells states of the revocations apart.
func (r *Register) stamp() (string, error) {
	entries, err := os.ReadDir(filepath.Join(r.dir, "revoked"))
	if err != nil {
		return "", fmt.Errorf("revocations: %w", err)
	}
	var out strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), ".json") {
			fmt.Fprintf(&out, "%s %d\n", e.Name(), info.ModTime().UnixNano())
		}
	}
	return out.String(), nil
}

// put writes a file as a whole or not at all.
func (r *Register) put(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	temp, err := write(filepath.Dir(path), data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, os.Remove(temp))
	}
	return syncDir(filepath.Dir(path))
}

// write writes a temporary file, for the owner of the directory alone, and makes it durable.
func write(dir string, data []byte) (path string, err error) {
	f, err := os.CreateTemp(dir, ".new-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, giveToOwner(f, dir), f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// giveToOwner has a file belong to whom the directory does, when root writes it: a hub of another user must be able to read it.
func giveToOwner(f *os.File, dir string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if owner, ok := info.Sys().(*syscall.Stat_t); ok && (owner.Uid != 0 || owner.Gid != 0) {
		return f.Chown(int(owner.Uid), int(owner.Gid))
	}
	return nil
}

// syncDir makes names in a directory durable, where the system can do that.
func syncDir(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // in the register, under names that are checked
	if err != nil {
		return err
	}
	defer d.Close() //nolint:errcheck // only read
	if err := d.Sync(); err != nil && !errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return nil
}

func read(path string, v any) error {
	data, err := os.ReadFile(path) //nolint:gosec // in the register, under names that are checked
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}
