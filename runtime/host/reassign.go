package host

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// canContinueElsewhere reports whether another process of the host can continue an exchange by its
// session. An isolated host cannot, because the session's directory is lost.
func (c *Config) canContinueElsewhere() bool {
	if c.isolated() {
		return false
	}
	return c.protocol().New != nil || (c.Init || c.hasParams()) && c.inputJSON()
}

// trackHistory sets the exchange's history if another process may have to continue the exchange.
func (ex *exchange) trackHistory(c *continuity.History) {
	if !inPage && ex.pool.hosts.opts.Keeper != nil && ex.pool.cfg.canContinueElsewhere() {
		ex.history, ex.inbox.canContinue = c, c != nil
	}
}

// handOver moves an exchange whose process was lost to a new process that continues the session. If
// that is impossible, the exchange fails with the error lost. handOver returns ctx's error if ctx
// ends.
func (ex *exchange) handOver(ctx context.Context, lost *effect.Error) error {
	handover := ex.ensureHandover()
	if handover == nil {
		ex.inbox.setFailure(lost)
		return nil
	}
	if ex.endLostTurn(false) {
		ex.inbox.setFailure(ex.pool.cfg.interruptedError())
		return nil
	}
	w := acquireSpec{session: ex.history.SessionName(), workspace: ex.workspace, dir: ex.dir, start: ex.start, predecessor: &handover.Note.Predecessor}
	ex.deliveredLine.Store(0)
	current := ex.inbox.turns.currentPrompt()
	err := ex.moveToNewProcess(ctx, w, func(p *process) {
		p.continueExchange(ex.inbox, p.keeper.requestDigest(ex.request), handover, ex.continuationPrompt(p, w.session, handover, current))
	})
	if err == nil || ctx.Err() != nil || errors.Is(err, ErrClosed) {
		return err
	}
	ex.pool.hosts.logf("warn", ex.pool.cfg, "was lost, and could not continue session '%s': %v", w.session, err)
	ex.inbox.setFailure(lost)
	return nil
}

// ensureHandover returns the handover of a lost exchange, or nil if no other process can continue
// the exchange.
func (ex *exchange) ensureHandover() *continuity.Handover {
	if ex.history.SessionName() == "" {
		return nil
	}
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if ex.handover == nil || ex.proc != nil {
		ex.handover = ex.history.NewHandover()
	}
	return ex.handover
}

// continuationPrompt returns the prompt for the process that continues the exchange. current is the
// message that is the prompt of the current turn, or nil.
func (ex *exchange) continuationPrompt(p *process, session string, handover *continuity.Handover, current *steerMessage) line {
	r := ex.request.Continuing(session)
	if current != nil {
		r.Prompt = current.Text
	}
	l := ex.pool.cfg.promptWith(r, promptOptions{withTools: p.announced.wantsTools || ex.pool.cfg.SendTools, key: ex.key, resumed: &handover.Resumption, trace: ex.trace})
	if current != nil {
		l.frame.note = current.promptNote()
	}
	return l
}

// restoreLost restores an open exchange whose process was lost.
func (h *Hosts) restoreLost(ex *exchange, o *Open) {
	ex.wasLost = true
	ex.trackHistory(o.History)
	ex.restoreTurns(o, nil)
	session, unsure := ex.history.SessionName(), ex.dropLostQueue(o)
	switch {
	case unsure != nil:
		ex.inbox.setFailure(unsure)
		ex.cancelWaits()
	case session == "":
		ex.inbox.setFailure(ex.pool.cfg.lostError())
		ex.cancelWaits()
	case o.Over:
		ex.session = session // of the process that a further turn needs
		ex.inbox.markTerminal()
		ex.inbox.endLastTurn()
	default:
		ex.handover = ex.history.NewHandover() // serves replies that the program sends before the new process exists
		ex.inbox.markLost(ex.pool.cfg.lostError())
	}
}

