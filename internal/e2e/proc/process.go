package proc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// Process is one running server. A goroutine of its own starts it and waits
// for it; whoever needs to know that it has ended waits for Exited. Its
// methods may be called at the same time.
type Process struct {
	Name string // base name of the binary

	logPath string
	cmd     *exec.Cmd
	exited  chan struct{} // closed after Wait; only then is cmd.ProcessState set
}

// outputDelay is how long children of a process that has ended may go on writing to its log.
const outputDelay = 5 * time.Second

// Start runs binary with args, its output appended to logPath.
func Start(binary, logPath string, args ...string) (*Process, error) {
	return StartWith(nil, binary, logPath, args...)
}

// StartWith is Start with variables, NAME=VALUE, in addition to the environment that the process inherits.
func StartWith(environment []string, binary, logPath string, args ...string) (*Process, error) {
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("proc: %w", err)
	}
	cmd := exec.Command(binary, args...)
	// Through a pipe, so that a process that can't write to files (see FillDisk) still can say so.
	output := struct{ io.Writer }{log}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = output, output, outputDelay
	cmd.Env = append(os.Environ(), environment...)
	cmd.SysProcAttr = dieWithParent()
	p := &Process{Name: filepath.Base(binary), logPath: logPath, cmd: cmd, exited: make(chan struct{})}

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
		return nil, fmt.Errorf("proc: start %s: %w", p.Name, err)
	}
	return p, nil
}

// Stop asks the process to end, kills it when grace is over, and returns once
// it is gone. How it exited is not an error: it was told to.
func (p *Process) Stop(grace time.Duration) error {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		return nil
	case <-time.After(grace):
	}
	if err := p.Kill(); err != nil {
		return err
	}
	return fmt.Errorf("proc: %s did not end within %s of SIGTERM and was killed", p.Name, grace)
}

// Kill ends the process at once, with SIGKILL, and returns when it is gone.
func (p *Process) Kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.exited
	return nil
}

// PID is the process's number, which another may have once it has exited.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process is gone.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// ExitCode is that of a process that has exited by itself; -1 for one that
// runs or was ended by a signal.
func (p *Process) ExitCode() int {
	select {
	case <-p.exited:
		return p.cmd.ProcessState.ExitCode()
	default:
		return -1
	}
}

func (p *Process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("proc: %s to %s: %w", s, p.Name, err)
	}
	return nil
}

// Await polls ready until it returns nil. It gives up when ctx ends or the
// process does, and then says what the process logged last.
func (p *Process) Await(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return fmt.Errorf("proc: %s ended while starting (%s); its log ends in:\n%s", p.Name, p.cmd.ProcessState, p.LogTail())
		case <-ctx.Done():
			return fmt.Errorf("proc: %s is not ready (%w): %w; its log ends in:\n%s", p.Name, ctx.Err(), err, p.LogTail())
		case <-tick.C:
		}
	}
}

// LogTail is the end of the process's log, at most 4 KiB, for error messages.
func (p *Process) LogTail() []byte {
	const most = 4 << 10
	b, err := os.ReadFile(p.logPath)
	if err != nil {
		return []byte(err.Error())
	}
	return bytes.TrimSpace(b[max(0, len(b)-most):])
}
