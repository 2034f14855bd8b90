package host

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/service"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// Waiting times at the end of a process.
const (
	killDelay = 5 * time.Second // between SIGTERM and SIGKILL
	// for an idle host after its input is closed, before SIGTERM
	idlePatience   = 200 * time.Millisecond
	cancelPatience = time.Second // for a host that received a cancel message, before SIGTERM
	exitWait       = time.Second // between the end of its output and its exit
)

// errNotReading means that a host sends requests and does not read the answers.
var errNotReading = errors.New("it does not read the answers to its requests")

// errCutOff means that the output ended within a message.
var errCutOff = errors.New("output ended within a message")

// process is one running host with its connection and its reader and writer. It serves one exchange
// at a time. Between exchanges it continues to run, and its output is dropped.
type process struct {
	hosts       *Hosts
	cfg         *Config
	number      int // number among the host's processes, from 1
	conn        Conn
	out         *outbox
	reader      *reader
	stderrLines stderrlog.Lines
	silence     *silenceTimer  // nil without a heartbeat
	workDir     *workspace.Dir // its own directory; nil without isolate

	translation *translation         // nil for a host of our protocol
	bridgeEntry *adapter.BridgeEntry // how the agent reaches the program's tools; nil without tools
	bridge      *localBridge         // nil without tools, or if the keeper has the bridge
	tools       adapter.Tools        // that the process was started with
	rules       *hostpolicy.Policy   // nil without rules
	service     *service.Service     // nil if the agent's requests are not served

	announced announcement
	version   *versionCheck // nil if the protocol has no oldest version

	session atomic.Pointer[string] // session name that the host reported; nil before

	lifecycle lifecycle
	stages    stages
	keeper    keeperState
}

// stages holds channels that are closed when a process reaches a stage.
type stages struct {
	readWanted chan struct{} // reading begins: at the first prompt or the end
	readOnce   sync.Once
	readDone   chan struct{}
	writeDone  chan struct{}
	terminated chan struct{} // the process and its children have exited
}

func newProcess(h *Hosts, c *Config) *process {
	p := &process{
		hosts: h, cfg: c, silence: newSilenceTimer(c, h.opts.Clock), stderrLines: stderrlog.Lines{Log: func(line string) { h.opts.Log(c.Name, line) }},
		stages: stages{readWanted: make(chan struct{}), readDone: make(chan struct{}), writeDone: make(chan struct{}), terminated: make(chan struct{})},
	}
	p.reader = &reader{process: p, budget: decodeBudget{limit: h.opts.MaxMemory}}
	return p
}

// setConn sets the connection.
func (p *process) setConn(conn Conn) {
	p.conn, p.out = conn, newOutbox(conn)
	p.reader.lease.bindConn(conn)
	if keeper, ok := conn.(keeperConn); ok {
		p.keeper.conn, p.out.addFrame = keeper.Conn, p.frameLine
		p.keeper.conn.OnUnread(p.logUnreadAnswers)
	}
	if p.hosts.opts.Trace != nil {
		p.out.onEnqueue = p.traceSent
	}
}

// startIO starts the writer, and the reader, which waits for requestReading.
func (p *process) startIO() {
	go func() {
		defer close(p.stages.writeDone)
		p.out.writeLoop()
	}()
	go func() {
		defer close(p.stages.readDone)
		<-p.stages.readWanted
		p.reader.readLoop()
	}()
}

// beginExchange assigns the process to an exchange and sends its first line. If the process has
// ended, the inbox receives the reason. requestDigest is the digest of the opening request.
func (p *process) beginExchange(in *inbox, opens string, l line) {
	p.beginSegment(&segment{inbox: in, requestDigest: opens}, l)
}

// continueExchange begins an exchange that another process had.
func (p *process) continueExchange(in *inbox, opens string, handover *handover, l line) {
	p.beginSegment(&segment{inbox: in, requestDigest: opens, handover: handover}, l)
}

func (p *process) beginSegment(next *segment, l line) {
	ended := p.lifecycle.assign(next.inbox, func() (promptAt int64) {
		// Output that a new process has written before its first exchange belongs to that exchange.
		// Before any later exchange, earlier output cannot belong to it.
		if p.lifecycle.segment.Load() != nil {
			next.offset = p.conn.BytesSent()
		}
		p.lifecycle.segment.Store(next)
		p.silence.resetForExchange()
		if p.keeper.conn != nil {
			l.frame = p.keeper.frameBegin(next)
		}
		promptAt, _ = p.sendLine(l, true)
		return promptAt
	})
	p.stages.requestReading()
	if ended {
		p.notifyInbox(next.inbox)
	}
}