// dropLostQueue removes the queued messages of an exchange that was lost. The end of a turn is
// journaled after the host has received the next prompt, so that the journal does not show whether
// the host has received them. It returns an error if one of them is a message of the program.
func (ex *exchange) dropLostQueue(o *Open) *effect.Error {
	t := &ex.inbox.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	if o.Over || t.steering == nil {
		return nil
	}
	var unsure *effect.Error
	for _, m := range t.queue {
		isOutside := slices.ContainsFunc(o.Steered, func(s Steered) bool { return s.Key == m.Key && s.Outside })
		if !isOutside && unsure == nil {
			unsure = ex.pool.cfg.lostQueueError(m)
		} else if isOutside {
			ex.pool.hosts.logf("warn", ex.pool.cfg, "is lost, and may have received a queued message, which is not sent again: %s", strconv.Quote(m.Text))
		}
	}
	t.queue = nil
	return unsure
}

// findSuccessor returns the index of the newest process that was started to continue the exchange,
// or -1.
func findSuccessor(all []keeper.Process, o *Open) int {
	at := -1
	for i := range all {
		if p := &all[i]; p.Host == o.Request.Host && o.History.Matches(parseSpawnNote(p.Note).Of) && (at < 0 || p.K > all[at].K) {
			at = i
		}
	}
	return at
}

// skipJournaled reads the journaled lines of a process that continues an exchange, so that they are
// not delivered again. It applies only to processes that use Concerto's protocol. The keeper stores
// all lines of such a process.
func (r *restoredProcess) skipJournaled(t *segment, journaled int64) {
	p := r.process
	if p.translation != nil || r.predecessor == nil {
		return
	}
	read := p.reader
	read.current = t
	for at := int64(0); at < journaled; {
		l, err := p.conn.ReadLine()
		if err != nil {
			read.closed, read.err, read.lastLine = true, err, l
			return
		}
		at = l.Number
		if l.Offset >= t.offset {
			t.matchJournaled(l.Text)
		}
		r.noteMessage(l.Text)
	}
}

// noteMessage records that the process has sent a message.
func (r *restoredProcess) noteMessage(text []byte) {
	var m effect.HostMessage
	if decodeMessage(&m, text, nil) == nil {
		r.process.reader.hasSpoken.Store(true)
	}
}

// undeliveredReplies returns the replies that the process has not received. For each reply that the
// process has received, it decrements the count in sums.
func (r *restoredProcess) undeliveredReplies(o *Open, sums map[string]int) []*effect.ExchangeReply {
	replies := o.Replies
	if v := r.lastBegin.Revived; v != nil {
		if len(replies) < v.Replies && v.Last != "" {
			sums[v.Last]++ // the lost process received this reply, and the new one receives it again
		}
		replies = replies[min(v.Replies, len(replies)):]
	}
	var missing []*effect.ExchangeReply
	for _, reply := range replies {
		l := line{short: continuity.AppendReply(nil, reply)}
		if sum := l.digest(); sums[sum] == 0 {
			missing = append(missing, reply)
		} else {
			sums[sum]--
		}
	}
	return missing
}

// mayHaveBeenPrompted reports whether a lost process of the host may have received the prompt of
// the exchange.
func (h *Hosts) mayHaveBeenPrompted(o *Open, processes []keeper.Process) bool {
	last := h.opts.Keeper.Last(o.Request.Host)
	for k := int64(1); k <= last; k++ {
		if !slices.ContainsFunc(processes, func(p keeper.Process) bool { return p.Host == o.Request.Host && p.K == k }) {
			return true
		}
	}
	return false
}

// isFenced reports whether a lost process may have received the prompt for this request. It returns
// true only once for each entry of Hosts.fenced.
func (h *Hosts) isFenced(r *effect.ExchangeOpen) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.fenced) == 0 {
		return false
	}
	at := slices.Index(h.fenced, digestRequest(r))
	if at >= 0 {
		h.fenced = slices.Delete(h.fenced, at, at+1)
	}
	return at >= 0
}
