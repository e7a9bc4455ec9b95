package link_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/tombolo-sync/tombolo/internal/e2e/link"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a server that sends every line back.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

func newLink(t *testing.T) *link.Link {
	t.Helper()
	l, err := link.New(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// talker sends lines and reads them back.
type talker struct {
	net.Conn
	lines *bufio.Reader
}

func dial(t *testing.T, l *link.Link) *talker {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &talker{conn, bufio.NewReader(conn)}
}

func (k *talker) say(line string) (string, error) {
	if _, err := io.WriteString(k, line+"\n"); err != nil {
		return "", err
	}
	return k.lines.ReadString('\n')
}

func (k *talker) expect(t *testing.T, line string) {
	t.Helper()
	if got, err := k.say(line); err != nil || got != line+"\n" {
		t.Fatalf("said %q, heard %q, %v", line, got, err)
	}
}

func TestForwards(t *testing.T) {
	l := newLink(t)
	dial(t, l).expect(t, "hello")
	if l.Carried() != 12 || l.Opened() != 1 {
		t.Errorf("carried %d bytes in %d connections", l.Carried(), l.Opened())
	}
}

func TestCutResetsOldAndNewConnections(t *testing.T) {
	l := newLink(t)
	k := dial(t, l)
	k.expect(t, "hello")
	l.Cut()
	if _, err := k.say("anyone?"); err == nil {
		t.Error("the connection survived")
	}
	if conn, err := net.Dial("tcp", l.Addr); err == nil {
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("a new connection works")
		}
		_ = conn.Close()
	}
	l.Heal()
	dial(t, l).expect(t, "again")
}

func TestBlackHoleSwallowsUntilItHeals(t *testing.T) {
	l := newLink(t)
	k := dial(t, l)
	k.expect(t, "hello")
	l.BlackHole()
	if err := k.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := k.say("anyone?"); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("something came through, or it broke: %v", err)
	}
	if err := k.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	l.Heal()
	if got, err := k.lines.ReadString('\n'); err != nil || got != "anyone?\n" {
		t.Errorf("after healing: %q, %v", got, err)
	}
}

func TestResetLetsNewConnectionsIn(t *testing.T) {
	l := newLink(t)
	k := dial(t, l)
	k.expect(t, "hello")
	l.Reset()
	if _, err := k.say("anyone?"); err == nil {
		t.Error("the connection survived")
	}
	dial(t, l).expect(t, "again")
}

func TestDelay(t *testing.T) {
	l := newLink(t)
	k := dial(t, l)
	l.Delay(20 * time.Millisecond)
	before := time.Now()
	k.expect(t, "hello")
	if took := time.Since(before); took < 40*time.Millisecond {
		t.Errorf("there and back took %s", took)
	}
}

// TestLateArrivesAfterItsClientGaveUp has a client whose words come when it is gone, and another one has spoken meanwhile.
func TestLateArrivesAfterItsClientGaveUp(t *testing.T) {
	heard := make(chan string, 10)
	l, err := link.New(listener(t, heard))
	if err != nil {
		t.Fatal(err)
	}
	l.Late(300 * time.Millisecond)
	old := dial(t, l)
	say(t, old, "hello\n")
	if got := <-heard; got != "hello\n" {
		t.Fatal(got)
	}
	say(t, old, "old\n")
	time.Sleep(50 * time.Millisecond) // until the link has it
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	l.Late(0)
	young := dial(t, l)
	say(t, young, "young\n")
	for _, want := range []string{"young\n", "old\n"} {
		if got := <-heard; got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	}
	if err := errors.Join(young.Close(), l.Close()); err != nil {
		t.Error(err)
	}
}

func say(t *testing.T, to *talker, line string) {
	t.Helper()
	if _, err := io.WriteString(to, line); err != nil {
		t.Fatal(err)
	}
}

// listener is a server that passes on the lines that it is told.
func listener(t *testing.T, heard chan<- string) string {
	t.Helper()
	at, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := at.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				for lines := bufio.NewReader(conn); ; {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					heard <- line
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = at.Close()
		serving.Wait()
	})
	return at.Addr().String()
}
