// Package procgroup starts a command in a process group of its own, gives access
// to its pipes, and ends it with everything it started. Hosts, emit handlers and
// MCP servers run in it.
//
// Nothing outlives this process: on Linux every process is killed with it, and a
// guardian (package guard) ends what those have started. A process belongs to a Run,
// whose mark it has.
//
// Invariants. Every started process is waited for. Its output ends when the
// process has ended and its output has been read, even when a descendant still
// holds the pipe. A group that outlives its leader is ended as well. No
// goroutine outlives Gone.
package procgroup

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// DefaultGrace is the time between asking a group to end and killing it.
const DefaultGrace = 5 * time.Second

// Settle bounds the wait for a killed group to disappear, as zombies that nobody
// collects stay for ever.
const Settle = time.Second

// Command says what to start. Env is the whole environment, as "NAME=value".
// Stderr is called from one goroutine with each line of the standard error,
// without its line end. nil drops the lines; Exit has the last of them in either
// case.
type Command struct {
	Name   string // whom it plays in a Run; "" keeps it unmarked
	Path   string // resolved: see Find
	Args   []string
	Env    []string
	Dir    string
	Stderr func(line string)
	Errors func(piece []byte) // called likewise with all that is written to it, byte by byte; nil drops it
	Kept   int                // how many bytes of the standard error Exit has at most; 0: 8 KiB, of 20 lines
	Limits *Limits            // nil for none
	// Isolated says that the process begins without any network: in a network and a user
	// namespace of its own. Where that cannot be had, it is not started.
	Isolated bool
	Grace    time.Duration // between SIGTERM and SIGKILL for what outlives the leader; 0 means DefaultGrace
}

// Exit is how a process ended. Code is its exit code, or 128 plus the number
// of the signal that ended it, named in Signal. Stderr holds the last lines of
// its standard error.
type Exit struct {
	Code   int
	Signal string
	Stderr string
	Limit  Limit // it was killed for crossing it; "" for another reason
}

// A Process is a started command with its group. Its methods may be called from
// any goroutine; Stdin and Stdout may each be used by one goroutine at a time.
type Process struct {
	Stdin  *os.File // write end; closing it is the end of the process's input
	Stdout io.Reader

	pgid   int
	grace  time.Duration
	in     *input
	out    *output
	errOut *output
	tail   tail

	done chan struct{} // the process has been waited for, its standard error read
	gone chan struct{} // so has its group
	exit Exit

	confinement

	mu   sync.Mutex
	void bool // no member of the group is left: its number may be another's
}

// Start starts the command as the leader of a new group. Where the system can, it
// is killed when this process ends. When the machine has no files or processes left,
// starting is tried again for a while. The error is an *os.PathError, an *exec.Error,
// or wraps one.
func Start(c Command) (*Process, error) { return launch(nil, c) }

// How often starting is tried again, and after what time.
const (
	startRetries = 3
	startPause   = 100 * time.Millisecond
)

var pause = time.Sleep // tests have their own

func launch(r *Run, c Command) (p *Process, err error) {
	for tries := 0; ; tries++ {
		if p, err = startOnce(r, c); err == nil || tries == startRetries || !exhausted(err) {
			return p, err
		}
		pause(startPause)
	}
}

func startOnce(r *Run, c Command) (*Process, error) {
	p := &Process{grace: c.Grace, done: make(chan struct{}), gone: make(chan struct{})}
	p.limits, p.tail.most = c.Limits, c.Kept
	if p.grace <= 0 {
		p.grace = DefaultGrace
	}
	cmd := &exec.Cmd{Path: c.Path, Args: append([]string{c.Path}, c.Args...), Env: c.Env, Dir: c.Dir}
	if err := setGroup(cmd, c.Isolated); err != nil {
		return nil, err
	}
	var files [6]*os.File // stdin, stdout, stderr: read end, write end
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
	cmd.Stdin, cmd.Stdout, cmd.Stderr = files[0], files[3], files[5]
	var pid int
	var end <-chan ended
	err := p.confine(cmd)
	if err == nil {
		pid, end, err = family.bear(r, cmd, p.hold)
	}
	if err != nil {
		closeFiles(files[:]...)
		p.release()
		return nil, err
	}
	closeFiles(files[0], files[3], files[5])
	p.pgid, p.Stdin = pid, files[1]
	p.out = newOutput(files[2])
	p.errOut = newOutput(files[4])
	p.in = newInput(p.Stdin)
	p.Stdout = p.out
	p.look()
	go p.watch(end, c)
	return p, nil
}

