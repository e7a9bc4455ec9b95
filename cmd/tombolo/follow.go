package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// follow cuts and heals the link when asked, and tells how the edge is doing: one line that is written over on a
// terminal, a new line whenever something has changed elsewhere.
func (d *demo) follow(ctx context.Context, out io.Writer) error {
	keys := make(chan struct{})
	go readKeys(ctx, keys) // ends with the process: a read of the terminal can't be taken back
	usr := make(chan os.Signal, 1)
	signal.Notify(usr, syscall.SIGUSR1)
	defer signal.Stop(usr)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	l := &line{out: out, over: isTerminal(out)}
	for {
		if err := l.write(d.status()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return l.end()
		case <-keys:
			d.toggle()
		case <-usr:
			d.toggle()
		case <-tick.C:
		}
	}
}

func (d *demo) toggle() { d.link.Set(!d.link.IsCut()) }

// readKeys reports each line of standard input.
func readKeys(ctx context.Context, keys chan<- struct{}) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		select {
		case keys <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

// status is how the edge is doing.
type status struct {
	link    string
	objects int
	rev     uint64
	lag     time.Duration
	bytes   int64
}

func (d *demo) status() status {
	s := status{link: "up", bytes: d.edge.Agent.BytesReceived()}
	if live, _ := d.edge.Agent.Contact(); !live {
		s.link = "connecting"
	}
	if d.link.IsCut() {
		s.link = "CUT"
	}
	behind := false
	for _, l := range d.edge.Agent.Logs() {
		s.objects += l.Snapshot().Len()
		s.rev = max(s.rev, l.Rev())
		behind = behind || d.changedSince(l.Resource().GroupResource(), l.Rev())
	}
	now := time.Now()
	if !behind {
		d.inStep = now
	}
	s.lag = now.Sub(d.inStep)
	return s
}

// changedSince tells whether the cloud has an event of the resource behind a position. The hub's position alone says
// little: it moves with every write to the cloud, and edges hear of that now and then.
func (d *demo) changedSince(gr schema.GroupResource, rev uint64) bool {
	l := d.hubLogs[gr]
	return l != nil && l.LastChange() > rev
}

// line is a line of status.
type line struct {
	out  io.Writer
	over bool // write over the one before
	last string
}

func (l *line) write(s status) error {
	text := fmt.Sprintf("link %-10s  objects %d  RV %d  lag %s  received %s",
		s.link, s.objects, s.rev, s.lag.Round(100*time.Millisecond), bytesText(s.bytes))
	if text == l.last {
		return nil
	}
	l.last = text
	var err error
	if l.over {
		_, err = fmt.Fprintf(l.out, "\r\x1b[K%s", text)
	} else {
		_, err = fmt.Fprintln(l.out, text)
	}
	return err
}

func (l *line) end() error {
	if !l.over {
		return nil
	}
	_, err := fmt.Fprintln(l.out)
	return err
}

func bytesText(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d B", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
}

// isTerminal tells whether w is one.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
