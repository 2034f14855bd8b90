package conversation

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// Outcome is the result of a conversation.
type Outcome struct {
	// ProgramReceived holds what the program receives in each exchange. At level Wire these are its
	// messages, formatted by Message, followed by the failure, formatted by Failed, unless a
	// terminal message or the program ended the exchange. At level Listen these are its emits,
	// formatted by Emitted.
	ProgramReceived [][]string
	// HostReceived holds the lines that each process receives, formatted by Canonical.
	HostReceived [][]string
	// Remarks holds the log entries about the host's errors, in order. Remarks about text outside
	// an exchange are deterministic only in a patient conversation.
	Remarks []string
	// Problems holds errors in the conversation itself.
	Problems []string
}

// Message formats a received message. id is its JSON text, or "".
func Message(typ, id, payload string) string {
	return strings.TrimSpace(typ + " " + Canonical(payload) + " " + id)
}

// Emitted formats an emit. For an event of a listen, it omits the duration.
func Emitted(channel, payload string) string {
	if o, err := parseObject(payload); err == nil && strings.HasPrefix(channel, "listen:") {
		payload = o.without("duration_ms").String()
	}
	return channel + " " + Failed(Canonical(payload))
}

// where matches the position of the error in the failure for an unparsable line. This package does
// not know the parser's wording.
var where = regexp.MustCompile(` \([^()]* at offset \d+\)`)

// Failed formats the message of a failure.
func Failed(message string) string { return where.ReplaceAllString(message, "") }

// Outside reports whether a remark is about output outside an exchange.
func Outside(remark string) bool { return strings.Contains(remark, " outside an exchange; ") }

// Expect returns the expected outcome of the conversation.
func (t *Conversation) Expect() *Outcome {
	m := &model{t: t, out: &Outcome{ProgramReceived: make([][]string, len(t.Exchanges))}, exchange: -1, signals: map[string]bool{}}
	for i, steps := range t.Starts {
		m.startProcess(i)
		for _, s := range steps {
			m.handleStep(s)
		}
		m.flushStep()
	}
	if m.active || m.exchange != len(t.Exchanges)-1 {
		m.problem("exchange %d of %d does not end", m.exchange, len(t.Exchanges))
	}
	return m.out
}

// model plays a conversation step by step. The host's steps set the pace; the program does
// everything it can at once.
type model struct {
	t       *Conversation
	out     *Outcome
	signals map[string]bool

	exchange int        // number of the latest exchange
	active   bool       // the program has not ended the exchange
	pieces   []piece    // parts of the exchange's result
	queue    []*steered // messages that are prompts of later turns
	stopping *steered   // the program has interrupted the turn
	open     []string   // ids of the host's requests without an answer

	input   []string       // lines that the host has not read yet
	alive   bool           // the process runs
	marked  bool           // the process can no longer send a byte order mark
	spoken  bool           // the process has sent a message
	turn    *exchangeState // the latest exchange, or the initialisation of the process
	carried string         // unfinished line
	begun   *exchangeState // exchange in which the unfinished line began; nil if there is no such line
	texts   bool           // the log states that text counts as the result
}

// exchangeState is the initialisation of a process or an exchange, from the host's side.
type exchangeState struct {
	init            bool
	over            bool // the host has sent the last message of the exchange
	reportedOutside bool // the log mentions output after the exchange
}

// message is a message as received by the program.
type message struct {
	typ, id string
	payload object
}

func (m *model) problem(format string, args ...any) {
	m.out.Problems = append(m.out.Problems, fmt.Sprintf(format, args...))
}

func (m *model) startProcess(i int) {
	m.out.HostReceived = append(m.out.HostReceived, nil)
	m.alive, m.marked, m.spoken, m.carried, m.begun, m.input, m.turn = true, false, false, "", nil, nil, nil
	if m.active {
		m.problem("process %d starts within an exchange", i)
	}
	if m.t.Params {
		m.input = append(m.input, InitLine)
		m.turn = &exchangeState{init: true}
		return
	}
	m.next()
}

// next begins the next exchange, if there is one.
func (m *model) next() {
	if m.active || m.exchange+1 >= len(m.t.Exchanges) {
		return
	}
	m.exchange++
	m.active, m.pieces, m.turn, m.open = true, nil, &exchangeState{}, nil
	if m.t.Options.Level == Listen {
		m.recordReceived("listen:start " + `{"host":"` + Host + `"}`)
	}
	m.input = append(m.input, m.t.Exchanges[m.exchange].PromptLine())
}

func (m *model) recordReceived(what string) {
	m.out.ProgramReceived[m.exchange] = append(m.out.ProgramReceived[m.exchange], what)
}

func (m *model) remark(format string, args ...any) {
	m.out.Remarks = append(m.out.Remarks, "warn: host '"+Host+"' "+fmt.Sprintf(format, args...))
}

