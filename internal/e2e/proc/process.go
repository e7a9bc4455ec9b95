package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// process is one running server. A goroutine of its own starts it and waits
// for it; whoever needs to know that it has ended waits for exited.
type process struct {
	name    string
	logPath string
	cmd     *exec.Cmd
	exited  chan struct{} // closed after Wait; only then is cmd.ProcessState set
}

// startProcess runs binary with args, its output appended to logPath.
func startProcess(binary, logPath string, args ...string) (*process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cluster: %w", err)
	}
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = dieWithParent()
	p := &process{name: filepath.Base(binary), logPath: logPath, cmd: cmd, exited: make(chan struct{})}

	started := make(chan error, 1)
	go func() {
		// The kernel ties "die with the parent" to the thread that forked,
		// so that thread must live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		defer log.Close()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // how it ended is in ProcessState
			close(p.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("cluster: start %s: %w", p.name, err)
	}
	return p, nil
}

// stop asks the process to end, kills it when grace is over, and returns once
// it is gone. How it exited is not an error: it was told to.
func (p *process) stop(grace time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(grace):
	}
	if err := p.kill(); err != nil {
		return err
	}
	return fmt.Errorf("cluster: %s did not end within %s of SIGTERM and was killed", p.name, grace)
}

// kill ends the process at once and returns when it is gone.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.exited
	return nil
}

func (p *process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("cluster: %s to %s: %w", s, p.name, err)
	}
	return nil
}

// await polls ready until it returns nil. It gives up when ctx ends or the
// process does, and then says what the process logged last.
func (p *process) await(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("cluster: %s ended while starting (%s); its log ends in:\n%s", p.name, p.cmd.ProcessState, p.logTail())
		case <-ctx.Done():
			return fmt.Errorf("cluster: %s is not ready (%w): %w; its log ends in:\n%s", p.name, ctx.Err(), err, p.logTail())
		case <-tick.C:
		}
	}
}

// logTail is the end of the process's log, for error messages.
func (p *process) logTail() []byte {
	const most = 4 << 10
	b, err := os.ReadFile(p.logPath)
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(b[max(0, len(b)-most):])
}
