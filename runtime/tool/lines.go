package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// lines is a long-lived command. One process at a time serves all calls of a session or, for a
// global tool, of all sessions. A new process replaces one that has exited or does not answer a
// cancelled call.
type lines struct {
	x      *command
	global bool

	mu      sync.Mutex
	now     *peer          // process that serves new calls; nil if there is none
	all     map[*peer]bool // processes that have not exited
	over    bool           // no further calls are accepted, except those that have already begun
	changed chan struct{}  // closed when the next process has exited; nil if no goroutine waits for that
}

// attempts is the maximum number of processes to which a call is sent if each exits before it reads
// the call.
const attempts = 3

// stay makes the tool use a long-lived command.
func (x *command) stay(d *Definition) {
	if d.Scope == PerSession {
		d.Open = func(context.Context, *Context) (Handler, io.Closer, error) {
			l := &lines{x: x}
			return l.callProcess, l, nil
		}
		return
	}
	l := &lines{x: x, global: true}
	d.Handler, d.release = l.callProcess, l.releaseProcess
}

func (l *lines) callProcess(ctx context.Context, input json.RawMessage, c *Context) (Result, error) {
	var why string
	for range attempts {
		p, k, err := l.beginCall(ctx, input, c)
		if err != nil {
			return Result{}, err
		}
		a, err := p.awaitCall(ctx, k)
		if err != nil || !a.unread {
			return a.result, err
		}
		why = a.result.Error
	}
	return Failure("%s, as %d others before they read the call", why, attempts-1), nil
}

// beginCall sends a call to the current process, and starts a process if there is none.
func (l *lines) beginCall(ctx context.Context, input json.RawMessage, c *Context) (*peer, *peerCall, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil && l.now.isDone() {
		l.now = nil
	}
	if l.now == nil {
		if err := l.startProcess(c); err != nil {
			return nil, nil, err
		}
	}
	p := l.now
	k, err := p.sendCall(ctx, input, c)
	if l.over { // the call began before the end, and its new process ends with it
		l.now = nil
		p.endAfterCalls()
	}
	return p, k, err
}

// startProcess starts a process.
func (l *lines) startProcess(c *Context) error {
	at, environment, run := *c, c.Environment, c.world().commandRun()
	if l.global { // a global process belongs to no session
		at.Cwd, environment = "", nil
		run = (&World{Executable: run.Executable}).commandRun()
	}
	how, err := l.x.startCommand(&at, environment)
	if err != nil {
		return err
	}
	p, err := newPeer(l, how, run, c.world())
	if err != nil {
		return fmt.Errorf("cannot run %s: %s", l.x.Run[0], procgroup.WhyNot(err))
	}
	if l.all == nil {
		l.all = map[*peer]bool{}
	}
	l.now, l.all[p] = p, true
	return nil
}

// removePeer removes an exited process.
func (l *lines) removePeer(p *peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if delete(l.all, p); l.now == p {
		l.now = nil
	}
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// replaceProcess makes the next call start a new process instead of using p.
func (l *lines) replaceProcess(p *peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == p {
		l.now = nil
	}
}

// releaseProcess ends the current process after its calls. wait returns when no process is running.
func (l *lines) releaseProcess() (wait func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over, l.now = true, nil
	for p := range l.all {
		p.endAfterCalls()
	}
	return l.awaitProcesses
}

func (l *lines) awaitProcesses() {
	for {
		l.mu.Lock()
		if len(l.all) == 0 {
			l.mu.Unlock()
			return
		}
		if l.changed == nil {
			l.changed = make(chan struct{})
		}
		changed := l.changed
		l.mu.Unlock()
		<-changed
	}
}

// Close ends the process and waits until it has exited.
func (l *lines) Close() error {
	l.releaseProcess()()
	return nil
}
