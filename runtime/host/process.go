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
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/host/service"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// Maximum waiting times while a process is being ended.
const (
	termWait = 5 * time.Second // between SIGTERM and SIGKILL
	// after the input of an idle host is closed, before SIGTERM
	closeInputWait = 200 * time.Millisecond
	cancelWait     = time.Second // after a cancel message, before SIGTERM
	exitWait       = time.Second // between the end of the output and the exit of the process
)

// errNotReading means that an agent sends requests and does not read the answers. The text
// completes a sentence about the host.
var errNotReading = errors.New("it does not read the answers to its requests")

// errCutOff means that the output ended within a message.
var errCutOff = errors.New("output ended within a message")

// process is one running host with its connection, its reader and its writer. It serves at most one
// exchange at a time. Between exchanges it continues to run, and its output is dropped.
type process struct {
	hosts       *Hosts
	cfg         *Config
	number      int    // number among the host's processes, from 1
	seed        string // see adapter.Config.Seed
	conn        Conn
	out         *outbox
	reader      *reader
	stderrLines stderrlog.Lines
	silence     *silenceTimer       // nil without a heartbeat
	workDir     workspace.Directory // directory of an isolated process, or one in a workspace; nil for others
	dir         *exchangeDir        // workDir, if it belongs to an exchange
	box         *box                // nil without a sandbox
	workspace   string              // name of the program's workspace in which it works; "" for none

	translation *translation         // nil for a host that uses Concerto's protocol
	bridgeEntry *adapter.BridgeEntry // address at which the agent reaches the program's tools; nil without tools
	bridge      *localBridge         // nil without tools, or if the keeper runs the bridge
	start       startSpec            // what the process was started with
	rules       *hostpolicy.Policy   // nil without permission rules
	service     *service.Service     // nil if the host's requests are not served

	announced announcement
	requests  openRequests
	version   *versionCheck // nil if the protocol has no oldest version

	session atomic.Pointer[string] // name of the session that the host reported last; nil before the first report

	outside   outside
	settling  settling
	lifecycle lifecycle
	stages    stages
	keeper    keeperState
}

// stages holds one channel for each stage of a process. A channel is closed when the process
// reaches its stage.
type stages struct {
	readWanted chan struct{} // reading may begin: the first prompt is being sent, or the process is being ended
	readOnce   sync.Once
	readDone   chan struct{}
	writeDone  chan struct{}
	terminated chan struct{} // the process and its children have exited
}