func (m *model) handleStep(s Step) {
	if !m.alive && s.Op != Hang {
		m.problem("a process does %d after its end", s.Op)
		return
	}
	switch s.Op {
	case Read:
		m.readInput()
	case Write:
		m.writeText(s.Text)
	case Await:
		if !m.signals[s.Text] {
			m.problem("the signal %s does not come", s.Text)
		}
	case Exit:
		m.handleExit(s.N)
	case Hang:
		if m.alive {
			m.problem("a process hangs and the program does not stop it")
		}
	}
}

// flushStep handles the end of a process's steps.
func (m *model) flushStep() {
	if len(m.input) > 0 {
		m.problem("a process does not read %q", m.input)
	}
}

func (m *model) readInput() {
	if len(m.input) == 0 && (m.turn == nil || m.turn.over) {
		m.next()
	}
	if len(m.input) == 0 {
		m.problem("a process waits for a line that the program does not send")
		return
	}
	last := len(m.out.HostReceived) - 1
	m.out.HostReceived[last] = append(m.out.HostReceived[last], Canonical(m.input[0]))
	m.input = m.input[1:]
}

// writeText handles text that the host writes in one piece: the program receives all of its
// messages at once.
func (m *model) writeText(text string) {
	var got []message
	for _, c := range strings.SplitAfter(text, "\n") {
		m.carried += c
		if m.begun == nil && strings.Trim(c, " \t\r\v\f\n\ufeff") != "" {
			m.begun = m.turn
		}
		if !strings.HasSuffix(c, "\n") {
			continue
		}
		msgs, failure := m.parseLine(strings.TrimSuffix(m.carried, "\n"), false)
		m.carried, m.begun = "", nil
		got = append(got, msgs...)
		if failure != "" {
			m.handleBatch(got)
			m.markUnusable(failure)
			return
		}
	}
	m.handleBatch(got)
}

// parseLine parses a whole line for the exchange in which it began. It returns its messages, or the
// failure that makes the process unusable.
func (m *model) parseLine(line string, half bool) (got []message, failure string) {
	if !m.marked {
		m.marked = true
		line = strings.TrimPrefix(line, "\ufeff")
	}
	line = strings.TrimSuffix(line, "\r")
	if strings.Trim(line, " \t\r\v\f") == "" {
		return nil, ""
	}
	o, err := parseObject(line)
	typ, isMessage := o.text("type")
	m.spoken = m.spoken || isMessage
	t := m.begun
	switch {
	case t != m.turn || t.over:
		m.recordOutside(t, isMessage, typ, line)
		return nil, ""
	case isMessage && t.init:
		t.over = true
		return nil, ""
	case isMessage:
		return m.endTurn(message{typ, o.raw("id"), o.without("type")}), ""
	case err != nil && err != errNoObject && strings.HasPrefix(strings.TrimLeft(line, " \t"), "{"):
		if half {
			return nil, "host '" + Host + "' ended in the middle of a message (" + strconv.Itoa(len(line)) + " bytes): " + line
		}
		return nil, "host '" + Host + "' sent an invalid message: " + line
	case m.spoken:
		m.remark("sent a line that is not a message; it is skipped: %s", line)
		return nil, ""
	}
	if !m.texts {
		m.texts = true
		m.remark("sent a line that is not a message; it counts as the result: %s", line)
	}
	t.over = true
	return []message{{hostmsg.Result, "", object{{"text", []byte(quote(line))}}}}, ""
}

// endTurn returns the messages that the program receives for a message of the host. A terminal
// message ends the exchange only if no other turn follows.
func (m *model) endTurn(x message) []message {
	row := hostmsg.Lookup(x.typ)
	switch {
	case row.Waits() && x.id != "":
		m.open = append(m.open, x.id)
	case row.Role == hostmsg.Withdraws:
		m.closeRequest(x.id)
	}
	if !row.Terminal() {
		return []message{x}
	}
	var got []message
	next := m.stopping
	if m.stopping != nil {
		for _, id := range m.open {
			got = append(got, message{"withdraw", id, object{{"id", []byte(id)}}})
		}
		m.open, m.stopping = nil, nil
		if next.text == "" {
			m.turn.over = true
			return append(got, message{"error", "", object{{"message", []byte(quote("host '" + Host + "' was interrupted"))}, {"code", []byte(`"interrupted"`)}}})
		}
	} else if len(m.queue) > 0 {
		next, m.queue = m.queue[0], m.queue[1:]
	}
	if next == nil {
		m.turn.over = true
		return append(got, x)
	}
	m.input = append(m.input, `{"type":"prompt","text":`+quote(next.text)+`,"queued":true}`)
	text, ok := x.payload.text("text")
	if !ok {
		text, _ = x.payload.text("message")
	}
	text, _, _ = strings.Cut(text, "\n")
	whole := append(object{{"type", []byte(quote(x.typ))}}, x.payload...)
	return append(got, message{hostmsg.Progress, "", object{{"message", []byte(quote(text))}, {"stage", []byte(`"turn"`)}, {"next", []byte(quote(next.id))}, {"payload", []byte(whole.String())}}})
}

// closeRequest records that a request has an answer or was withdrawn.
func (m *model) closeRequest(id string) {
	if at := slices.Index(m.open, id); at >= 0 {
		m.open = slices.Delete(m.open, at, at+1)
	}
}

