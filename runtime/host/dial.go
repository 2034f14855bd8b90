package host

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/hosttrace"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
)

// Dialer starts processes of a host outside any pool: who asked for one ends it.
type Dialer struct {
	hosts *Hosts
	cfg   *Config
}

// NewDialer makes one of a host, with what Options say of environment, run and
// recording.
func NewDialer(c Config, o Options) *Dialer {
	o.Configs = []Config{c}
	h := New(o)
	return &Dialer{h, h.configOf(c.Name)}
}

// Dial starts a process. The lines of the connection are those of our protocol,
// whatever the host speaks. stderr takes what the host writes there. The error is
// what a program would get; ctx bounds the wait for a vendor's version.
func (x *Dialer) Dial(ctx context.Context, stderr func(line string)) (Conn, error) {
	h, c := x.hosts, x.cfg
	p := newProcess(h, c)
	p.number = h.count(c.Name)
	if proto := c.protocol(); proto.New != nil {
		v, err := c.vendor(wish{})
		if err != nil {
			return nil, err
		}
		v.Serves = false // nobody here does
		p.words = &translation{a: proto.New(v)}
	}
	run := c.started("")
	env := h.environ(c, p.number)
	p.version = h.checkVersion(run, env)
	started := make(chan struct{}) // what it says is recorded behind its start
	defer close(started)
	conn, err := run.connect(h.opts.Transports, Surroundings{Env: env, Run: h.opts.Run, Stderr: func(line string) {
		<-started
		p.wire(hosttrace.Aside, line)
		stderr(line)
	}})
	if err != nil {
		return nil, err
	}
	p.conn = conn
	p.wire(hosttrace.Fate, hosttrace.Start)
	if err := p.recent(ctx); err != nil {
		conn.CloseWrite()
		conn.End(grace, h.kill)
		if h.opts.Wire != nil {
			p.wireExit()
		}
		return nil, err
	}
	return &dialled{Conn: conn, process: p}, nil
}

// dialled is the connection to a process as lines of our protocol. Who reads it hears
// what the adapter makes of the vendor's lines, if it has one.
type dialled struct {
	Conn
	process *process

	writing sync.Mutex    // the adapter answers while others write
	heard   []ndjson.Line // the reader's

	ending      sync.Mutex
	read, ended bool // all that it said; the process
}

func (d *dialled) Read() (ndjson.Line, error) {
	for len(d.heard) == 0 {
		l, err := d.Conn.Read()
		if err != nil {
			d.process.wireBroken(err)
			d.over(&d.read)
			return l, err
		}
		d.process.wireHeard(l.Text)
		t := d.process.words
		if t == nil {
			return l, nil
		}
		t.mu.Lock()
		s := t.a.Hear(l.Text)
		now := t.a.Conversation()
		t.mu.Unlock()
		d.process.talk.Store(&now)
		if len(s.Lines) > 0 {
			if _, err := d.put(adapter.JoinLines(s.Lines)); err != nil {
				return ndjson.Line{}, err
			}
		}
		for _, text := range s.Messages {
			d.heard = append(d.heard, ndjson.Line{Text: text, Offset: l.Offset, Half: l.Half})
		}
	}
	l := d.heard[0]
	d.heard = d.heard[1:]
	return l, nil
}

func (d *dialled) Ready() bool { return len(d.heard) > 0 || d.Conn.Ready() }

func (d *dialled) Write(ours []byte) (int, error) {
	t := d.process.words
	if t == nil {
		return d.put(ours)
	}
	for line := range strings.Lines(string(ours)) {
		t.mu.Lock()
		theirs := t.a.Say([]byte(line)).Lines
		t.mu.Unlock()
		if _, err := d.put(adapter.JoinLines(theirs)); err != nil {
			return 0, err
		}
	}
	return len(ours), nil
}

// TryWrite writes nothing: Write does.
func (d *dialled) TryWrite([]byte) int { return 0 }

func (d *dialled) put(lines []byte) (int, error) {
	d.writing.Lock()
	defer d.writing.Unlock()
	if d.process.hosts.opts.Wire != nil {
		d.process.wireSent(lines)
	}
	return d.Conn.Write(lines)
}

func (d *dialled) End(grace time.Duration, stop <-chan struct{}) {
	d.Conn.End(grace, stop)
	d.over(&d.ended)
}

// over records the end of the process, behind all that it said.
func (d *dialled) over(part *bool) {
	d.ending.Lock()
	defer d.ending.Unlock()
	was := d.read && d.ended
	*part = true
	if !was && d.read && d.ended && d.process.hosts.opts.Wire != nil {
		d.process.wireExit()
	}
}
