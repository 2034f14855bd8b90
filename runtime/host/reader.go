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

// take adds a line to the batch, if it is a message or counts as one. It fails
// when the line says that what the host sends cannot be read.
func (r *reader) take(l ndjson.Line) error {
	b := &r.b
	m := b.room()
	unread := r.room.decodeIn(m, l.Text)
	if unread == nil && !r.spoken.Load() {
		r.spoken.Store(true)
	}
	t := r.turnOf(l)
	switch {
	case t == nil || t != r.now || t.over:
		if unread == nil && r.p.rules != nil && r.p.words != nil && m.Type == hostmsg.Approval {
			return r.decideAside(m, l.Text, "no exchange is running that could decide it")
		}
		r.stray(t, m, unread, l.Text)
		return nil
	case unread == nil:
		if err := r.decide(t, m, l.Text); err != nil {
			return err
		}
	case !errors.Is(unread, errNotMessage):
		if l.Half {
			return errCutOff
		}
		return unread
	case r.spoken.Load():
		r.p.hosts.remark("warn", r.p.cfg, "sent a line that is not a message; it is skipped: %s", stderrlog.Quote(l.Text))
		return nil
	default:
		plain(m, l.Text)
		r.fallback(l.Text)
	}
	if t.again != nil {
		if known, err := r.reheard(t, &m); known || err != nil {
			return err
		}
	}
	b.keep()
	r.p.pulse.takes(m)
	r.done = r.done || b.terminal
	r.named(m, b.terminal)
	t.over = b.terminal || t.one && r.acknowledges(m)
	return nil
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

// stray is a line that came behind the end of an exchange. The first one is
// told.
func (r *reader) stray(t *turn, m *effect.HostMessage, unread error, line []byte) {
	if t == nil || t.strayed || r.p.life.isRetiring() {
		return
	}
	t.strayed = true
	what := "a message of type '" + m.Type + "'"
	if unread != nil {
		what = "a line that is not a message"
	}
	r.p.hosts.remark("warn", r.p.cfg, "sent %s outside an exchange; it is ignored: %s", what, stderrlog.Quote(line))
}