func (m *model) recordOutside(t *exchangeState, isMessage bool, typ, line string) {
	if t.reportedOutside {
		return
	}
	t.reportedOutside = true
	if isMessage {
		m.remark("sent a message of type '%s' outside an exchange; it is ignored: %s", typ, line)
	} else {
		m.remark("sent a line that is not a message outside an exchange; it is ignored: %s", line)
	}
}

// handleBatch handles messages that arrive together.
func (m *model) handleBatch(got []message) {
	if !m.active {
		return // the message has ended the exchange
	}
	for _, x := range dropWithdrawn(got) {
		if m.t.Options.Level == Wire {
			m.recordReceived(Message(x.typ, x.id, x.payload.String()))
		}
		if hostmsg.Lookup(x.typ).Terminal() {
			m.handleTerminal(&x)
			return
		}
		r := m.t.reactTo(&m.t.Exchanges[m.exchange], x.typ, x.payload)
		m.out.ProgramReceived[m.exchange] = append(m.out.ProgramReceived[m.exchange], r.emits...)
		if hostmsg.Lookup(x.typ).Unhandled == hostmsg.Removed {
			m.retract(x.payload)
		}
		if r.piece.text != "" {
			m.pieces = append(m.pieces, r.piece)
		}
		if r.reply != "" {
			m.input = append(m.input, r.reply)
			if r.steer == nil {
				m.closeRequest(x.id)
			}
		}
		switch s := r.steer; {
		case s == nil:
		case s.interrupt:
			m.stopping = s
		case s.queued:
			m.queue = append(m.queue, s)
		}
		if r.wait != "" {
			m.signals[r.wait] = true
		}
		if r.cancel {
			m.cancelExchange()
			return
		}
	}
}

// retract removes the pieces of the messages that a host's message names.
func (m *model) retract(payload object) {
	var of []any
	if json.Unmarshal([]byte(payload.raw("messages")), &of) != nil {
		return // no list retracts nothing
	}
	m.pieces = slices.DeleteFunc(m.pieces, func(p piece) bool { return p.of != "" && slices.Contains(of, any(p.of)) })
}

// dropWithdrawn removes requests that are withdrawn in the same batch.
func dropWithdrawn(got []message) []message {
	got = slices.Clone(got)
	for i := 0; i < len(got); i++ {
		if hostmsg.Lookup(got[i].typ).Role != hostmsg.Withdraws || got[i].id == "" {
			continue
		}
		at := slices.IndexFunc(got[:i], func(r message) bool { return r.id == got[i].id && hostmsg.Lookup(r.typ).Waits() })
		if at >= 0 {
			got = slices.Delete(got, i, i+1)
			got = slices.Delete(got, at, at+1)
			i -= 2
		}
	}
	return got
}

// handleTerminal handles a terminal message.
func (m *model) handleTerminal(x *message) {
	m.active = false
	if m.t.Options.Level == Wire {
		return
	}
	if hostmsg.Lookup(x.typ).Role == hostmsg.Fails {
		message, ok := x.payload.text("message")
		if !ok {
			message = "the host reported an error"
		}
		m.failListen(message)
		return
	}
	payload := x.payload
	var output string
	for _, p := range m.pieces {
		output += p.text
	}
	if output != "" {
		payload = payload.with("partial_output", quote(output))
	}
	m.recordReceived(`listen:complete {"host":"` + Host + `"}`)
	m.recordReceived("ok " + payload.String())
}

// failListen handles a failed exchange at level Listen.
func (m *model) failListen(message string) {
	m.active = false
	m.recordReceived("listen:error " + object{{"host", []byte(quote(Host))}, {"error", []byte(quote(message))}}.String())
	m.recordReceived("err " + quote(message))
}

// cancelExchange ends the exchange on the program's side. It sends nothing to a host that has sent
// its last message.
func (m *model) cancelExchange() {
	m.active = false
	if m.t.Options.Level == Listen {
		m.failListen(Reason)
	}
	switch {
	case m.turn.over:
	case m.t.Cancel:
		m.input = append(m.input, `{"type":"cancel","reason":"`+Reason+`"}`)
	default:
		m.alive, m.input = false, nil
	}
}

// markUnusable marks a process as unusable.
func (m *model) markUnusable(why string) {
	m.alive, m.input = false, nil
	switch {
	case !m.active:
		m.problem("a process fails outside of an exchange: %s", why)
	case m.t.Options.Level == Listen:
		m.failListen(why)
	default:
		m.active = false
		m.recordReceived(why)
	}
}

// handleExit handles the process's own exit. Its last line counts even without a line end.
func (m *model) handleExit(code int) {
	failure := ""
	if m.carried != "" {
		var got []message
		got, failure = m.parseLine(m.carried, true)
		m.handleBatch(got)
	}
	if m.active {
		if failure == "" {
			failure = fmt.Sprintf("host exited without result: '%s' exited with status %d", Host, code)
		}
		if m.t.Options.Level == Wire {
			failure += fmt.Sprintf(" (exit code %d)", code)
		}
		m.markUnusable(failure)
	}
	m.alive, m.input = false, nil
}