func newProcess(h *Hosts, c *Config) *process {
	p := &process{
		hosts: h, cfg: c, silence: newSilenceTimer(c, h.opts.Clock), stderrLines: stderrlog.Lines{Log: func(line string) { h.opts.Stderr(c.Name, line) }},
		stages: stages{readWanted: make(chan struct{}), readDone: make(chan struct{}), writeDone: make(chan struct{}), terminated: make(chan struct{})},
	}
	p.outside.process, p.settling.process = p, p
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

// startIO starts the writer and the reader. The reader waits for requestReading.
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

// beginExchange assigns the process to an exchange and sends the first line l. If the process has
// already ended, the inbox receives the reason. opens is the digest of the opening request.
func (p *process) beginExchange(in *inbox, opens string, l line) {
	p.beginSegment(&segment{inbox: in, requestDigest: opens}, l)
	reportUnconfined(p)
	p.outside.inject()
}

// continueExchange assigns the process to an exchange that a lost process had begun.
func (p *process) continueExchange(in *inbox, opens string, handover *continuity.Handover, l line) {
	p.beginSegment(&segment{inbox: in, requestDigest: opens, handover: handover}, l)
}

func (p *process) beginSegment(next *segment, l line) {
	ended := p.lifecycle.assign(next.inbox, func() (promptAt int64) {
		// Output that a new process writes before its first exchange belongs to that exchange.
		// Output before any later exchange does not belong to the later exchange.
		if p.lifecycle.segment.Load() != nil {
			next.offset = p.conn.BytesSent()
		}
		p.lifecycle.segment.Store(next)
		p.silence.resetForExchange()
		p.requests.clear()
		if p.keeper.conn != nil {
			sum := ""
			if n := l.frame.note; n != nil { // the prompt of a later turn
				sum = n.Sum
			}
			l.frame = p.keeper.frameBegin(next, sum)
		}
		l.begins = next
		promptAt, _ = p.sendLine(l, true)
		return promptAt
	})
	p.stages.requestReading()
	if ended {
		p.notifyInbox(next.inbox)
	}
}

func (s *stages) requestReading() { s.readOnce.Do(func() { close(s.readWanted) }) }

// release removes the process from its exchange. served reports whether the exchange was complete.
func (p *process) release(served bool) {
	p.lifecycle.release(served)
	p.noteRest(served)
	if served {
		p.hosts.pools[p.cfg.Name].backoff.reset()
	}
	if p.workspace != "" {
		p.saveConversation()
	}
	switch {
	case !p.settling.canServe(), p.translation.beginsTurn():
		p.retire(closeInputWait) // the agent would begin a turn with a message of the exchange that has ended
		return
	case p.dir != nil && served:
		p.retire(closeInputWait) // the next exchange needs a process in another directory
		return
	}
	select {
	case <-p.hosts.closing.Done():
		p.retire(closeInputWait)
	default:
	}
}

// isUsable reports whether the process can serve another exchange.
func (p *process) isUsable() bool {
	select {
	case <-p.conn.Done():
		return false
	default:
	}
	return p.lifecycle.canServe()
}

// handleOutputEnd runs when the reader has finished. It determines the reason, notifies the
// exchange and retires the process.
func (p *process) handleOutputEnd(err error, last ndjson.Line) {
	ours := p.lifecycle.markOutputEnded()
	failure, exited := p.endReason(err, last)
	p.settling.set(false, false, false)
	if !inPage {
		p.outside.endRequests()
	}
	p.settling.addTo(failure)
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

// isUnreadable reports whether err means that the host sent data that cannot be read. Otherwise the
// output has ended.
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
		failure = effect.HostEnded(p.cfg.Name, "closed its output but is still running", "")
	}
	return failure, exited && !cut
}

// notifyInbox notifies an exchange that the process has ended. If the process had completed an
// earlier exchange and did not read this prompt, it has not begun the work, and another process
// takes over.
func (p *process) notifyInbox(in *inbox) {
	failure, untouched, laterTurn := p.lifecycle.endState(p.out.bytesConsumed())
	if untouched && laterTurn && in.isLost() { // beginTurn has noticed the end as well
		return
	}
	if untouched && in.requestProcess(laterTurn) || isLostError(failure) && in.markLost(failure) {
		return
	}
	in.setFailure(in.meter.withPlanLimit(failure))
}

// retire closes the process's input. If the process has not exited after wait, retire ends it
// together with its children. retire returns immediately; stages.terminated is closed when the
// processes have exited.
func (p *process) retire(wait time.Duration) {
	if !p.lifecycle.markRetiring() {
		return
	}
	p.out.closeQueue()
	p.stages.requestReading()
	if p.workDir != nil {
		p.workDir.Ending()
	}
	go func() {
		defer p.hosts.unregisterProcess(p)
		defer close(p.stages.terminated)
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-p.conn.Done():
		case <-t.C:
		case <-p.hosts.kill.Done():
		}
		p.bridge.closeBridge()
		p.service.End()
		p.conn.End(termWait, p.hosts.kill.Done())
		p.dropUnread()
		p.service.Wait()
		if p.keeper.conn == nil { // otherwise the keeper does it
			p.hosts.opts.Run.EndFamily(p.cfg.Name, p.number)
		}
		p.conn.CloseWrite()
		<-p.stages.writeDone
		<-p.stages.readDone
		p.stderrLines.End()
		if p.hosts.opts.Trace != nil {
			p.traceExit()
		}
		guardLink(p)
		if p.workDir != nil {
			p.endWorkDir()
		}
	}()
}

// waitFor waits until c is closed, for at most d, and reports whether c was closed.
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
