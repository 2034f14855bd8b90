package host

import (
	"context"
	"errors"
	"slices"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// mayGoOn says that another process of the host may go on with an exchange, by the conversation that it has named. What
// works in a directory of its own has lost what it worked on.
func (c *Config) mayGoOn() bool {
	if c.isolated() {
		return false
	}
	return c.protocol().New != nil || (c.Init || c.hasParams()) && c.inputJSON()
}

// follow has the exchange followed, where another process may have to go on with it.
func (ex *exchange) follow(c *Course) {
	if ex.pool.hosts.opts.Keeper != nil && ex.pool.cfg.mayGoOn() {
		ex.course, ex.in.lasts = c, c != nil
	}
}

// revive gives the exchange, whose process is lost, to a new one, which goes on with the conversation. When there is
// none, or the host cannot, the exchange has failed as it was lost. Its error is ctx's.
func (ex *exchange) revive(ctx context.Context, lost *effect.Error) error {
	again := ex.revival()
	if again == nil {
		ex.in.fail(lost)
		return nil
	}
	w := wish{session: ex.course.conversation(), tools: ex.tools, of: &again.note.predecessor}
	ex.given.Store(0)
	err := ex.restart(ctx, w, func(p *process) {
		p.goOn(ex.in, p.kept.opens(ex.asked), again, ex.promptAgain(p, w.session, again))
	})
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) {
		return err
	}
	ex.pool.hosts.remark("warn", ex.pool.cfg, "was lost, and cannot go on with session '%s': %v", w.session, err)
	ex.in.fail(lost)
	return nil
}

// revival is what a lost exchange is gone on with by; nil: that cannot be.
func (ex *exchange) revival() *revival {
	if ex.course.conversation() == "" {
		return nil
	}
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.again == nil || ex.proc != nil {
		ex.again = ex.course.revive()
	}
	return ex.again
}

// promptAgain is the prompt for a process that goes on with the exchange.
func (ex *exchange) promptAgain(p *process, session string, again *revival) line {
	asked := *ex.asked
	asked.Session = session
	return ex.pool.cfg.promptOf(&asked, p.announced.hearsTools || ex.pool.cfg.SendTools, ex.key, &again.told)
}

// lose makes an exchange that was open one whose process is lost.
func (h *Hosts) lose(ex *exchange, o *Open) {
	ex.follow(o.Course)
	if !o.Over && ex.course.conversation() != "" {
		ex.again = ex.course.revive() // who replies before there is a process
		ex.in.lose(ex.pool.cfg.lost())
		return
	}
	ex.in.fail(ex.pool.cfg.lost())
	ex.over()
}

// successor is the newest process that is to go on with an exchange; -1: there is none.
func successor(all []keeper.Process, o *Open) int {
	at := -1
	for i := range all {
		if p := &all[i]; p.Host == o.Request.Host && o.Course.is(noteOf(p.Note).Of) && (at < 0 || p.K > all[at].K) {
			at = i
		}
	}
	return at
}

// skip reads what is in the journal of a process that speaks our protocol and goes on with an exchange: the
// keeper has it all.
func (r *resumed) skip(t *turn, journaled int64) {
	p := r.p
	if p.words != nil || r.of == nil {
		return
	}
	read := p.read
	read.now = t
	for at := int64(0); at < journaled; {
		l, err := p.conn.Read()
		if err != nil {
			read.over, read.err, read.last = true, err, l
			return
		}
		at = l.Number
		if l.Offset >= t.since {
			t.rematch(l.Text)
		}
		r.spoke(l.Text)
	}
}

// spoke learns that the process has sent a message.
func (r *resumed) spoke(text []byte) {
	var m effect.HostMessage
	if decode(&m, text, nil) == nil {
		r.p.read.spoken.Store(true)
	}
}

// unsaid are the replies of an exchange that its process is to have, and what is noted of those that it had before.
func (r *resumed) unsaid(o *Open, sums map[string]int) []*effect.ExchangeReply {
	replies := o.Replies
	if v := r.turn.Revived; v != nil {
		if len(replies) < v.Replies && v.Last != "" {
			sums[v.Last]++ // it is made again, and the lost process had it
		}
		replies = replies[min(v.Replies, len(replies)):]
	}
	var missing []*effect.ExchangeReply
	for _, reply := range replies {
		l := line{short: appendReply(nil, reply)}
		if sum := l.sum(); sums[sum] == 0 {
			missing = append(missing, reply)
		} else {
			sums[sum]--
		}
	}
	return missing
}

// answeredAgain notes which of what was asked again has its answer.
func (v *revival) answeredAgain(replies, missing []*effect.ExchangeReply) {
	for _, r := range replies {
		if !slices.Contains(missing, r) {
			v.sent(r)
		}
	}
}

// dubious says that nobody knows whether a process of the host, which is lost, has had the prompt of an exchange.
func (h *Hosts) dubious(o *Open, known []keeper.Process) bool {
	last := h.opts.Keeper.Last(o.Request.Host)
	for k := int64(1); k <= last; k++ {
		if !slices.ContainsFunc(known, func(p keeper.Process) bool { return p.Host == o.Request.Host && p.K == k }) {
			return true
		}
	}
	return false
}

// doubts says, once for each, that an exchange to be opened is one of the dubious.
func (h *Hosts) doubts(r *effect.ExchangeOpen) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.doubted) == 0 {
		return false
	}
	at := slices.Index(h.doubted, sumOf(r))
	if at >= 0 {
		h.doubted = slices.Delete(h.doubted, at, at+1)
	}
	return at >= 0
}
