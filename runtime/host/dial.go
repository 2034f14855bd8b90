package host

import (
	"context"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// Dialer starts processes of one host that belong to no pool. The caller must end the processes.
type Dialer struct {
	hosts *Hosts
	cfg   *Config
}

// NewDialer returns a Dialer for one host. It uses the environment, the run and the trace of o.
func NewDialer(c Config, o Options) *Dialer {
	o.Configs = []Config{c}
	h := New(o)
	return &Dialer{h, h.configOf(c.Name)}
}

// Dial starts a process. The lines of the connection use Concerto's protocol, also for a vendor's
// agent. stderr receives the lines of the host's standard error. Dial returns the same errors that
// a program would receive. ctx limits the wait for the version of a vendor's program.
func (x *Dialer) Dial(ctx context.Context, stderr func(line []byte)) (Conn, error) {
	h, c := x.hosts, x.cfg
	p := newProcess(h, c)
	p.number = h.nextNumber(c.Name)
	if proto := c.protocol(); proto.New != nil {
		v, err := c.adapterConfig(acquireSpec{})
		if err != nil {
			return nil, err
		}
		v.Seed = procgroup.NewID()
		v.Serves = false // requests of a dialled process are not served
		p.translation = &translation{adapter: proto.New(v)}
	}
	run := c.startConfig("")
	env := h.processEnviron(c, p.number)
	if err := p.confine(run, env); err != nil {
		return nil, err
	}
	p.version = h.startVersionCheck(run, env, p.startCommand)
	started := make(chan struct{}) // standard error is traced only after the connection exists
	defer close(started)
	conn, err := run.connectVia(h.opts.Transports, Surroundings{Env: env, Start: p.startCommand, Stderr: func(line []byte) {
		<-started
		p.trace(hosttrace.Stderr, string(line))
		stderr(line)
	}})
	if err != nil {
		return nil, err
	}
	p.conn = conn
	p.trace(hosttrace.Lifecycle, hosttrace.Start)
	if err := p.checkVersion(ctx); err != nil {
		conn.CloseWrite()
		conn.End(termWait, h.kill.Done())
		if h.opts.Trace != nil {
			p.traceExit()
		}
		return nil, err
	}
	return &dialedConn{Conn: conn, process: p}, nil
}

// dialedConn is a connection to a process. Its lines use Concerto's protocol. For a vendor's agent
// it translates them through the adapter.
type dialedConn struct {
	Conn
	process *process

	writeMu lock[writeLock] // serialises the adapter's answers and other writes
	pending []ndjson.Line   // translated lines that ReadLine has not returned

	endMu              lock[endLock]
	outputEnded, ended bool // outputEnded: the output has ended; ended: the process has exited
}

func (d *dialedConn) ReadLine() (ndjson.Line, error) {
	for len(d.pending) == 0 {
		l, err := d.Conn.ReadLine()
		if err != nil {
			d.process.traceUnreadable(err)
			d.markEnded(&d.outputEnded)
			return l, err
		}
		d.process.traceReceived(l.Text)
		t := d.process.translation
		if t == nil {
			return l, nil
		}
		t.mu.Lock()
		s := t.adapter.FromAgent(l.Text)
		now := t.adapter.Conversation()
		t.mu.Unlock()
		d.process.session.Store(&now)
		if len(s.Lines) > 0 {
			if _, err := d.writeLines(adapter.JoinLines(s.Lines)); err != nil {
				return ndjson.Line{}, err
			}
		}
		for _, text := range s.Messages {
			d.pending = append(d.pending, ndjson.Line{Text: text, Offset: l.Offset, Half: l.Half})
		}
	}
	l := d.pending[0]
	d.pending = d.pending[1:]
	return l, nil
}

func (d *dialedConn) Ready() bool { return len(d.pending) > 0 || d.Conn.Ready() }

func (d *dialedConn) Write(ours []byte) (int, error) {
	t := d.process.translation
	if t == nil {
		return d.writeLines(ours)
	}
	for line := range strings.Lines(string(ours)) {
		t.mu.Lock()
		theirs := t.adapter.ToAgent([]byte(line)).Lines
		t.mu.Unlock()
		if _, err := d.writeLines(adapter.JoinLines(theirs)); err != nil {
			return 0, err
		}
	}
	return len(ours), nil
}

// TryWrite writes nothing, so the caller uses Write for all bytes.
func (d *dialedConn) TryWrite([]byte) int { return 0 }

func (d *dialedConn) writeLines(lines []byte) (int, error) {
	d.writeMu.Lock()
	defer d.writeMu.Unlock()
	if d.process.hosts.opts.Trace != nil {
		d.process.traceSent(lines)
	}
	return d.Conn.Write(lines)
}

func (d *dialedConn) End(grace time.Duration, stop <-chan struct{}) {
	d.Conn.End(grace, stop)
	d.markEnded(&d.ended)
}

// markEnded sets *part, one of outputEnded and ended. It traces the process's exit once both are
// set.
func (d *dialedConn) markEnded(part *bool) {
	d.endMu.Lock()
	defer d.endMu.Unlock()
	was := d.outputEnded && d.ended
	*part = true
	if !was && d.outputEnded && d.ended && d.process.hosts.opts.Trace != nil {
		d.process.traceExit()
	}
}
