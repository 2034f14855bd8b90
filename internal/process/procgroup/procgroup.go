// Package procgroup starts a command in a new process group, connects its pipes, and stops it
// together with its descendants. Hosts, emit handlers and MCP servers use it.
//
// No process outlives this one. On Linux the kernel kills each child when this process exits, and a
// guardian (package guard) kills the descendants of the children. A process belongs to a Run and
// has the mark of the Run in its environment.
//
// The package guarantees: Every started process is waited for. Its output ends when the process has
// exited and its output was read, even if a descendant still has the pipe open. A group that
// outlives its leader is stopped. All goroutines of a process have exited when GroupDone is closed.
package procgroup

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"
)

// DefaultGrace is the time between SIGTERM and SIGKILL for a group.
const DefaultGrace = 5 * time.Second

// Settle is the maximum time to wait for a killed group to disappear. The wait must be limited
// because zombies may never be waited for.
const Settle = time.Second

// Command describes a process to start. Env is the complete environment with entries of the form
// "NAME=value". Stderr is called from one goroutine with each line of standard error, without the
// newline, which is valid during the call; if it is nil, the lines are dropped. Exit contains the
// last lines in either case.
type Command struct {
	Name        string // name in the process's mark; "" starts the process without a mark
	Path        string // path of the executable; see Find
	Args        []string
	Env         []string
	Dir         string
	Stderr      func(line []byte)
	Errors      func(piece []byte) // receives all bytes of standard error; nil drops them
	Merged      bool               // standard error is written to Stdout, too, in the order of writing
	StderrLimit int                // maximum size of Exit.Stderr, in bytes; 0 for 8 KiB and 20 lines
	Limits      *Limits            // nil for none
	// Isolated starts the process without a network, in new network and user namespaces.
	// PrivateMounts starts it in new mount, IPC and user namespaces, in which it may change what is
	// mounted. If that is not possible, Start returns an error.
	Isolated      bool
	PrivateMounts bool
	// SetsUp means that the process sets up its namespaces before it executes another program. It
	// receives the capabilities for that, which it must give up.
	SetsUp bool
	// Files are open files that the process inherits, as the descriptors from 3 on.
	Files []*os.File
	// Cleanup is called when the whole group has exited, before GroupDone is closed; nil for none.
	Cleanup func()
	// Finishes means that the process may finish when this process is killed. Otherwise it is
	// killed too, where the system supports it.
	Finishes bool
	// Grace is the time between SIGTERM and SIGKILL for processes that outlive the leader of the
	// group; 0 for DefaultGrace.
	Grace time.Duration
}

// Exit describes how a process exited. Code is the exit code, or 128 plus the number of the signal
// that killed the process. Signal is the name of that signal. Stderr contains the last lines of
// standard error.
type Exit struct {
	Code   int
	Signal string
	Stderr string
	Limit  Limit // limit for which the process was killed; "" if it was not
}

// A Process is a started command with its group. Its methods may be called from
// any goroutine; Stdin and Stdout may each be used by one goroutine at a time.
type Process struct {
	Stdin  *os.File // write end; closing it closes the process's input
	Stdout io.Reader

	pgid   int
	grace  time.Duration
	in     *input
	out    *output
	errOut *output
	tail   tail

	done      chan struct{} // closed when the process has exited and its standard error was read
	groupDone chan struct{} // closed when the whole group has exited
	exit      Exit

	confinement

	mu       sync.Mutex
	noMember bool // the group has no members, so its number may belong to another group
}

// Start starts the command as the leader of a new group. Where the system supports it, the process
// is killed when this process exits, unless Finishes is set. If the machine has no file descriptors
// or processes left, Start retries for a while. The error is or wraps an *os.PathError or an
// *exec.Error.
func Start(c Command) (*Process, error) { return launch(nil, c) }

// Number of attempts to start a process, and delay between them.
const (
	startRetries = 3
	startPause   = 100 * time.Millisecond
)

var pause = time.Sleep // tests replace it

func launch(r *Run, c Command) (p *Process, err error) {
	if runtime.GOOS == "js" { // a page has no processes, and need not contain the code for them
		return nil, errors.ErrUnsupported
	}
	for tries := 0; ; tries++ {
		if p, err = startOnce(r, c); err == nil || tries == startRetries || !exhausted(err) {
			return p, err
		}
		pause(startPause)
	}
}

