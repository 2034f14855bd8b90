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
	hosts *Hosts
	cfg   *Config
	conn  Conn
	out   *outbox
	read  *reader
	between
	identity
	capabilities

	mu       sync.Mutex
	cur      *inbox // of the exchange that has the process
	promptAt int64  // where its prompt begins in all that was sent
	served   bool   // it has completed an exchange
	retiring bool
	fate

	turn atomic.Pointer[turn] // of the newest exchange; nil before the first
	health
	stages
	lasting
}

// stages of a process are closed when they are reached.
type stages struct {
	wanted    chan struct{} // reading begins: at the first prompt, or the end
	wanting   sync.Once
	readDone  chan struct{}
	writeDone chan struct{}
	gone      chan struct{} // nothing is left of it
}

// between is what stands between what a process says and the program.
type between struct {
	words *translation         // nil: it speaks our protocol
	entry *adapter.BridgeEntry // to the program's tools; nil: there is none
	door  *door                // what is there; nil: nothing, or it is with the keeper
	tools adapter.Tools        // that it has been told of
	rules *hostpolicy.Policy   // nil: nothing is decided for it
	help  *service.Service     // nil: nothing is done for it
}

// identity is what a process is called, and where it works.
type identity struct {
	number int                    // the how-manieth of its host, from 1
	talk   atomic.Pointer[string] // the host's name for the conversation; nil before it has one
	work   *workspace.Dir         // that it has to itself; nil without isolate
}

// health is what tells how a process fares.
type health struct {
	aside   stderrlog.Lines // its standard error
	pulse   *pulse          // nil: nobody asks whether it is silent
	done    bool            // the reader has read a terminal message
	counted bool            // as a start that failed; under the process's lock
}

// capabilities are those that init_ack announced.
type capabilities struct {
	cancels, resumes bool
	tells            bool          // it is to be told of its tools
	state            State         // all that it said of itself
	version          *versionCheck // nil when the protocol needs no version
}

// fate is how the output of a process ended.
type fate struct {
	silent  bool // it has ended
	ended   bool // and the reader knows why
	exited  bool // because the process has
	failure *effect.Error
}

func newProcess(h *Hosts, c *Config) *process {
	p := &process{
		hosts: h, cfg: c, health: health{pulse: newPulse(c, h.opts.Hand), aside: stderrlog.Lines{Log: func(line string) { h.opts.Log(c.Name, line) }}},
		stages: stages{wanted: make(chan struct{}), readDone: make(chan struct{}), writeDone: make(chan struct{}), gone: make(chan struct{})},
	}
	p.read = &reader{process: p, room: room{limit: h.opts.MaxMemory}}
	return p
}

// attach gives the process its connection.
func (p *process) attach(conn Conn) {
	p.conn, p.out = conn, newOutbox(conn)
	p.read.role.of(conn)
	if kept, ok := conn.(keptConn); ok {
		p.kept, p.out.frame = kept.Conn, p.framed
		p.kept.OnUnread(p.unread)
	}
	if p.hosts.opts.Wire != nil {
		p.out.tap = p.wireSent
	}
}

// start begins writing, and reading as soon as what is read is wanted.
func (p *process) start() {
	go func() {
		defer close(p.writeDone)
		p.out.run()
	}()
	go func() {
		defer close(p.readDone)
		<-p.wanted
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
	p.mu.Lock()
	in := next.in
	p.cur = in
	// What a new process has said already can only be for its first exchange;
	// of any other, all that it said before it could know of this one is not.
	if p.turn.Load() != nil {
		next.since = p.conn.Said()
	}
	p.turn.Store(next)
	p.pulse.begin()
	if p.kept != nil {
		l.frame = p.beginning(next)
	}
	p.promptAt, _ = p.sendLine(l, true)
	ended := p.ended
	p.mu.Unlock()
	p.want()
	if ended {
		p.tell(in)
	}
}

func (p *process) want() { p.wanting.Do(func() { close(p.wanted) }) }

// rest takes the process back from its exchange.
func (p *process) rest(served bool) {
	p.mu.Lock()
	p.cur = nil
	p.served = p.served || served
	p.mu.Unlock()
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

func (p *process) idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cur == nil
}

// usable says that the process can take an exchange.
func (p *process) usable() bool {
	select {
	case <-p.conn.Done():
		return false
	default:
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.silent && !p.retiring
}

// finish is the reader's end: it finds out why nothing more comes, tells the
// exchange, and sees the process off.
func (p *process) finish(err error, last ndjson.Line) {
	p.mu.Lock()
	p.silent = true
	ours := p.retiring
	p.mu.Unlock()
	failure, exited := p.why(err, last)
	p.told(failure)
	if !ours && !p.done && !broke(err) {
		p.aborted(failure)
	}
	p.out.close()
	if exited {
		within(exitSettles, p.writeDone)
	}
	p.mu.Lock()
	p.ended, p.exited, p.failure = true, exited, failure
	in, retiring := p.cur, p.retiring
	p.mu.Unlock()
	switch {
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
	p.mu.Lock()
	untouched := p.exited && p.served && p.out.consumed() <= p.promptAt
	failure := p.failure
	p.mu.Unlock()
	if untouched && in.restart() || isLost(failure) && in.lose(failure) {
		return
	}
	in.fail(failure)
}

// retire ends the process and all it started: its input ends, and if it has not
// left after patience, it is made to. It returns at once; gone is closed when
// nothing is left.
func (p *process) retire(patience time.Duration) {
	p.mu.Lock()
	was := p.retiring
	p.retiring = true
	p.mu.Unlock()
	if was {
		return
	}
	p.out.close()
	p.want()
	go func() {
		defer p.hosts.unregister(p)
		defer close(p.gone)
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
		<-p.writeDone
		<-p.readDone
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
