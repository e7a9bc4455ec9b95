package directory

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tombolo-sync/tombolo/cloudhub/enroll"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newToken(t *testing.T, r *Register) enroll.Token {
	t.Helper()
	token, _, err := enroll.NewToken("edge-1", time.Hour, time.Now(), time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	return token
}

func TestATokenHasOneHolderForEver(t *testing.T) {
	dir := t.TempDir()
	var replicas []*Register
	for range 2 {
		r, err := New(dir)
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, r)
	}
	for range 50 {
		token := newToken(t, replicas[0])
		start := make(chan struct{})
		var won atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				<-start
				me := fmt.Sprint("key-", i)
				holder, err := replicas[i%2].Claim(t.Context(), token.ID, me)
				if err != nil {
					t.Error(err)
				}
				if holder == me {
					won.Add(1)
				}
			})
		}
		close(start)
		all.Wait()
		if n := won.Load(); n != 1 {
			t.Fatalf("%d keys hold the token", n)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "tokens", ".new-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files are left: %v %v", left, err)
	}
}

func TestTokensComeAndGo(t *testing.T) {
	r, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	token := newToken(t, r)
	if all, err := r.Tokens(t.Context()); err != nil || len(all) != 1 || all[0].ID != token.ID {
		t.Errorf("%v %v", all, err)
	}
	info, err := os.Stat(r.token(token.ID, ".json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := r.Remove(t.Context(), token.ID); err != nil {
		t.Error(err)
	}
	if _, err := r.Claim(t.Context(), token.ID, "key"); !errors.Is(err, enroll.ErrNoToken) {
		t.Errorf("a token that was taken back: %v", err)
	}
	if err := r.Remove(t.Context(), "../../etc/passwd"); !errors.Is(err, enroll.ErrNoToken) {
		t.Errorf("a path for an id: %v", err)
	}
}

func TestRevocationsAreFollowed(t *testing.T) {
	r, err := New(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	seen := make(chan []enroll.Revocation, 1)
	following.Go(func() {
		r.Follow(ctx, func(all []enroll.Revocation) { seen <- all }, func(err error) { t.Error(err) })
	})
	if all := <-seen; len(all) != 0 {
		t.Errorf("at first: %v", all)
	}
	v := enroll.NewRevocation("edge-1", "stolen", time.Now(), time.Time{})
	if err := r.Revoke(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	if all := <-seen; len(all) != 1 || all[0].Edge != "edge-1" || !all[0].Before.Equal(v.Before) {
		t.Errorf("then: %v", all)
	}
	if err := r.Revoke(t.Context(), enroll.Revocation{Edge: "../x"}); err == nil {
		t.Error("a path for a name is taken")
	}
}
