package host

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"sync/atomic"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/process/stderrlog"
	"github.com/concerto-lang/concerto/internal/text/ndjson"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// segment is the part of a process's output that belongs to one exchange. A line belongs to the
// exchange that was running when the host wrote the line, whenever the line is read.
type segment struct {
	inbox         *inbox
	offset        int64                // offset of the segment's first byte in the output
	isInit        bool                 // segment of the initialisation: its first message is also its last
	requestDigest string               // digest of the opening request; "" if no keeper runs the process
	handover      *continuity.Handover // handover from a lost process; nil if the exchange had no earlier process

	// Only the reader uses these fields.
	ended           bool           // the terminal message has been read
	pieces          *secret.Stream // the partial messages without secrets; nil before the first
	pieceOf         string         // member message of the last of them; "" for none
	outsideReported bool           // logOutside has reported a line after the terminal message

	// reopenedAt is the offset at which a further turn of an ended exchange begins, plus 1; 0 means
	// none.
	reopenedAt atomic.Int64
}

// reopen makes the lines from an offset in the output lines of the exchange, which has ended.
func (t *segment) reopen(offset int64) { t.reopenedAt.Store(offset + 1) }

// hasEnded reports whether the exchange had ended before a line. Only the reader calls it.
func (t *segment) hasEnded(l ndjson.Line) bool {
	if at := t.reopenedAt.Load(); t.ended && at > 0 && startOf(l) >= at-1 {
		t.reopenedAt.Store(0)
		t.ended, t.outsideReported = false, false
	}
	return t.ended
}

// reader reads the output of a process. Only the goroutine that holds the read lease uses it.
type reader struct {
	process     *process
	lease       readLease
	current     *segment     // segment of the line that was read last
	previous    *segment     // segment before current
	hasSpoken   atomic.Bool  // the process has sent at least one message
	sawTerminal bool         // a terminal message has been read
	number      atomic.Int64 // number of the line that was read last
	budget      decodeBudget
	batch       batch                    // messages of the current segment that are not yet delivered to its inbox
	steered     []adapter.Steered        // answers of the agent to messages, in the line that is being handled
	refused     []adapter.RefusedRequest // requests in this line that were refused
	own         []adapter.OwnDecision    // decisions of the agent itself in this line
	lost        []adapter.Undelivered    // decisions that this line shows not to have arrived

	flushed  bool // a batch was delivered in the middle of a line
	closed   bool // the output has ended
	err      error
	lastLine ndjson.Line
}

// readLoop is the body of the reader goroutine.
func (r *reader) readLoop() {
	for !r.closed {
		if r.readBatch(true) {
			r.lease.awaitReturn()
		}
	}
	if !inPage {
		r.loseUnconfirmed()
	}
	r.process.handleOutputEnd(r.err, r.lastLine)
}

// readBatch waits for a line and then reads all available lines of the same exchange, up to the
// limits of a batch. It decodes the lines and delivers them to the inbox as one batch. own is true
// for the reader goroutine, which also waits until the batch fits into the inbox; any other
// goroutine takes the batch from the inbox itself. readBatch returns true if it was interrupted.
func (r *reader) readBatch(own bool) (interrupted bool) {
	for {
		ready := r.process.conn.Ready()
		if len(r.batch.msgs) > 0 && (r.batch.isFull() || !ready) {
			r.flushBatch(own)
			return false
		}
		l, err := r.readHostLine(own && !ready)
		if err == errInterrupted {
			return true
		}
		if t := r.process.lifecycle.segment.Load(); t != r.current {
			r.flushBatch(own)
			r.previous, r.current = r.current, t
			r.batch.lines = nil
		}
		large := false
		r.flushed = false
		if err == nil {
			if large = r.batch.size > 0 && r.batch.size+len(l.Text) > batchBytes; large {
				r.flushBatch(own) // the line that follows belongs to the next batch
			}
			err = r.handleLine(l, own)
		}
		if err != nil {
			r.flushBatch(own)
			r.process.traceUnreadable(err)
			r.closed, r.err, r.lastLine = true, err, l
		}
		if large || r.closed || r.flushed && len(r.batch.msgs) == 0 { // the exchange has messages to handle
			return false
		}
	}
}

// errInterrupted means that a read was interrupted because another goroutine has acquired the
// lease, or because the reading must end.
var errInterrupted = errors.New("the reader is interrupted")

