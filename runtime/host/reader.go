package host

import (
	"bytes"
	"errors"
	"os"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// turn is an exchange as the reader sees it. A line belongs to the exchange in
// which it was written, whenever it is read.
type turn struct {
	in    *inbox
	since int64    // where its lines begin in all that the host says
	one   bool     // its first message is its last: it is the initialisation
	opens string   // the sum of what was asked for; "" where nobody keeps the process
	again *revival // nil: another process has not had it before

	// The reader's own.
	over    bool // its last message has been read
	strayed bool // it has been told that the host says more
}

// reader reads what a process says. It is used by who has the role.
type reader struct {
	p      *process
	role   role
	now    *turn       // of the line that was read last
	before *turn       // the one before now
	spoken atomic.Bool // the process has sent a message
	done   bool        // one that ends its exchange
	room   room        // for what a message unfolds to
	b      batch       // in hand: of now, and not yet handed on

	over bool // nothing more will come:
	err  error
	last ndjson.Line
}

// run is the reader goroutine.
func (r *reader) run() {
	for !r.over {
		if r.pass(true) {
			r.role.await()
		}
	}
	r.p.finish(r.err, r.last)
}

// pass decodes what the host says, waiting for the first of it, and hands it on as
// a batch: all that came together, up to a batch's bounds, and belongs to one
// exchange. It gives true when it was interrupted instead. own says that it is the
// reader goroutine's, which also waits until there is room for the batch; a borrower
// takes it next.
func (r *reader) pass(own bool) (interrupted bool) {
	for {
		ready := r.p.conn.Ready()
		if len(r.b.msgs) > 0 && (r.b.full() || !ready) {
			r.flush(own)
			return false
		}
		l, err := r.line(own && !ready)
		if err == errGone {
			return true
		}
		if t := r.p.life.turn.Load(); t != r.now {
			r.flush(own)
			r.before, r.now = r.now, t
			r.b.lines = nil
		}
		large := false
		if err == nil {
			if large = r.b.size > 0 && r.b.size+len(l.Text) > batchBytes; large {
				r.flush(own) // the line is the first of the next batch
			}
			err = r.hear(l, own)
		}
		if err != nil {
			r.flush(own)
			r.p.wireBroken(err)
			r.over, r.err, r.last = true, err, l
		}
		if large || r.over {
			return false
		}
	}
}

// errGone says that the reader has been interrupted: by the one to whom the role
// has gone, or by who ends the borrowing.
var errGone = errors.New("the reader is interrupted")

// line reads a line. lends says that the role may be borrowed meanwhile.
func (r *reader) line(lends bool) (ndjson.Line, error) {
	for {
		if lends {
			r.role.idle()
		}
		r.p.pulse.waits()
		l, err := r.p.conn.Read()
		interrupted := errors.Is(err, os.ErrDeadlineExceeded)
		r.p.pulse.ceases(!interrupted)
		switch {
		case lends && r.role.busy(interrupted), interrupted && !lends:
			return l, errGone
		case !interrupted:
			return l, err
		}
	}
}

// flush hands on what is in hand.
func (r *reader) flush(own bool) {
	n := len(r.b.msgs)
	if n == 0 {
		return
	}
	r.role.handed(&r.b)
	r.now.in.put(r.b, own) // what has failed meanwhile takes no more
	// In a flood the next batch is full as well.
	if n > batchMessages/16 {
		n = batchMessages
	}
	r.b = batch{msgs: make([]effect.HostMessage, 0, n)}
}

// hear takes what a line of the host's says: that line, or what its adapter makes of it.
func (r *reader) hear(l ndjson.Line, own bool) error {
	if r.p.kept.conn != nil && (r.now == nil || l.Offset >= r.now.since) {
		r.b.read(l)
	}
	if r.p.words == nil {
		r.p.wireHeard(l.Text)
		return r.take(l)
	}
	all, err := r.translate(l)
	for _, text := range all {
		if r.p.kept.conn == nil && (r.b.full() || r.b.size+len(text) > batchBytes) {
			r.flush(own)
		}
		if err := r.take(ndjson.Line{Text: text, Offset: l.Offset, Half: l.Half}); err != nil {
			return err
		}
	}
	return err
}

// heard is a line of the host on its way into the batch: decode, route, decide and deliver handle it in this order.
type heard struct {
	line   ndjson.Line
	m      *effect.HostMessage // what it says; where the batch's next message goes
	unread error               // why it is no message
	of     *turn               // the exchange in which it was written; nil when there was none
}

// take adds a line to the batch, if it is a message or counts as one. It fails
// when the line says that what the host sends cannot be read.
func (r *reader) take(l ndjson.Line) error {
	x := heard{line: l}
	r.decode(&x)
	if !r.route(&x) {
		return r.aside(&x)
	}
	if wanted, err := r.decide(&x); !wanted {
		return err
	}
	r.deliver(&x)
	return nil
}

// decode reads the line as a message.
func (r *reader) decode(x *heard) {
	x.m = r.b.room()
	x.unread = r.room.decodeIn(x.m, x.line.Text)
	if x.unread == nil && !r.spoken.Load() {
		r.spoken.Store(true)
	}
}

// route finds the exchange of the line, and reports whether that is the one that runs.
func (r *reader) route(x *heard) bool {
	x.of = r.turnOf(x.line)
	return x.of != nil && x.of == r.now && !x.of.over
}

// aside is what becomes of a line outside the exchange that runs.
func (r *reader) aside(x *heard) error {
	if x.unread == nil && r.p.rules != nil && r.p.words != nil && x.m.Type == hostmsg.Approval {
		return r.decideAside(x.m, x.line.Text, "no exchange is running that could decide it")
	}
	r.stray(x)
	return nil
}

// decide says whether the line is a message for the exchange. A line that is no message may count as the result, and the
// host's permissions answer an approval.
func (r *reader) decide(x *heard) (wanted bool, err error) {
	switch {
	case x.unread == nil:
		if err := r.permit(x); err != nil {
			return false, err
		}
	case !errors.Is(x.unread, errNotMessage):
		if x.line.Half {
			return false, errCutOff
		}
		return false, x.unread
	case r.spoken.Load():
		r.p.hosts.remark("warn", r.p.cfg, "sent a line that is not a message; it is skipped: %s", stderrlog.Quote(x.line.Text))
		return false, nil
	default:
		plain(x.m, x.line.Text)
		r.fallback(x.line.Text)
	}
	if x.of.again != nil {
		if known, err := r.reheard(x.of, &x.m); known || err != nil {
			return false, err
		}
	}
	return true, nil
}

// deliver adds the message to the batch, and notes what follows from it for the process and the exchange.
func (r *reader) deliver(x *heard) {
	r.b.keep()
	r.p.pulse.takes(x.m)
	r.done = r.done || r.b.terminal
	r.named(x.m, r.b.terminal)
	x.of.over = r.b.terminal || x.of.one && r.acknowledges(x.m)
}

// named hears which conversation a message names. The last one of an exchange
// tells the program the one that was named last.
func (r *reader) named(m *effect.HostMessage, last bool) {
	now := r.p.conversation()
	if s := m.Session(); r.p.words == nil && s != "" && s != now {
		now = s
		r.p.talk.Store(new(s))
		r.p.keepSession(s)
	}
	if last && now != "" {
		m.Name(now)
	}
	if last && r.p.work != nil && m.Type == hostmsg.Result {
		r.p.tellPlace(m)
	}
}

// acknowledges says that a message is the last of an initialisation. A vendor's agent
// may say other things before it.
func (r *reader) acknowledges(m *effect.HostMessage) bool {
	return r.p.words == nil || hostmsg.Of(m.Type).Role == hostmsg.Acknowledges
}

// turnOf is the exchange in which a line was written, this one or the one
// before; nil when there was none.
func (r *reader) turnOf(l ndjson.Line) *turn {
	if r.now == nil {
		return nil
	}
	begins := l.Offset + int64(len(l.Text)-len(bytes.TrimLeft(l.Text, jsonobject.Blanks)))
	if begins < r.now.since {
		return r.before
	}
	return r.now
}

// fallback tells, once, that a host's lines count as results. With a host that
// is to send text that is as it should be; before the acknowledgement of its
// parameters the line is judged by who waits for that.
func (r *reader) fallback(line []byte) {
	if r.p.cfg.hasParams() {
		return
	}
	r.p.hosts.pools[r.p.cfg.Name].plain.Do(func() {
		level := "debug"
		if r.p.cfg.OutputFormat == "json" {
			level = "warn"
		}
		r.p.hosts.remark(level, r.p.cfg, "sent a line that is not a message; it counts as the result: %s", stderrlog.Quote(line))
	})
}

// stray reports a line that came after the end of an exchange. Only the first one is reported.
func (r *reader) stray(x *heard) {
	t := x.of
	if t == nil || t.strayed || r.p.life.isRetiring() {
		return
	}
	t.strayed = true
	what := "a message of type '" + x.m.Type + "'"
	if x.unread != nil {
		what = "a line that is not a message"
	}
	r.p.hosts.remark("warn", r.p.cfg, "sent %s outside an exchange; it is ignored: %s", what, stderrlog.Quote(x.line.Text))
}
