package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// farewell is the time that a long-lived process has to exit after its input is closed.
const farewell = time.Second

// peer is a long-lived process of a tool. It serves calls with the same JSON-RPC messages as a
// client of `concerto serve`.
type peer struct {
	l     *lines
	p     *procgroup.Process
	in    *feed
	log   *stderrlog.Lines
	world atomic.Pointer[World] // World of the session that made the last call
	cut   sync.Once             // makes the process be ended only once
	noisy sync.Once             // limits the warning about lines that are not messages to one

	mu      sync.Mutex
	calls   map[int64]*peerCall // running calls, by the ID of their requests
	last    int64               // ID of the last request
	retired bool                // the process must exit after its last call
	// running requests of the process itself, by ID; each value cancels the request
	inner map[string]func(error)
}

// peerCall is a call that was sent to a process.
type peerCall struct {
	id   int64
	c    *Context
	ctx  context.Context
	at   int64 // offset of the request in the process's input
	done chan peerAnswer
	over *time.Timer // fires if the process has not answered some time after a cancellation; nil before
}

// peerAnswer is the result of a call. unread means that the process exited before it read the
// request.
type peerAnswer struct {
	result Result
	unread bool
}

// newPeer starts a long-lived process.
func newPeer(l *lines, how procgroup.Command, run *procgroup.Run, w *World) (*peer, error) {
	p := &peer{l: l, calls: map[int64]*peerCall{}, inner: map[string]func(error){}}
	p.world.Store(w)
	p.log = &stderrlog.Lines{Log: func(line string) {
		if w := p.world.Load(); w.Stderr != nil {
			w.Stderr(l.x.name, line)
		}
	}}
	how.Stderr = p.log.LogLine
	var err error
	if p.p, err = run.Start(how); err != nil {
		return nil, err
	}
	p.in = newFeed(p.p, func() { p.endProcess(true) })
	go p.readLoop()
	return p, nil
}

// isDone reports whether the process accepts no further calls.
func (p *peer) isDone() bool {
	select {
	case <-p.p.Done():
		return true
	default:
		return false
	}
}

// sendCall sends the request for a call to the process.
func (p *peer) sendCall(ctx context.Context, input json.RawMessage, c *Context) (*peerCall, error) {
	p.world.Store(c.world())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	k := &peerCall{id: p.last, c: c, ctx: ctx, done: make(chan peerAnswer, 1)}
	line, err := jsonwrite.Encode(rpcRequest{"2.0", k.id, "tool/call", callParams(input, c)})
	if err != nil {
		return nil, err
	}
	p.calls[k.id] = k
	k.at = p.in.enqueueLine(append(line, '\n'))
	return k, nil
}

// awaitCall waits for the result of a call. If ctx ends first, it sends a cancellation to the
// process.
func (p *peer) awaitCall(ctx context.Context, k *peerCall) (peerAnswer, error) {
	select {
	case a := <-k.done:
		return a, nil
	case <-ctx.Done():
	}
	why := context.Cause(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[k.id] == k {
		k.over = time.AfterFunc(commandGrace, func() { p.replaceUnresponsive(k) })
		p.sendNotification("$/cancelRequest", map[string]any{"id": k.id, "reason": why.Error()})
	}
	return peerAnswer{}, why
}

// replaceUnresponsive makes later calls use a new process because this one did not answer a
// cancelled call and may hang.
func (p *peer) replaceUnresponsive(k *peerCall) {
	p.l.replaceProcess(p)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.calls[k.id] != k {
		return
	}
	k.c.warn("tool '%s' does not finish a cancelled call: its process is replaced", p.l.x.name)
	delete(p.calls, k.id)
	p.retired = true
	p.endIfRetired(true)
}

// endAfterCalls makes the process exit after its last call.
func (p *peer) endAfterCalls() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.retired = true
	p.endIfRetired(false)
}

// endIfRetired ends a retired process that has no running calls. hangs means that the process does
// not respond, so it is ended immediately.
func (p *peer) endIfRetired(hangs bool) {
	for _, k := range p.calls {
		if k.over == nil {
			return
		}
	}
	if p.retired {
		go p.endProcess(!hangs)
	}
}

// endProcess ends the process. If gently is true, it first closes the input and waits for farewell.
func (p *peer) endProcess(gently bool) {
	p.cut.Do(func() {
		p.in.closeInput()
		if gently {
			t := time.NewTimer(farewell)
			defer t.Stop()
			select {
			case <-p.p.GroupDone():
				return
			case <-t.C:
			}
		}
		p.p.End(commandGrace, nil)
	})
}

// handleAnswer handles the answer to a call.
func (p *peer) handleAnswer(id int64, a peerAnswer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	k := p.calls[id]
	if k == nil {
		return // the call is unknown or was already answered
	}
	delete(p.calls, id)
	if k.over != nil {
		k.over.Stop()
	}
	k.done <- a
	p.endIfRetired(false)
}

// readLoop reads the process's output until it ends, and then fails the running calls.
func (p *peer) readLoop() {
	why := p.readOutput()
	ends := time.NewTimer(farewell)
	defer ends.Stop()
	select {
	case <-p.p.Done():
	case <-ends.C: // the process has closed its output but has not exited
		p.endProcess(true)
	}
	<-p.p.GroupDone()
	p.log.End()
	if why == "" {
		why = "its process ended: " + p.l.x.exitText(p.p.Exit())
	}
	read := p.in.bytesRead()
	p.l.removePeer(p)
	p.mu.Lock()
	calls := p.calls
	p.calls = map[int64]*peerCall{}
	p.mu.Unlock()
	for _, k := range calls {
		if k.over != nil {
			k.over.Stop()
		}
		k.done <- peerAnswer{Failure("%s", why), k.at >= read}
	}
}

// exitText describes how a process of the command exited.
func (x *command) exitText(e procgroup.Exit) string {
	if e.Limit != "" {
		return "used more than " + x.Sandbox.Limits().Describe(e.Limit) + " and was stopped"
	}
	why := fmt.Sprintf("exited with %d", e.Code)
	if tail := strings.TrimSpace(e.Stderr); tail != "" {
		return why + ": " + tail
	}
	if e.Signal != "" {
		why += " (" + e.Signal + ")"
	}
	return why
}