// readHostLine reads a line. If lend is true, another goroutine may acquire the lease while
// readHostLine waits.
func (r *reader) readHostLine(lend bool) (ndjson.Line, error) {
	for {
		if lend {
			r.lease.beginWait()
		}
		r.process.silence.beginWait()
		l, err := r.process.conn.ReadLine()
		interrupted := errors.Is(err, os.ErrDeadlineExceeded)
		r.process.silence.endWait(!interrupted)
		switch {
		case lend && r.lease.endWait(interrupted), interrupted && !lend:
			return l, errInterrupted
		case !interrupted:
			return l, err
		}
	}
}

// flushBatch delivers the batch to the inbox.
func (r *reader) flushBatch(own bool) {
	n := len(r.batch.msgs)
	if n == 0 {
		return
	}
	r.flushed = true
	r.lease.noteBatch(&r.batch)
	in, stop := r.current.inbox, r.batch.stop
	if !in.addBatch(r.batch, own && stop == nil) { // the exchange has failed or is cancelled
		r.process.outside.recordDropped(r.batch.msgs)
	}
	if stop != nil {
		go in.exchange.stopAtLimit(stop)
	}
	// During a flood the next batch will have about the same size.
	if n > batchMessages/16 {
		n = batchMessages
	}
	r.batch = batch{msgs: make([]effect.HostMessage, 0, n)}
}

// handleLine handles a line of the host. For a vendor's agent, it handles the lines to which the
// adapter translates the line.
func (r *reader) handleLine(l ndjson.Line, own bool) error {
	r.number.Store(l.Number)
	if r.process.keeper.conn != nil && (r.current == nil || l.Offset >= r.current.offset) {
		r.batch.addLine(l)
	}
	if r.handleBlocked(l) {
		return nil
	}
	if inPage || r.process.translation == nil {
		r.process.traceReceived(l.Text)
		return r.handleMessage(l)
	}
	all, err := r.translateLine(l)
	if len(r.steered) > 0 {
		r.settleSteered()
	}
	if len(r.refused)+len(r.lost)+len(r.own) > 0 {
		r.reportOwn(l)
		r.reportRefused(l)
		r.reportUndelivered(l)
	}
	for _, text := range all {
		if r.process.keeper.conn == nil && (r.batch.isFull() || r.batch.size+len(text) > batchBytes) {
			r.flushBatch(own)
		}
		if err := r.handleMessage(ndjson.Line{Text: text, Offset: l.Offset, Number: l.Number, Half: l.Half}); err != nil {
			return err
		}
	}
	return err
}

// incomingLine is a line of the host that is being handled. decodeLine, routeLine, acceptMessage
// and deliverMessage process it in this order.
type incomingLine struct {
	line      ndjson.Line
	msg       *effect.HostMessage // the decoded message; points into the batch
	decodeErr error               // reason why the line is not a message; nil for a message
	segment   *segment            // segment of the exchange in which the line was written; nil if no exchange was running
}

// handleMessage adds a line to the batch if the line is a message or counts as one. It returns an
// error if the rest of the host's output cannot be read because of this line.
func (r *reader) handleMessage(l ndjson.Line) error {
	x := incomingLine{line: l}
	r.decodeLine(&x)
	if !inPage && x.decodeErr == nil && hostmsg.Lookup(x.msg.Type).Role == hostmsg.Withdraws && r.process.outside.withdraw(x.msg) {
		return nil
	}
	if !r.routeLine(&x) {
		return r.handleOutside(&x)
	}
	if wanted, err := r.acceptMessage(&x); !wanted {
		return err
	}
	r.cleanPieces(&x)
	r.guardResult(x.msg)
	r.deliverMessage(&x)
	return nil
}

// cleanPieces removes secrets that are split over partial messages. The end of a piece that may be
// the start of a secret is held back until the next piece or the end of the exchange. The program
// and all records of the run therefore receive no part of a secret.
func (r *reader) cleanPieces(x *incomingLine) {
	secrets, t := r.process.hosts.opts.Secrets, x.segment
	switch {
	case t.isInit:
	case x.msg.Type == hostmsg.Retract:
		if t.pieces != nil && t.pieces.Held() != "" && retracts(x.msg, t.pieceOf) {
			t.pieces.Rest() // it is a part of what is retracted
		}
	case x.msg.Type != hostmsg.Partial && !hostmsg.Lookup(x.msg.Type).Terminal():
	case x.msg.Type != hostmsg.Partial:
		if t.pieces == nil {
			return
		}
		if rest := t.pieces.Rest(); rest != "" {
			r.insertPartial(x, rest)
		}
	case !secrets.Empty() || t.pieces != nil:
		for _, name := range []string{"text", "chunk"} {
			text, has := x.msg.Payload.Map().GetString(name)
			if !has || text.Kind() != value.KindString {
				continue
			}
			if t.pieces == nil {
				t.pieces = secrets.Stream()
			}
			of := memberText(x.msg, "message")
			held, clean := t.pieces.Held(), t.pieces.Next(text.AsString())
			if after, isWhole := strings.CutPrefix(clean, held); isWhole && held != "" && of != t.pieceOf {
				r.insertPartial(x, held) // it may be retracted with its own message
				clean = after
			}
			t.pieceOf = of
			if clean != text.AsString() {
				x.msg.Payload.Map().SetString(name, value.String(clean))
				x.msg.Text = append([]byte(`{"type":"`+hostmsg.Partial+`",`), value.AppendJSON(nil, x.msg.Payload)[1:]...)
			}
			return
		}
	}
}

