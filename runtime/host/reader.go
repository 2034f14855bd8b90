package host

import (
	"bytes"
	"errors"

	"github.com/concerto-lang/concerto/internal/effect"
	"github.com/concerto-lang/concerto/internal/hostmsg"
	"github.com/concerto-lang/concerto/internal/ndjson"
)

// turn is an exchange as the reader sees it. A line belongs to the exchange in
// which it was written, whenever it is read.
type turn struct {
	in    *inbox
	since int64 // where its lines begin in all that the host says
	one   bool  // its first message is its last: it is the initialisation

	// The reader's own.
	over    bool // its last message has been read
	strayed bool // it has been told that the host says more
}

// reader reads what a process says.
type reader struct {
	*process
	now    *turn // of the line that was read last
	before *turn // the one before now
	spoken bool  // the process has sent a message
	room   room  // for what a message unfolds to
}

// read decodes what the host says and hands it on in batches: all that came
// together, up to a batch's bounds, and belongs to one exchange.
func (r *reader) read() {
	var b batch
	flush := func() {
		if n := len(b.msgs); n > 0 {
			r.now.in.put(b) // what has failed meanwhile takes no more
			// In a flood the next batch is full as well.
			if n > batchMessages/16 {
				n = batchMessages
			}
			b = batch{msgs: make([]effect.HostMessage, 0, n)}
		}
	}
	for {
		l, err := r.conn.Read()
		if t := r.turn.Load(); t != r.now {
			flush()
			r.before, r.now = r.now, t
		}
		if err == nil {
			if b.size+len(l.Text) > batchBytes {
				flush()
			}
			err = r.hear(&b, l, flush)
		}
		if err != nil {
			flush()
			r.finish(err, l)
			return
		}
		if b.full() || !r.conn.Ready() {
			flush()
		}
	}
}

// hear takes what a line of the host's says: that line, or what its adapter makes of it.
func (r *reader) hear(b *batch, l ndjson.Line, flush func()) error {
	if r.words == nil {
		if r.hosts.opts.Wire != nil {
			r.wire(fromHost, string(l.Text))
		}
		return r.take(b, l)
	}
	all, err := r.translate(l)
	for _, text := range all {
		if b.full() || b.size+len(text) > batchBytes {
			flush()
		}
		if err := r.take(b, ndjson.Line{Text: text, Offset: l.Offset, Half: l.Half}); err != nil {
			return err
		}
	}
	return err
}

// take adds a line to the batch, if it is a message or counts as one. It fails
// when the line says that what the host sends cannot be read.
func (r *reader) take(b *batch, l ndjson.Line) error {
	m := b.room()
	unread := r.room.decodeIn(m, l.Text)
	r.spoken = r.spoken || unread == nil
	t := r.turnOf(l)
	switch {
	case t == nil || t != r.now || t.over:
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
	case r.spoken:
		r.hosts.remark("warn", r.cfg, "sent a line that is not a message; it is skipped: %s", quote(l.Text))
		return nil
	default:
		plain(m, l.Text)
		r.fallback(l.Text)
	}
	b.keep()
	r.named(m, b.terminal)
	t.over = b.terminal || t.one && r.acknowledges(m)
	return nil
}

// named hears which conversation a message names. The last one of an exchange
// tells the program the one that was named last.
func (r *reader) named(m *effect.HostMessage, last bool) {
	now := r.conversation()
	if s := m.Session(); r.words == nil && s != "" && s != now {
		r.talk.Store(&s)
		now = s
	}
	if last && now != "" {
		m.Name(now)
	}
}

// acknowledges says that a message is the last of an initialisation. A vendor's agent
// may say other things before it.
func (r *reader) acknowledges(m *effect.HostMessage) bool {
	return r.words == nil || hostmsg.Of(m.Type).Role == hostmsg.Acknowledges
}

// turnOf is the exchange in which a line was written, this one or the one
// before; nil when there was none.
func (r *reader) turnOf(l ndjson.Line) *turn {
	if r.now == nil {
		return nil
	}
	begins := l.Offset + int64(len(l.Text)-len(bytes.TrimLeft(l.Text, blanks)))
	if begins < r.now.since {
		return r.before
	}
	return r.now
}

// fallback tells, once, that a host's lines count as results. With a host that
// is to send text that is as it should be; before the acknowledgement of its
// parameters the line is judged by who waits for that.
func (r *reader) fallback(line []byte) {
	if r.cfg.hasParams() {
		return
	}
	r.hosts.pools[r.cfg.Name].plain.Do(func() {
		level := "debug"
		if r.cfg.OutputFormat == "json" {
			level = "warn"
		}
		r.hosts.remark(level, r.cfg, "sent a line that is not a message; it counts as the result: %s", quote(line))
	})
}

// stray is a line that came behind the end of an exchange. The first one is
// told.
func (r *reader) stray(t *turn, m *effect.HostMessage, unread error, line []byte) {
	r.mu.Lock()
	retiring := r.retiring
	r.mu.Unlock()
	if t == nil || t.strayed || retiring {
		return
	}
	t.strayed = true
	what := "a message of type '" + m.Type + "'"
	if unread != nil {
		what = "a line that is not a message"
	}
	r.hosts.remark("warn", r.cfg, "sent %s outside an exchange; it is ignored: %s", what, quote(line))
}
