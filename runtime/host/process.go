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

// How long a process may take before it is made to go on.
const (
	grace       = 5 * time.Second        // between SIGTERM and SIGKILL
	leaveIdle   = 200 * time.Millisecond // an idle host whose input has ended, before SIGTERM
	leaveTold   = time.Second            // a host told to cancel after its timeout, before SIGTERM
	exitSettles = time.Second            // between the end of its output and its exit
)

// errDeaf is a host that asks and does not read the answers.
var errDeaf = errors.New("it does not read the answers to what it asks")

// errCutOff is a line that began as a message when the output ended.
var errCutOff = errors.New("output ended within a message")

// process is one running host: its connection, what reads it and the
// goroutine that writes to it. An exchange at a time has it; between exchanges it
// keeps running, and what it says then is dropped.
type process struct {
	hosts  *Hosts
	cfg    *Config
	number int // the how-manieth of its host, from 1
	conn   Conn
	out    *outbox
	read   *reader
	aside  stderrlog.Lines // its standard error
	pulse  *pulse          // nil without a heartbeat
	work   *workspace.Dir  // that it has to itself; nil without isolate

	words *translation         // nil: it speaks our protocol
	entry *adapter.BridgeEntry // to the program's tools; nil: there is none
	door  *door                // what is there; nil: nothing, or it is with the keeper
	tools adapter.Tools        // that it has been told of
	rules *hostpolicy.Policy   // nil: nothing is decided for it
	help  *service.Service     // nil: nothing is done for it

	announced announcement
	version   *versionCheck // nil when the protocol needs no version

	talk atomic.Pointer[string] // the host's name for the conversation; nil before it has one

	life   lifecycle
	stages stages
	kept   custody
}

// stages of a process are closed when they are reached.
type stages struct {
	wanted    chan struct{} // reading begins: at the first prompt, or the end
	wanting   sync.Once
	readDone  chan struct{}
	writeDone chan struct{}
	gone      chan struct{} // nothing is left of it
}

func newProcess(h *Hosts, c *Config) *process {
	p := &process{
		hosts: h, cfg: c, pulse: newPulse(c, h.opts.Hand), aside: stderrlog.Lines{Log: func(line string) { h.opts.Log(c.Name, line) }},
		stages: stages{wanted: make(chan struct{}), readDone: make(chan struct{}), writeDone: make(chan struct{}), gone: make(chan struct{})},
	}
	p.read = &reader{p: p, room: room{limit: h.opts.MaxMemory}}
	return p
}

// attach gives the process its connection.
func (p *process) attach(conn Conn) {
	p.conn, p.out = conn, newOutbox(conn)
	p.read.role.of(conn)
	if kept, ok := conn.(keptConn); ok {
		p.kept.conn, p.out.frame = kept.Conn, p.framed
		p.kept.conn.OnUnread(p.unread)
	}
	if p.hosts.opts.Wire != nil {
		p.out.tap = p.wireSent
	}
}

// start begins writing, and reading as soon as what is read is wanted.
func (p *process) start() {
	go func() {
		defer close(p.stages.writeDone)
		p.out.run()
	}()
	go func() {
		defer close(p.stages.readDone)
		<-p.stages.wanted
		p.read.run()
	}()
}

// begin gives the process to an exchange and sends the line that starts it.
// When the process has ended meanwhile, the inbox learns of it. opens is the sum of what was asked for.
func (p *process) begin(in *inbox, opens string, l line) {
	p.beginTurn(&turn{in: in, opens: opens}, l)
}

// goOn begins an exchange that another process had.
func (p *process) goOn(in *inbox, opens string, again *revival, l line) {
	p.beginTurn(&turn{in: in, opens: opens, again: again}, l)
}

func (p *process) beginTurn(next *turn, l line) {
	ended := p.life.begin(next.in, func() (promptAt int64) {
		// What a new process has said already can only be for its first exchange;
		// of any other, all that it said before it could know of this one is not.
		if p.life.turn.Load() != nil {
			next.since = p.conn.Said()
		}
		p.life.turn.Store(next)
		p.pulse.begin()
		if p.kept.conn != nil {
			l.frame = p.kept.beginning(next)
		}
		promptAt, _ = p.sendLine(l, true)
		return promptAt
	})
	p.stages.wantRead()
	if ended {
		p.tell(next.in)
	}
}

