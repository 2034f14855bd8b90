package host

import (
	"errors"
	"io"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/effect"
	"github.com/concerto-lang/concerto/internal/ndjson"
)

// How long a process may take before it is made to go on.
const (
	grace       = 5 * time.Second        // between SIGTERM and SIGKILL
	leaveIdle   = 200 * time.Millisecond // an idle host whose input has ended, before SIGTERM
	leaveTold   = time.Second            // a host told to cancel after its timeout, before SIGTERM
	exitSettles = time.Second            // between the end of its output and its exit
)

// errCutOff is a line that began as a message when the output ended.
var errCutOff = errors.New("output ended within a message")

// process is one running host: its connection, the goroutine that reads it and
// the one that writes to it. An exchange at a time has it; between exchanges it
// keeps running, and what it says then is dropped.
type process struct {
	hosts   *Hosts
	cfg     *Config
	conn    Conn
	out     *outbox
	cancels bool // init_ack announced the capability "cancel"

	mu       sync.Mutex
	cur      *inbox // of the exchange that has the process
	promptAt int64  // where its prompt begins in all that was sent
	served   bool   // it has completed an exchange
	strayed  bool   // it has been said that it talks out of turn
	retiring bool
	silent   bool // its output has ended
	ended    bool // and the reader knows why
	exited   bool // because the process has
	failure  *effect.Error

	readDone  chan struct{}
	writeDone chan struct{}
	gone      chan struct{} // nothing is left of it
}

func newProcess(h *Hosts, c *Config, conn Conn) *process {
	return &process{
		hosts: h, cfg: c, conn: conn, out: newOutbox(conn),
		readDone: make(chan struct{}), writeDone: make(chan struct{}), gone: make(chan struct{}),
	}
}

// start begins reading and writing.
func (p *process) start() {
	go func() {
		defer close(p.writeDone)
		p.out.run()
	}()
	go func() {
		defer close(p.readDone)
		p.read()
	}()
}

// begin gives the process to an exchange and sends the line that starts it.
// When the process has ended meanwhile, the inbox learns of it.
func (p *process) begin(in *inbox, line []byte) {
	p.mu.Lock()
	p.cur, p.strayed = in, false
	p.promptAt, _ = p.out.put(line, true)
	ended := p.ended
	p.mu.Unlock()
	if ended {
		p.tell(in)
	}
}

// rest takes the process back from its exchange.
func (p *process) rest(served bool) {
	p.mu.Lock()
	p.cur = nil
	p.served = p.served || served
	p.mu.Unlock()
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

// read decodes what the host says and hands it on in batches: all that came
// together, up to a batch's bounds.
func (p *process) read() {
	var b batch
	late := false // what is read came with a terminal message, so before any next prompt
	flush := func() {
		if n := len(b.msgs); n > 0 {
			p.deliver(b, late)
			late = b.terminal
			// In a flood the next batch is full as well.
			if n > batchMessages/16 {
				n = batchMessages
			}
			b = batch{msgs: make([]effect.HostMessage, 0, n)}
		}
	}
	for {
		late = late && p.conn.Ready()
		l, err := p.conn.Read()
		if err == nil && cutOff(l) {
			err = errCutOff
		}
		if err != nil {
			flush()
			p.finish(err, l)
			return
		}
		if b.size+len(l.Text) > batchBytes {
			flush()
		}
		b.add(l.Text)
		if b.full() || !p.conn.Ready() {
			flush()
		}
	}
}

// deliver gives a batch to the exchange that has the process; a late one is
// nobody's.
func (p *process) deliver(b batch, late bool) {
	p.mu.Lock()
	in := p.cur
	p.mu.Unlock()
	if !late && in != nil && in.put(b) {
		return
	}
	p.mu.Lock()
	first := !p.strayed && !p.retiring
	p.strayed = true
	p.mu.Unlock()
	if first {
		p.hosts.opts.Log(p.cfg.Name, "sent a message of type '"+b.msgs[0].Type+"' outside an exchange; it is ignored: "+quote(b.msgs[0].Text))
	}
}

// finish is the reader's end: it finds out why nothing more comes, tells the
// exchange, and sees the process off.
func (p *process) finish(err error, last ndjson.Line) {
	p.mu.Lock()
	p.silent = true
	p.mu.Unlock()
	failure, exited := p.why(err, last)
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
	case !exited && !retiring:
		p.hosts.opts.Log(p.cfg.Name, "is ended, and started again when it is needed: "+failure.Message)
	}
	p.retire(0)
}

// why makes the failure of an exchange whose host's output has ended.
func (p *process) why(err error, last ndjson.Line) (failure *effect.Error, exited bool) {
	cut := errors.Is(err, errCutOff)
	if !cut && !errors.Is(err, io.EOF) {
		return p.cfg.lineFailure(err), false
	}
	exited = within(exitSettles, p.conn.Done())
	switch {
	case cut:
		failure = p.cfg.broken("ended in the middle of a message: %s", quote(last.Text))
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
	if untouched && in.restart() {
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
		p.conn.End(grace, p.hosts.kill)
		p.conn.CloseWrite()
		<-p.writeDone
		<-p.readDone
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