func startOnce(r *Run, c Command) (*Process, error) {
	p := &Process{grace: c.Grace, done: make(chan struct{}), groupDone: make(chan struct{})}
	p.limits, p.tail.most = c.Limits, c.StderrLimit
	if p.grace <= 0 {
		p.grace = DefaultGrace
	}
	cmd := &exec.Cmd{Path: c.Path, Args: append([]string{c.Path}, c.Args...), Env: c.Env, Dir: c.Dir}
	if err := setGroup(cmd, &c); err != nil {
		return nil, err
	}
	var files [6]*os.File // stdin, stdout, stderr: for each the read end and the write end
	closeFiles := func(ff ...*os.File) {
		for _, f := range ff {
			if f != nil {
				f.Close()
			}
		}
	}
	for i := 0; i < len(files); i += 2 {
		r, w, err := os.Pipe()
		if err != nil {
			closeFiles(files[:]...)
			return nil, fmt.Errorf("make a pipe for %s: %w", c.Path, err)
		}
		files[i], files[i+1] = r, w
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = files[0], files[3], files[5], c.Files
	if c.Merged {
		cmd.Stderr = files[3]
	}
	var pid int
	var end <-chan ended
	err := p.confine(cmd)
	if err == nil {
		pid, end, err = family.startChild(r, cmd, p.setRlimits)
	}
	if err != nil {
		closeFiles(files[:]...)
		p.releaseLimits()
		return nil, err
	}
	closeFiles(files[0], files[3], files[5])
	p.pgid, p.Stdin = pid, files[1]
	p.out = newOutput(files[2])
	p.errOut = newOutput(files[4])
	p.in = newInput(p.Stdin)
	p.Stdout = p.out
	p.startWatching()
	go p.watch(end, c)
	return p, nil
}

// Pid returns the process number of the leader, which is also the number of the group.
func (p *Process) Pid() int { return p.pgid }

// WriteNow writes as many bytes to Stdin as possible without waiting, and returns their number. On
// an error it returns 0; the next write to Stdin returns the error. The caller must be the only
// writer.
func (p *Process) WriteNow(b []byte) int { return p.in.writeNow(b) }

// Unread returns the number of bytes written to Stdin that the process has not read, or -1 if the
// number is unknown.
func (p *Process) Unread() int { return InPipe(p.Stdin) }

// Written returns the number of bytes that the process has written to standard output. If the
// system cannot report how much a pipe contains, Written returns the number of bytes that were
// read.
func (p *Process) Written() int64 { return p.out.bytesWritten() }

// InterruptRead makes a Read of Stdout that waits, or would wait, fail with os.ErrDeadlineExceeded,
// until ResumeRead is called. No output is lost. After the process has exited, Read never waits, so
// it is not affected.
func (p *Process) InterruptRead() { p.out.setInterrupted(true) }

// ResumeRead reverts InterruptRead.
func (p *Process) ResumeRead() { p.out.setInterrupted(false) }

// Done returns a channel that is closed when the process has exited and its standard error was
// read. Other processes of its group may still be running.
func (p *Process) Done() <-chan struct{} { return p.done }

// GroupDone returns a channel that is closed when the whole group has exited, or when its remaining
// processes cannot be signalled.
func (p *Process) GroupDone() <-chan struct{} { return p.groupDone }

// Exit returns how the process exited. It is valid after Done.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

// Stderr returns the last lines of standard error that have been read so far.
func (p *Process) Stderr() string { return p.tail.String() }

// Terminate sends SIGTERM to the group.
func (p *Process) Terminate() { p.signal(termSignal) }

// Kill sends SIGKILL to the group.
func (p *Process) Kill() {
	p.signal(killSignal)
	p.killConfined()
}

// End sends SIGTERM to the group, and SIGKILL after grace or when stop is closed. It returns when
// the group has exited. stop may be nil.
func (p *Process) End(grace time.Duration, stop <-chan struct{}) {
	select {
	case <-p.groupDone:
		return
	default:
	}
	p.Terminate()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.groupDone:
		return
	case <-t.C:
	case <-stop:
	}
	p.Kill()
	<-p.groupDone
}

func (p *Process) signal(s groupSignal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.noMember {
		signalGroup(p.pgid, s)
	}
}

// empty reports whether all members of the group have exited. Once it has returned true, the group
// is never signalled again, because the number may be reused.
func (p *Process) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.noMember && !groupAlive(p.pgid) {
		p.noMember = true
	}
	return p.noMember
}

// watch waits for the process and then for its group. It closes all files that Start opened, except
// Stdin.
func (p *Process) watch(end <-chan ended, c Command) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.tail.capture(p.errOut, c.Stderr, c.Errors)
	}()
	e := <-end
	p.out.markExited()
	p.errOut.markExited()
	<-read
	p.errOut.close()
	p.exit = e.exit()
	p.exit.Stderr = p.tail.String()
	p.exit.Limit = p.exceededLimit(e)
	close(p.done)
	p.endGroup()
	p.releaseLimits()
	guards.removeGroup(p.pgid)
	if c.Cleanup != nil {
		c.Cleanup()
	}
	close(p.groupDone)
}

// endGroup stops the rest of the group after the leader has exited.
func (p *Process) endGroup() {
	if p.empty() {
		return
	}
	p.Terminate()
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	kill := time.NewTimer(p.grace)
	defer kill.Stop()
	var leave <-chan time.Time
	for !p.empty() {
		select {
		case <-poll.C:
		case <-kill.C:
			p.Kill()
			leave = time.After(Settle)
		case <-leave:
			return
		}
	}
}
