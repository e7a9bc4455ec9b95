package credentials

import (
	"context"
	"crypto"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	tombolov1 "github.com/tombolo-sync/tombolo/proto/tombolo/v1"
)

// keysOf counts the keys in a folder.
func keysOf(t *testing.T, f Folder) int {
	t.Helper()
	keys, err := filepath.Glob(filepath.Join(f.Dir, "keys", "*.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return len(keys)
}

func TestACertificateIsRenewedAtTwoThirdsForAnotherKey(t *testing.T) {
	h := newFakeHub(t)
	f := Folder{Dir: t.TempDir()}
	id := h.mustJoin(f)
	k := h.keep(id)
	first := id.current.Load().leaf()
	life := first.NotAfter.Sub(first.NotBefore)
	for _, share := range []float64{0, 0.5, 1} {
		at := dueAt(first, share).Sub(first.NotBefore)
		if at > life*2/3 || at < life*2/3-life/20 {
			t.Errorf("share %g: due after %s of %s", share, at, life)
		}
	}
	k.checkAt = time.Now().Add(time.Hour)
	if k.step(t.Context()); id.Serial() != first.SerialNumber.Text(16) {
		t.Fatal("it was renewed at once")
	}
	rotated := 0
	k.cfg.Rotated = func() { rotated++ }
	id.clock.ahead.Store(int64(life * 2 / 3))
	k.step(t.Context())
	if id.Serial() == first.SerialNumber.Text(16) || rotated != 1 {
		t.Fatalf("it was not renewed, or nobody was told: %d", rotated)
	}
	if samePublic(h.keys[0], h.keys[1]) {
		t.Error("for the same key")
	}
	if n := keysOf(t, f); n != 1 {
		t.Errorf("%d keys are kept", n)
	}
	if again, err := Open(f); err != nil || again.Serial() != id.Serial() {
		t.Errorf("what is on disk: %v", err)
	}
}

func TestALostAnswerToARenewalChangesNothing(t *testing.T) {
	h := newFakeHub(t)
	f := Folder{Dir: t.TempDir()}
	id := h.mustJoin(f)
	k := h.keep(id)
	k.early = true
	h.set(func() { h.lose = 1 })
	before := id.Serial()
	k.step(t.Context())
	if id.Serial() != before || !k.retryAt.After(time.Now()) {
		t.Errorf("renewed %v, next attempt in %s", id.Serial() != before, time.Until(k.retryAt))
	}
	k.retryAt = time.Time{}
	k.step(t.Context())
	if id.Serial() == before || !samePublic(h.keys[1], h.keys[2]) {
		t.Error("it was not renewed then, or for a third key")
	}
	if n := keysOf(t, f); n != 1 {
		t.Errorf("%d keys are kept", n)
	}
}

// TestAnEdgeThatJoinsAnewWhileItRuns takes up what the other process got, and goes on from there.
func TestAnEdgeThatJoinsAnewWhileItRuns(t *testing.T) {
	h := newFakeHub(t)
	f := Folder{Dir: t.TempDir()}
	id := h.mustJoin(f)
	k := h.keep(id)
	k.early = true
	h.set(func() { h.refuse = codes.PermissionDenied }) // revoked, or expired long ago
	k.step(t.Context())
	h.set(func() { h.refuse = codes.OK })
	joined := h.mustJoin(f)
	rotated := 0
	k.cfg.Rotated = func() { rotated++ }
	k.step(t.Context())
	if id.Serial() != joined.Serial() || rotated != 1 || k.early {
		t.Errorf("it goes on with what it had, told %d times", rotated)
	}
	k.retryAt, k.early = time.Time{}, true
	k.step(t.Context())
	if again, err := Open(f); err != nil || again.Serial() != id.Serial() || id.Serial() == joined.Serial() {
		t.Errorf("the next renewal: %v", err)
	}
}

// TestARevokedEdgeThatJoinsAnewIsNotLeftWaitingForTheNextCheck: nothing was due and no renewal has failed.
func TestARevokedEdgeThatJoinsAnewIsNotLeftWaitingForTheNextCheck(t *testing.T) {
	h := newFakeHub(t)
	f := Folder{Dir: t.TempDir()}
	id := h.mustJoin(f)
	k := h.keep(id)
	k.checkAt = time.Now().Add(time.Hour) // as after a check
	if wait := k.step(t.Context()); wait > 5*time.Second {
		t.Errorf("it looks at the folder again in %s", wait)
	}
	joined := h.mustJoin(f)
	if k.step(t.Context()); id.Serial() != joined.Serial() {
		t.Error("it goes on with what it had")
	}
}

// TestAFolderThatIsOfNoUseLeavesWhatIsInForce: a broken file, and a certificate of an edge of another name.
func TestAFolderThatIsOfNoUseLeavesWhatIsInForce(t *testing.T) {
	h := newFakeHub(t)
	f := Folder{Dir: t.TempDir()}
	id := h.mustJoin(f)
	var said strings.Builder
	k := h.keep(id)
	k.cfg.Logger = slog.New(slog.NewTextHandler(&said, nil))
	k.checkAt = time.Now().Add(time.Hour)
	before := id.Serial()
	if err := os.WriteFile(f.path("cert.pem"), []byte("cut off"), 0o600); err != nil {
		t.Fatal(err)
	}
	k.step(t.Context())
	k.step(t.Context())
	h.set(func() { h.edge = "edge-2" })
	h.mustJoin(f)
	k.step(t.Context())
	k.step(t.Context())
	if id.Serial() != before || id.Edge() != "edge-1" {
		t.Errorf("now it is %s, with %s", id.Edge(), id.Serial())
	}
	if n := strings.Count(said.String(), "is of no use"); n != 2 || !strings.Contains(said.String(), "edge-2") {
		t.Errorf("said %d times:\n%s", n, &said)
	}
}

// TestKeysOfProcessesThatWereKilledDoNotStay, but what somebody may be writing at this moment does.
func TestKeysOfProcessesThatWereKilledDoNotStay(t *testing.T) {
	h := newFakeHub(t)
	f := Folder{Dir: t.TempDir()}
	h.mustJoin(f)
	long := time.Now().Add(-time.Hour)
	for _, path := range []string{"keys/.new-1", "keys/.new-2", ".new-3", ".new-4"} {
		if err := os.WriteFile(f.path(path), []byte("a key"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, old := range []string{"keys/.new-1", ".new-3"} {
		if err := os.Chtimes(f.path(old), long, long); err != nil {
			t.Fatal(err)
		}
	}
	h.mustJoin(f)
	left, _ := filepath.Glob(f.path("keys/.new-*"))
	more, _ := filepath.Glob(f.path(".new-*"))
	if left = append(left, more...); len(left) != 2 || filepath.Base(left[0]) != ".new-2" || filepath.Base(left[1]) != ".new-4" {
		t.Errorf("there are %v", left)
	}
}

// stuckKeys fail to remove keys, as a crash after the rename does.
type stuckKeys struct{ FileKeys }

func (stuckKeys) Retain(...crypto.PublicKey) error { return errors.New("crashed") }

func TestACrashAnywhereLeavesOneOfTheTwoCertificates(t *testing.T) {
	h := newFakeHub(t)
	f := Folder{Dir: t.TempDir()}
	id := h.mustJoin(f)
	first := id.Serial()

	// After the key was made, and before anything else.
	if _, err := f.keys().New(); err != nil {
		t.Fatal(err)
	}
	if again, err := Open(f); err != nil || again.Serial() != first {
		t.Errorf("with a key too many: %v", err)
	}
	// After the certificate was put into place, and before the old key was removed.
	id.folder.Keys = stuckKeys{FileKeys{Dir: f.path("keys")}}
	k := h.keep(id)
	if err := k.renew(t.Context()); err == nil {
		t.Fatal("it did not crash")
	}
	again, err := Open(f)
	if err != nil || again.Serial() == first {
		t.Fatalf("after the rename: %v", err)
	}
	if err := h.keep(again).renew(t.Context()); err != nil {
		t.Error(err)
	}
	if n := keysOf(t, f); n != 1 {
		t.Errorf("%d keys are kept in the end", n)
	}
}

func TestAnExpiredCertificateIsRenewedForItsKeyBeforeAnythingElse(t *testing.T) {
	h := newFakeHub(t)
	h.ttl = time.Second
	id := h.mustJoin(Folder{Dir: t.TempDir()})
	time.Sleep(time.Until(id.NotAfter().Add(50 * time.Millisecond)))
	h.set(func() { h.ttl = time.Hour })
	ctx, cancel := context.WithCancel(t.Context())
	k := h.keep(id)
	done := make(chan struct{})
	go func() { defer close(done); k.Run(ctx) }()
	<-k.Settled()
	if time.Until(id.NotAfter()) < 0 {
		t.Error("it is still the expired one")
	}
	cancel()
	<-done
	if len(h.keys) != 2 || !samePublic(h.keys[0], h.keys[1]) {
		t.Error("another key")
	}
}

// TestAnEdgeWhoseClockIsIn1970 joins, notices by the hub's word that its certificate has expired, and renews it.
func TestAnEdgeWhoseClockIsIn1970(t *testing.T) {
	h := newFakeHub(t)
	h.ttl = time.Second
	f := Folder{Dir: t.TempDir()}
	id := h.mustJoin(f)
	past := int64(time.Until(time.Unix(1000, 0)))
	id.clock.ahead.Store(past)
	k := h.keep(id)
	k.checkAt = time.Time{}
	k.step(t.Context()) // the handshake succeeds, and the hub tells the time
	if off := time.Duration(id.clock.ahead.Load()).Abs(); off > time.Minute {
		t.Fatalf("the clock is %s off", off)
	}
	time.Sleep(time.Until(id.NotAfter().Add(50 * time.Millisecond)))
	id.clock.ahead.Store(past) // as after a restart
	h.set(func() { h.ttl, h.checkCode = time.Hour, codes.Unauthenticated })
	before := id.Serial()
	k.checkAt, k.retryAt = time.Time{}, time.Time{}
	k.step(t.Context())
	k.step(t.Context())
	if id.Serial() == before {
		t.Error("it was not renewed")
	}
}

func TestAClockInThePastJoins(t *testing.T) {
	h := newFakeHub(t)
	cfg := JoinConfig{Hubs: []string{h.addr}, Token: "id.secret", Folder: Folder{Dir: t.TempDir()}}
	var c clock
	c.ahead.Store(int64(time.Until(time.Unix(1000, 0))))
	cert, err := h.certificate(hello())
	if err != nil {
		t.Fatal(err)
	}
	state := stateOf(t, cert)
	if err := verify(state, "127.0.0.1", poolOf(h.ca), &c); err != nil {
		t.Errorf("1970: %v", err)
	}
	c.ahead.Store(int64(24 * time.Hour))
	if err := verify(state, "127.0.0.1", poolOf(h.ca), &c); err == nil {
		t.Error("an expired certificate is taken")
	}
	c.ahead.Store(0)
	if err := verify(state, "127.0.0.2", poolOf(h.ca), &c); err == nil {
		t.Error("another host's certificate is taken")
	}
	if err := cfg.validate(); err == nil {
		t.Error("neither a hash nor an authority is needed")
	}
}

func TestAuthoritiesAreExchanged(t *testing.T) {
	h := newFakeHub(t)
	f := Folder{Dir: t.TempDir()}
	id := h.mustJoin(f)
	old := h.ca
	k := h.keep(id)
	if err := k.call(t.Context(), false, nothing); err != nil { // which opens the link
		t.Fatal(err)
	}
	h.newAuthority() // the hub's certificate is of the new one for new connections, and edges are told of both
	h.set(func() { h.renew = true })
	k.checkAt = time.Time{}
	k.step(t.Context())
	if n := len(id.current.Load().authorities); n != 2 || !k.early {
		t.Fatalf("%d authorities, renews %v", n, k.early)
	}
	k.step(t.Context())
	if id.current.Load().leaf().CheckSignatureFrom(h.ca) != nil {
		t.Error("the certificate is not of the new authority")
	}
	h.set(func() { h.authorities, h.renew = h.authorities[1:], false })
	k.checkAt = time.Time{}
	k.step(t.Context())
	again, err := Open(f)
	if err != nil {
		t.Fatal(err)
	}
	if all := again.current.Load().authorities; len(all) != 1 || all[0].Equal(old) {
		t.Errorf("%d authorities are trusted in the end", len(all))
	}
	if err := h.keep(again).call(t.Context(), true, nothing); err != nil {
		t.Errorf("a new connection: %v", err)
	}
}

func nothing(ctx context.Context, c tombolov1.JoinServiceClient) error {
	_, err := c.Check(ctx, &tombolov1.CheckRequest{})
	return err
}

func TestAHubThatSignsNothingIsLeftAlone(t *testing.T) {
	h := newFakeHub(t)
	id := h.mustJoin(Folder{Dir: t.TempDir()})
	k := h.keep(id)
	h.set(func() { h.checkCode = codes.Unimplemented })
	k.checkAt = time.Time{}
	k.step(t.Context())
	if wait := time.Until(k.checkAt); wait < time.Hour || k.early {
		t.Errorf("asks again in %s, renews %v", wait, k.early)
	}
}
