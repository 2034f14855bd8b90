package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
)

// lines is a long-lived command: one process at a time serves all calls of a session, or of this
// process. Another one replaces a process that has exited, or that does not answer a cancelled
// call.
type lines struct {
	x      *command
	global bool

	mu      sync.Mutex
	now     *peer          // serves new calls; nil if there is none
	all     map[*peer]bool // those that have not exited
	over    bool           // no further calls, except those that were begun before
	changed chan struct{}  // closed when a process has exited
}

// attempts limits how often a call is sent again because the process exited before it read it.
const attempts = 3

// stay makes the tool a long-lived command.
func (x *command) stay(d *Definition) {
	if d.Scope == PerSession {
		d.Open = func(context.Context, *Context) (Handler, io.Closer, error) {
			l := &lines{x: x}
			return l.call, l, nil
		}
		return
	}
	l := &lines{x: x, global: true}
	d.Handler, d.release = l.call, l.release
}

func (l *lines) call(ctx context.Context, input json.RawMessage, c *Context) (Result, error) {
	var why string
	for range attempts {
		p, k, err := l.begin(ctx, input, c)
		if err != nil {
			return Result{}, err
		}
		a, err := p.await(ctx, k)
		if err != nil || !a.unread {
			return a.result, err
		}
		why = a.result.Error
	}
	return Failure("%s, as %d others before they read the call", why, attempts-1), nil
}

// begin sends a call to the process, and starts one if there is none.
func (l *lines) begin(ctx context.Context, input json.RawMessage, c *Context) (*peer, *peerCall, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now != nil && l.now.isDone() {
		l.now = nil
	}
	if l.now == nil {
		if err := l.start(c); err != nil {
			return nil, nil, err
		}
	}
	p := l.now
	k, err := p.send(ctx, input, c)
	if l.over { // the call was begun before; its process ends with it
		l.now = nil
		p.endAfterCalls()
	}
	return p, k, err
}

// start starts a process.
func (l *lines) start(c *Context) error {
	at, environment, run := *c, c.Environment, c.world().run()
	if l.global { // it belongs to no session
		at.Cwd, environment = "", nil
		run = (&World{Executable: run.Executable}).run()
	}
	how, err := l.x.start(&at, environment)
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

// replace makes the next call start another process.
func (l *lines) replace(p *peer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.now == p {
		l.now = nil
	}
}

// release ends the process after its calls. wait returns when no process is left.
func (l *lines) release() (wait func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over, l.now = true, nil
	for p := range l.all {
		p.endAfterCalls()
	}
	return l.wait
}

func (l *lines) wait() {
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
	l.release()()
	return nil
}
