package clock

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestWallClockJumpsAndTimersDont(t *testing.T) {
	dir := t.TempDir()
	if err := Build(dir, "./testdata/teller"); err != nil {
		t.Fatal(err)
	}
	c, err := New(filepath.Join(dir, "clock"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	cmd := exec.Command(filepath.Join(dir, "teller"))
	cmd.Env = append(os.Environ(), c.Environment())
	asks, tells := pipes(t, cmd)
	for _, ahead := range []time.Duration{0, time.Hour, -time.Hour, 400 * 24 * time.Hour, -400 * 24 * time.Hour, 0} {
		if err := c.Set(ahead); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(asks, "\n"); err != nil {
			t.Fatal(err)
		}
		var wall, passed int64
		if _, err := fmt.Fscan(tells, &wall, &passed); err != nil {
			t.Fatal(err)
		}
		// Minutes of tolerance: the machine may be busy.
		if off := time.Until(time.Unix(wall, 0)) - ahead; off.Abs() > 10*time.Minute || passed < 0 || passed > 600 {
			t.Errorf("%s ahead: the wall clock is off by %s, and %d seconds have passed", ahead, off, passed)
		}
	}
}

func pipes(t *testing.T, cmd *exec.Cmd) (io.Writer, io.Reader) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	return in, bufio.NewReader(out)
}

func TestAnotherGoIsRefused(t *testing.T) {
	_, err := jumping("package time\n\nfunc Now() Time {\n\treturn otherwise()\n}\n")
	if err == nil || !strings.Contains(err.Error(), "another than the one that can be made to jump") {
		t.Errorf("got %v", err)
	}
}
