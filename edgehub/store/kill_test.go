package store

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tombolo-sync/tombolo/internal/watchlog"
)

// killEnv tells the child at which durable step to kill itself; 0 or nothing: never.
const killEnv = "STORE_TEST_KILL_AT"

var killWindow = watchlog.Config{MaxEvents: 30}

// child returns the command that runs one of the children on dir.
func child(name, dir string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], dir)
	cmd.Env = append(os.Environ(), append(env, childEnv+"="+name)...)
	return cmd
}

// journey is what the child does and the parent can do over: a history that depends on nothing but the position.
type journey struct {
	dec *watchlog.Decoder
	log *watchlog.Log
}

func newJourney() *journey {
	l := watchlog.New(pods, killWindow)
	return &journey{dec: l.Decoder(), log: l}
}

// next returns the ops that lead on from the position, and where to.
func (j *journey) next() (ops []watchlog.Op, upto uint64, catchup bool) {
	r := rand.New(rand.NewPCG(j.log.Rev(), 0))
	catchup = j.log.Rev() == 0 || r.IntN(5) == 0
	upto = j.log.Rev()
	for range 1 + r.IntN(8) {
		upto++
		name := fmt.Sprintf("p%02d", r.IntN(20))
		if r.IntN(3) == 0 {
			ops = append(ops, del("ns/"+name, upto))
			continue
		}
		o, err := j.dec.DecodeRow(podJSON(name, fmt.Sprint("u", r.IntN(2)), upto, r.IntN(9000)), podCells(name, upto))
		if err != nil {
			panic(err)
		}
		ops = append(ops, put(o))
	}
	return ops, upto, catchup
}

// plan returns the batch for the ops that next returned.
func (j *journey) plan(ops []watchlog.Op, upto uint64, catchup bool) watchlog.Batch {
	if !catchup {
		return j.log.Snapshot().Plan(ops, upto)
	}
	return j.log.Snapshot().PlanCatchup(slices.Clone(ops), upto)
}

// applyForever goes on with the journey from where the store is, and prints each position once it is on disk.
func applyForever(dir string) error {
	killAt, _ := strconv.Atoi(os.Getenv(killEnv))
	s, err := Open(dir, Options{Logger: silent, Window: killWindow, Failpoint: func(string) error {
		if killAt--; killAt == 0 {
			return syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	if err := s.Recovered(); err != nil {
		return err
	}
	if err := s.Update(func(tx *Tx) error { return tx.Describe(State{Resource: *pods, Epoch: "e1"}) }); err != nil {
		return err
	}
	j := newJourney()
	c, err := s.Load(podsGR, j.dec)
	if err != nil {
		return err
	}
	if c.Rev != 0 {
		if err := j.log.Load(c.Content); err != nil {
			return err
		}
	}
	for {
		if err := j.step(s); err != nil {
			return err
		}
		fmt.Println(j.log.Rev())
	}
}

// step goes on by one batch; a catch-up is staged in two parts first.
func (j *journey) step(s *Store) error {
	ops, upto, catchup := j.next()
	if catchup {
		err := errors.Join(
			s.Update(func(tx *Tx) error { return tx.DiscardStaged(podsGR) }),
			s.Update(func(tx *Tx) error { return tx.Stage(podsGR, ops[:len(ops)/2], upto) }),
			s.Update(func(tx *Tx) error { return tx.Stage(podsGR, ops[len(ops)/2:], upto) }),
		)
		if err != nil {
			return err
		}
	}
	b := j.plan(ops, upto, catchup)
	if err := s.Update(func(tx *Tx) error { return tx.Apply(podsGR, b) }); err != nil {
		return err
	}
	return j.log.Commit(b)
}

// to takes the journey to a position, at which one of its batches must end.
func (j *journey) to(t *testing.T, rev uint64) *watchlog.Log {
	t.Helper()
	for j.log.Rev() < rev {
		if err := j.log.Commit(j.plan(j.next())); err != nil {
			t.Fatal(err)
		}
	}
	if j.log.Rev() != rev {
		t.Fatalf("the store is at %d, the batches end at %d", rev, j.log.Rev())
	}
	return j.log
}

// checkOnce is what a probe runs.
func checkOnce(dir string) error {
	r, err := Check(dir)
	if err != nil {
		return err
	}
	return r.Err()
}

// probe verifies a file in a process of its own.
func probe(path string) error {
	if out, err := child("check", filepath.Dir(path)).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %w: %s", ErrCorrupt, err, out)
	}
	return nil
}

// A process that is killed at any moment has lost nothing of what it said is on disk, and half of nothing is there.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(1, 2))
	acked := uint64(0)
	for round := range 20 {
		cmd := child("apply", dir)
		if round%2 == 1 {
			cmd = child("apply", dir, fmt.Sprintf("%s=%d", killEnv, 1+r.IntN(60)))
		}
		acked = max(acked, run(t, cmd, func() bool { return round%2 == 0 && r.IntN(20) == 0 }))
		if _, err := os.Stat(filepath.Join(dir, FileName)); errors.Is(err, os.ErrNotExist) && acked == 0 {
			continue // killed before the file was there
		}
		e := &edge{t: t, dir: dir, opts: Options{Window: killWindow}}
		e.store = open(t, dir, Options{Window: killWindow, Probe: probe})
		if err := e.store.Recovered(); err != nil {
			t.Fatal(err)
		}
		rev := uint64(0)
		if all, err := e.store.Resources(); err != nil || len(all) > 0 { // else killed before it described the pods
			rev = state(t, e.store, podsGR).Rev
		}
		if rev < acked {
			t.Fatalf("round %d: at %d, %d was on disk", round, rev, acked)
		}
		if e.log = newJourney().to(t, rev); rev > 0 {
			e.verify()
		}
		if err := e.store.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, dir)
	}
	if acked < 100 {
		t.Fatalf("the children got no farther than %d", acked)
	}
}

// run runs a child until enough, asked after each position that the child prints, says so, or the child kills itself. It
// returns the last position.
func run(t *testing.T, cmd *exec.Cmd, enough func() bool) (acked uint64) {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if acked, err = strconv.ParseUint(strings.TrimSpace(lines.Text()), 10, 64); err != nil {
			t.Error(err)
		}
		if enough() {
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond) // somewhere inside the next step
			_ = cmd.Process.Kill()
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Fatalf("the child was not killed: %v: %s", err, &stderr)
	}
	return acked
}