// insertPartial inserts a piece before the message. It belongs to the same message as the last one.
func (r *reader) insertPartial(x *incomingLine, text string) {
	last := *x.msg
	as := jsonobject.New(hostmsg.Partial)
	as.Text("text", text)
	if of := x.segment.pieceOf; of != "" {
		as.Text("message", of)
	}
	*x.msg = mustMessage(as.End())
	r.batch.commitAs(hostmsg.Lookup(hostmsg.Partial))
	x.msg = r.batch.nextMessage()
	*x.msg = last
}

// memberText returns a member of a message that is a String, or "".
func memberText(m *effect.HostMessage, name string) string {
	if v, _ := m.Payload.Map().GetString(name); v.Kind() == value.KindString {
		return v.AsString()
	}
	return ""
}

// retracts reports whether a message retracts the pieces with an ID.
func retracts(m *effect.HostMessage, id string) bool {
	ids, _ := m.Payload.Map().GetString("messages")
	if ids.Kind() != value.KindArray || id == "" {
		return false
	}
	for i := range ids.Array().Len {
		if x := ids.Array().At(i); x.Kind() == value.KindString && x.AsString() == id {
			return true
		}
	}
	return false
}

// decodeLine decodes the line as a message.
func (r *reader) decodeLine(x *incomingLine) {
	x.msg = r.batch.nextMessage()
	x.decodeErr = r.budget.decodeMessage(x.msg, x.line.Text)
	if (x.decodeErr == nil || isOutOfRange(x.decodeErr)) && !r.hasSpoken.Load() {
		r.hasSpoken.Store(true)
	}
}

// routeLine finds the exchange in which the line was written, and reports whether that exchange is
// still running.
func (r *reader) routeLine(x *incomingLine) bool {
	x.segment = r.segmentOf(x.line)
	return x.segment != nil && x.segment == r.current && !x.segment.hasEnded(x.line)
}

// handleOutside handles a line that belongs to no running exchange.
func (r *reader) handleOutside(x *incomingLine) error {
	if !inPage && x.decodeErr == nil && r.process.translation != nil && hostmsg.Lookup(x.msg.Type).Waits() {
		return r.answerOutside(x.msg, x.line, undecidable)
	}
	r.logOutside(x)
	return nil
}

// acceptMessage reports whether the exchange must receive the line as a message. Text that is not a
// message may count as the result. An approval that the host's permissions decide is answered here.
func (r *reader) acceptMessage(x *incomingLine) (wanted bool, err error) {
	switch {
	case x.decodeErr == nil:
		if err := r.applyRules(x); err != nil {
			return false, err
		}
		if !inPage && !x.segment.isInit && isSecretQuestion(x.msg) {
			return false, r.askSecret(x)
		}
	case isOutOfRange(x.decodeErr):
		if err := r.replaceInvalid(x); err != nil {
			return false, err
		}
	case !errors.Is(x.decodeErr, errNotMessage):
		if x.line.Half {
			return false, errCutOff
		}
		return false, x.decodeErr
	case r.hasSpoken.Load():
		r.process.hosts.logf("warn", r.process.cfg, "sent a line that is not a message; it is skipped: %s", stderrlog.Quote(x.line.Text))
		return false, nil
	default:
		setPlainResult(x.msg, x.line.Text)
		r.logPlainResult(x)
	}
	if x.segment.handover != nil {
		if isRepeated, err := r.filterRepeated(x.segment, &x.msg); isRepeated || err != nil {
			return false, err
		}
	}
	return true, nil
}