func (s *stages) requestReading() { s.readOnce.Do(func() { close(s.readWanted) }) }

// release takes the process from its exchange.
func (p *process) release(served bool) {
	p.lifecycle.release(served)
	p.noteRest(served)
	if served {
		p.hosts.pools[p.cfg.Name].backoff.reset()
	}
	if p.workDir != nil && served {
		p.retire(idlePatience) // the next exchange has another directory
		return
	}
	select {
	case <-p.hosts.closing:
		p.retire(idlePatience)
	default:
	}
}

// isUsable reports whether the process can serve an exchange.
func (p *process) isUsable() bool {
	select {
	case <-p.conn.Done():
		return false
	default:
	}
	return p.lifecycle.canServe()
}

// handleOutputEnd runs when the reader has finished. It determines why, notifies the exchange and
// retires the process.
func (p *process) handleOutputEnd(err error, last ndjson.Line) {
	ours := p.lifecycle.markOutputEnded()
	failure, exited := p.endReason(err, last)
	p.addContext(failure)
	if !ours && !p.reader.sawTerminal && !isUnreadable(err) {
		p.countFailedStart(failure)
	}
	p.out.closeQueue()
	if exited {
		waitFor(exitWait, p.stages.writeDone)
	}
	switch in, retiring := p.lifecycle.recordEnd(failure, exited); {
	case in != nil:
		p.notifyInbox(in)
	case !exited && !retiring && !p.hosts.suspended.Load():
		p.hosts.logf("warn", p.cfg, "was stopped, and will be restarted when needed: %s", failure.Message)
	}
	p.retire(0)
}

// isUnreadable reports whether the host sent something that cannot be read; otherwise its output
// ended.
func isUnreadable(err error) bool { return !errors.Is(err, errCutOff) && !errors.Is(err, io.EOF) }

// endReason returns the error of an exchange whose host's output has ended.
func (p *process) endReason(err error, last ndjson.Line) (failure *effect.Error, exited bool) {
	cut := errors.Is(err, errCutOff)
	if isUnreadable(err) {
		return p.lineError(err, last.Text), false
	}
	exited = waitFor(exitWait, p.conn.Done())
	switch {
	case cut && !(exited && p.conn.Exit().Limit != ""):
		failure = p.cfg.unknownErrorf("ended in the middle of a message (%d bytes): %s", len(last.Text), stderrlog.Quote(last.Text))
		if exited {
			withExit(failure, p.conn.Exit())
		}
	case exited:
		failure = p.cfg.exitError(p.conn.Exit())
	default:
		failure = effect.Errorf("HostError", "host exited without result: it closed its output but is still running").With("host", p.cfg.Name)
		failure.Status = effect.Unknown
	}
	return failure, exited && !cut
}

// notifyInbox notifies an exchange that the process has ended. If the process had served an
// exchange before and did not read the prompt, it cannot have begun the work, and another process
// takes over.
func (p *process) notifyInbox(in *inbox) {
	failure, untouched := p.lifecycle.endState(p.out.bytesConsumed())
	if untouched && in.requestProcess() || isLostError(failure) && in.markLost(failure) {
		return
	}
	in.setFailure(failure)
}

// retire closes the process's input, and ends it and its children if it has not exited after
// patience. It returns immediately; terminated is closed when the processes have exited.
func (p *process) retire(patience time.Duration) {
	if !p.lifecycle.markRetiring() {
		return
	}
	p.out.closeQueue()
	p.stages.requestReading()
	go func() {
		defer p.hosts.unregisterProcess(p)
		defer close(p.stages.terminated)
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case <-p.conn.Done():
		case <-t.C:
		case <-p.hosts.kill:
		}
		p.bridge.closeBridge()
		p.service.End()
		p.conn.End(killDelay, p.hosts.kill)
		p.dropUnread()
		p.service.Wait()
		p.conn.CloseWrite()
		<-p.stages.writeDone
		<-p.stages.readDone
		p.stderrLines.End()
		if p.hosts.opts.Trace != nil {
			p.traceExit()
		}
		if p.workDir != nil {
			p.endWorkDir()
		}
	}()
}

// waitFor waits at most d for c to be closed, and reports whether it was.
func waitFor(d time.Duration, c <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}