// wantRead begins reading.
func (s *stages) wantRead() { s.wanting.Do(func() { close(s.wanted) }) }

// rest takes the process back from its exchange.
func (p *process) rest(served bool) {
	p.life.rest(served)
	p.keepRest(served)
	if served {
		p.hosts.pools[p.cfg.Name].starts.succeed()
	}
	if p.work != nil && served {
		p.retire(leaveIdle) // the next exchange has another directory
		return
	}
	select {
	case <-p.hosts.closing:
		p.retire(leaveIdle)
	default:
	}
}

// usable says that the process can take an exchange.
func (p *process) usable() bool {
	select {
	case <-p.conn.Done():
		return false
	default:
	}
	return p.life.canServe()
}

// finish is the reader's end: it finds out why nothing more comes, tells the
// exchange, and sees the process off.
func (p *process) finish(err error, last ndjson.Line) {
	ours := p.life.silence()
	failure, exited := p.why(err, last)
	p.told(failure)
	if !ours && !p.read.done && !broke(err) {
		p.aborted(failure)
	}
	p.out.close()
	if exited {
		within(exitSettles, p.stages.writeDone)
	}
	switch in, retiring := p.life.end(failure, exited); {
	case in != nil:
		p.tell(in)
	case !exited && !retiring && !p.hosts.left.Load():
		p.hosts.remark("warn", p.cfg, "is ended, and started again when it is needed: %s", failure.Message)
	}
	p.retire(0)
}

// broke says that what the host sent cannot be read; else its output has ended.
func broke(err error) bool { return !errors.Is(err, errCutOff) && !errors.Is(err, io.EOF) }

// why makes the failure of an exchange whose host's output has ended.
func (p *process) why(err error, last ndjson.Line) (failure *effect.Error, exited bool) {
	cut := errors.Is(err, errCutOff)
	if broke(err) {
		return p.lineFailure(err, last.Text), false
	}
	exited = within(exitSettles, p.conn.Done())
	switch {
	case cut && !(exited && p.conn.Exit().Limit != ""):
		failure = p.cfg.broken("ended in the middle of a message (%d bytes): %s", len(last.Text), stderrlog.Quote(last.Text))
		if exited {
			withExit(failure, p.conn.Exit())
		}
	case exited:
		failure = p.cfg.exited(p.conn.Exit())
	default:
		failure = effect.Errorf("HostError", "host exited without result: it closed its output and goes on running").With("host", p.cfg.Name)
		failure.Status = effect.Unknown
	}
	return failure, exited && !cut
}

// tell lets an exchange know that the process has ended. One that had served
// before and has not read the prompt cannot have begun its work: another takes
// the exchange over.
func (p *process) tell(in *inbox) {
	failure, untouched := p.life.outcome(p.out.consumed())
	if untouched && in.restart() || isLost(failure) && in.lose(failure) {
		return
	}
	in.fail(failure)
}

// retire ends the process and all it started: its input ends, and if it has not
// left after patience, it is made to. It returns at once; gone is closed when
// nothing is left.
func (p *process) retire(patience time.Duration) {
	if !p.life.retire() {
		return
	}
	p.out.close()
	p.stages.wantRead()
	go func() {
		defer p.hosts.unregister(p)
		defer close(p.stages.gone)
		t := time.NewTimer(patience)
		defer t.Stop()
		select {
		case <-p.conn.Done():
		case <-t.C:
		case <-p.hosts.kill:
		}
		p.door.end()
		p.help.End()
		p.conn.End(grace, p.hosts.kill)
		p.dropKept()
		p.help.Wait()
		p.conn.CloseWrite()
		<-p.stages.writeDone
		<-p.stages.readDone
		p.aside.End()
		if p.hosts.opts.Wire != nil {
			p.wireExit()
		}
		if p.work != nil {
			p.leaveWork()
		}
	}()
}

// within waits for c to be closed, d at most, and says whether it was.
func within(d time.Duration, c <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}