// replaceInvalid replaces a message with a number that is out of range. The program receives it as
// `listen:invalid`, and a host that waits for an answer an error. A result becomes an error.
func (r *reader) replaceInvalid(x *incomingLine) error {
	m, row := *x.msg, hostmsg.Lookup(x.msg.Type)
	problem := "a number is out of range"
	var o *jsonobject.Object
	if row.Terminal() {
		o = jsonobject.New(hostmsg.Error)
		o.Text("message", "host '"+r.process.cfg.Name+"' sent an invalid "+m.Type+": "+problem)
	} else {
		o = jsonobject.New("listen:invalid")
		o.Text("host", r.process.cfg.Name)
		message := jsonobject.New(m.Type)
		m.Payload.Map().Each(func(k, v value.Slot) bool {
			message.Bytes = append(value.AppendString(append(message.Bytes, ','), value.Text(k)), ':')
			message.Bytes = value.AppendJSON(message.Bytes, v)
			return true
		})
		o.Raw("message", message.End())
		o.Text("error", problem)
	}
	*x.msg = mustMessage(o.End())
	x.msg.Text, x.msg.Decided = m.Text, !row.Terminal()
	if !row.Waits() {
		return nil
	}
	reply := &effect.ExchangeReply{InReplyTo: m.Type, AnswerTo: m.ID, Error: "invalid " + m.Type + ": " + problem}
	if _, ok := r.process.sendMessage(continuity.AppendReply(nil, reply), false); !ok {
		return errNotReading
	}
	return nil
}

// deliverMessage adds the message to the batch, and updates the states of the process and the
// exchange.
func (r *reader) deliverMessage(x *incomingLine) {
	row := hostmsg.Lookup(x.msg.Type)
	totals := &x.segment.inbox.turns.totals
	limit := totals.Limit
	if !x.segment.isInit {
		totals.AddMessage(x.msg)
		if stop := x.segment.inbox.meter.readMessage(x.msg, r.process); stop != nil {
			totals.Limit = stop
		}
		if row.Terminal() {
			r.endTurn(x)
			row = hostmsg.Lookup(x.msg.Type)
		}
	}
	r.process.noteRequest(x.msg, row)
	r.batch.commitAs(row)
	r.process.silence.countRequest(x.msg)
	r.sawTerminal = r.sawTerminal || r.batch.hasTerminal
	r.trackSession(x.msg, r.batch.hasTerminal)
	if totals.Limit != limit && !r.batch.hasTerminal {
		r.batch.stop = totals.Limit
	}
	x.segment.ended = r.batch.hasTerminal || x.segment.isInit && r.endsInit(x.msg)
}

// trackSession records the session that a message names, and adds the current session to the
// terminal message.
func (r *reader) trackSession(m *effect.HostMessage, last bool) {
	now := r.process.sessionName()
	if s := m.Session(); r.process.translation == nil && s != "" && s != now {
		now = s
		r.process.session.Store(new(s))
		r.process.noteSession(s)
	}
	if last && now != "" {
		m.SetSession(now)
	}
	if last && r.process.workDir != nil && m.Type == hostmsg.Result {
		r.process.addWorkDir(m)
	}
}

// endsInit reports whether the message ends the initialisation. A vendor's agent may send other
// messages first.
func (r *reader) endsInit(m *effect.HostMessage) bool {
	return r.process.translation == nil || hostmsg.Lookup(m.Type).Role == hostmsg.Acknowledges
}

// segmentOf returns the segment in which a line was written: the current one, the previous one, or
// nil.
func (r *reader) segmentOf(l ndjson.Line) *segment {
	if r.current == nil {
		return nil
	}
	if startOf(l) < r.current.offset {
		return r.previous
	}
	return r.current
}

// startOf returns the offset of a line's first byte that is no blank.
func startOf(l ndjson.Line) int64 {
	return l.Offset + int64(len(l.Text)-len(bytes.TrimLeft(l.Text, jsonobject.Blanks)))
}

// logPlainResult logs, once for each host, that a line of text counts as the result. If the output
// format is JSON, the log line is a warning. For a line that is the reply to init, the error of the
// initialization contains it.
func (r *reader) logPlainResult(x *incomingLine) {
	if x.segment.isInit {
		return
	}
	r.process.hosts.pools[r.process.cfg.Name].plainOnce.Do(func() {
		level := "debug"
		if r.process.cfg.OutputFormat == "json" {
			level = "warn"
		}
		r.process.hosts.logf(level, r.process.cfg, "sent a line that is not a message; it counts as the result: %s", stderrlog.Quote(x.line.Text))
	})
}

// logOutside logs the first line after the end of an exchange.
func (r *reader) logOutside(x *incomingLine) {
	t := x.segment
	if t == nil || t.outsideReported || r.process.lifecycle.isRetiring() {
		return
	}
	t.outsideReported = true
	what := "a message of type '" + x.msg.Type + "'"
	if x.decodeErr != nil {
		what = "a line that is not a message"
	}
	r.process.hosts.logf("warn", r.process.cfg, "sent %s outside an exchange; it is ignored: %s", what, stderrlog.Quote(x.line.Text))
}