// Pid is the leader's process number, which is its group's number as well.
func (p *Process) Pid() int { return p.pgid }

// WriteNow writes as many bytes to Stdin as it takes without waiting, and gives
// their number. After a failure that is 0; the next ordinary write reports the
// failure. There must be no other writer.
func (p *Process) WriteNow(b []byte) int { return p.in.writeNow(b) }

// Unread is how many bytes written to Stdin the process has not read yet; -1
// when the system does not tell.
func (p *Process) Unread() int { return inPipe(p.Stdin) }

// Written is how many bytes the process has written to its standard output so
// far. Where the system does not tell how many are in a pipe, it is how many
// have been read.
func (p *Process) Written() int64 { return p.out.written() }

// InterruptRead makes a Read of Stdout that waits, now or later, fail with
// os.ErrDeadlineExceeded, until ResumeRead. What the process has written is not
// lost by that; when it has ended, no Read waits, and none is interrupted.
func (p *Process) InterruptRead() { p.out.interrupt(true) }

// ResumeRead ends what InterruptRead began.
func (p *Process) ResumeRead() { p.out.interrupt(false) }

// Done is closed when the process has ended and its standard error has been
// read. Its group may still be ending.
func (p *Process) Done() <-chan struct{} { return p.done }

// Gone is closed when the whole group has ended, or is past any signal.
func (p *Process) Gone() <-chan struct{} { return p.gone }

// Exit is how the process ended; valid after Done.
func (p *Process) Exit() Exit {
	<-p.done
	return p.exit
}

// Stderr is the last lines of the standard error so far.
func (p *Process) Stderr() string { return p.tail.String() }

// Terminate asks the group to end (SIGTERM).
func (p *Process) Terminate() { p.signal(termSignal) }

// Kill ends the group at once (SIGKILL).
func (p *Process) Kill() {
	p.signal(killSignal)
	p.killConfined()
}

// End asks the group to end, waits for grace or until stop is closed, then
// kills it, and returns when it is gone. A nil stop never closes.
func (p *Process) End(grace time.Duration, stop <-chan struct{}) {
	select {
	case <-p.gone:
		return
	default:
	}
	p.Terminate()
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case <-p.gone:
		return
	case <-t.C:
	case <-stop:
	}
	p.Kill()
	<-p.gone
}

func (p *Process) signal(s groupSignal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.void {
		signalGroup(p.pgid, s)
	}
}

// empty says whether no member of the group can still run. Once that is so, the
// group's number is never signalled again, as it may be reused.
func (p *Process) empty() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.void && !groupAlive(p.pgid) {
		p.void = true
	}
	return p.void
}

// watch waits for the process, then for the end of its group. It owns all that
// Start opened, except Stdin.
func (p *Process) watch(end <-chan ended, c Command) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		p.tail.read(p.errOut, c.Stderr, c.Errors)
	}()
	e := <-end
	p.out.finish()
	p.errOut.finish()
	<-read
	p.errOut.close()
	p.exit = e.exit()
	p.exit.Stderr = p.tail.String()
	p.exit.Limit = p.verdict(e)
	close(p.done)
	p.seeOff()
	p.release()
	guards.gone(p.pgid)
	close(p.gone)
}

// seeOff ends what is left of the group after its leader.
func (p *Process) seeOff() {
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
