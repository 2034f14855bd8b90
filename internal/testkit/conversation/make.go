package conversation

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// Generate generates the conversation of a seed.
func Generate(seed uint64, o Options) *Conversation {
	r := rand.New(rand.NewPCG(seed, 0x7461_6c6b))
	t := &Conversation{Seed: seed, Options: o, Params: r.IntN(2) == 0, Tools: r.IntN(2) == 0, Defaults: map[string]string{}}
	t.Cancel = t.Params && r.IntN(3) > 0
	t.Steer = t.Params && r.IntN(2) == 0
	for _, m := range hostmsg.Messages() {
		if m.Default != "" && r.IntN(2) == 0 {
			t.Defaults[m.Default] = "as you like, " + m.Type
		}
	}
	for i := range 1 + r.IntN(5) {
		e := Exchange{Prompt: fmt.Sprintf("%d %s", i, pick(r, "go", "", `a "b" \ c`, "two\nlines", "é 😀"))}
		for _, typ := range types {
			if r.IntN(3) > 0 {
				e.Handled = append(e.Handled, typ)
			}
		}
		t.Exchanges = append(t.Exchanges, e)
	}
	h := &host{Rand: r, t: t}
	for i := range t.Exchanges {
		h.e = &t.Exchanges[i]
		h.addExchange(i)
	}
	h.endProcess()
	return t
}

// host generates the host's side. It collects output until a flush. The flush splits the output at
// random positions outside of the ranges in unsplit.
type host struct {
	*rand.Rand
	t *Conversation
	e *Exchange

	steps   []Step // of the current process; nil while no process runs
	spoken  bool   // the process has sent a message
	early   bool   // the process has sent a message before its first prompt
	mute    bool   // the process sends only text, no messages
	output  strings.Builder
	unsplit [][2]int // ranges of output that one write must contain
	unread  int      // number of unread replies
	synced  bool     // the program has read all flushed output
	id      int
	signal  int
	steers  int // number of the program's messages in the exchange
}

func pick[T any](r *rand.Rand, all ...T) T { return all[r.IntN(len(all))] }

func (h *host) add(op Op, text string, n int) { h.steps = append(h.steps, Step{op, text, n}) }

// startProcess starts a process and plays it to its first prompt.
func (h *host) startProcess() {
	h.steps, h.spoken, h.early = []Step{}, false, false
	h.mute = !h.t.Params && h.IntN(3) == 0
	if h.IntN(4) == 0 {
		h.output.WriteString("\ufeff")
	}
	if !h.t.Params {
		if h.early = !h.mute && h.IntN(8) == 0; h.early { // the process sends a message before it can have read the prompt
			h.sendMessage()
			h.flush()
		}
		return
	}
	h.add(Read, "", 0)
	h.addBlankLines()
	ack := `{"type":"init_ack"}`
	if h.t.Cancel || h.t.Steer {
		capabilities := `"streaming"`
		if h.t.Cancel {
			capabilities += `,"cancel"`
		}
		if h.t.Steer {
			capabilities += `,"steer"`
		}
		ack = `{"type":"init_ack","version":"1","capabilities":[` + capabilities + `]}`
	}
	h.sendLast(ack, -1)
	h.spoken = true
}

// endProcess ends the steps of the process.
func (h *host) endProcess() {
	if h.steps != nil {
		h.flush()
		h.t.Starts = append(h.t.Starts, h.steps)
		h.steps = nil
	}
}

// addExchange generates the host's messages in the i-th exchange.
func (h *host) addExchange(i int) {
	if h.steps == nil {
		h.startProcess()
	}
	h.add(Read, "", 0)
	h.synced, h.early, h.steers = !h.early, false, 0
	ended := false
	for range h.IntN(9) {
		if h.mute {
			h.addBlankLines()
			continue
		}
		if h.IntN(8) == 0 {
			if ended = h.requestSteer(i); ended {
				break
			}
			continue
		}
		h.sendAny()
		if h.IntN(3) == 0 {
			h.flush()
		}
		if h.IntN(4) == 0 {
			h.readReplies()
		}
	}
	if !ended {
		h.closeExchange(i)
	}
	// A process may exit between two exchanges. It must not if it may have read the next prompt
	// together with the replies.
	if h.steps != nil && h.IntN(6) == 0 && (h.t.Options.Patient || h.steps[len(h.steps)-1].Op != Read) {
		h.flush()
		h.add(Exit, "", h.IntN(2)*3)
		h.endProcess()
	}
}

// sendAny generates output that does not end the exchange.
func (h *host) sendAny() {
	switch n := h.IntN(20); {
	case n < 7:
		h.sendMessage()
	case n < 12:
		h.sendRequest()
	case n < 14:
		h.addBlankLines()
	case n < 16 && h.spoken:
		h.addLine(h.text())
	case n == 16:
		h.withdrawUnread()
	case n == 17:
		h.withdrawHandled()
	case n == 18:
		h.addLine(h.formatMessage("withdraw", `"id":"nobody's"`))
	case n == 19 && h.IntN(4) == 0:
		h.addFlood()
	}
}

// The types of messages that a host may send.
var (
	messageTypes = append(hostmsg.Types(func(m *hostmsg.Message) bool { return m.Handled() && !m.Waits() }), "own", "own", "typed", "init_ack", "a \"type\" é")
	requests     = hostmsg.Types((*hostmsg.Message).Waits)
)

// sendMessage sends a message that may or may not get a reply.
func (h *host) sendMessage() {
	typ := pick(h.Rand, messageTypes...)
	var members []string
	switch typ {
	case "partial":
		members = append(members, pick(h.Rand, `"text":"a bit, "`, `"chunk":"é\n"`, `"text":"","x":1`, `"text":5`, `"n":1`))
		if h.IntN(2) == 0 {
			members = append(members, `"message":`+pick(h.Rand, `"m1"`, `"m2"`, `"é"`, `3`))
		}
	case "retract":
		members = append(members, pick(h.Rand, `"messages":["m1"]`, `"messages":["m2","other","é"]`, `"messages":[3]`, `"messages":[]`, `"messages":"m1"`, `"n":1`))
	case "typed":
		members = append(members, pick(h.Rand, `"n":7`, `"n":-1`, `"n":"x"`, `"m":1`))
	default:
		members = append(members, pick(h.Rand, `"message":"working"`, `"percent":10,"stage":null`, `"nested":{"type":"result","a":[1,1.5,true,null]}`, `"message":"`+strings.Repeat("long ", h.IntN(1000))+`"`))
	}
	if typ != "typed" && h.IntN(3) == 0 {
		members = append(members, h.reply())
	}
	if h.IntN(2) == 0 {
		members = append(members, h.ident())
	}
	h.addLine(h.formatMessage(typ, members...))
}

// sendRequest sends a request.
func (h *host) sendRequest() {
	h.addLine(h.formatRequest(pick(h.Rand, requests...), h.reply()))
}

func (h *host) formatRequest(typ, do string) string {
	var members []string
	if h.IntN(5) > 0 {
		members = append(members, h.ident())
	}
	return h.formatMessage(typ, append(members, do, h.about(typ))...)
}

func (h *host) about(typ string) string {
	switch typ {
	case "question":
		return `"question":"` + pick(h.Rand, "why?", "é?\\n", "") + `"`
	case "tool_call":
		return `"tool":"T_twice","args":{"n":` + strconv.Itoa(h.IntN(100)) + `}`
	}
	return `"description":"rm","risk_level":"low"`
}

// reply returns the members of a message that select the program's reply.
func (h *host) reply() string {
	if h.IntN(5) == 0 {
		return `"do":"nothing"`
	}
	return `"do":"reply","with":` + pick(h.Rand, `"yes"`, `"é \" \\ \n 😀"`, `7`, `1.5`, `true`, `false`, `null`, `[]`, `[1,[null]]`, `{"a":{"b":2},"":0}`)
}

// ident returns a unique message id.
func (h *host) ident() string {
	h.id++
	n := strconv.Itoa(h.id)
	return `"id":` + pick(h.Rand, n, "-"+n, `"q`+n+`"`, `"`+n+`"`, `"q\u00e9`+n+`"`, "9007199254740993"+n)
}

// formatMessage formats a message with its members in random order.
func (h *host) formatMessage(typ string, members ...string) string {
	all := append([]string{`"type":` + quote(typ)}, members...)
	h.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	space := pick(h.Rand, "", "", " ", "\t")
	return space + "{" + space + strings.Join(all, ","+space) + "}" + space
}

// text returns a line that is not a message.
func (h *host) text() string {
	return pick(h.Rand, "words", "  indented", "[1, 2]", "42", `"type"`, `{"text": "no type"}`, `{"type": 5}`, `{"type":null,"text":"x"}`, "NaN", "[NaN", "é", "}", `{"a":{"type":"result"}}`)
}

// unreadable returns a line that begins like a message but cannot be parsed.
func (h *host) unreadable() string {
	return pick(h.Rand, `{"type":"result","text":"cut`, `{'type':'result'}`, `{"type":"progress","n":NaN}`, `{"type":"result"} and more`, `{`, ` {"type":"own",}`, `{"type":"own","n":-Infinity}`, `{"type":"own","n":01}`)
}

// addLine adds a line, and counts its reply.
func (h *host) addLine(text string) {
	h.output.WriteString(text)
	h.output.WriteString(pick(h.Rand, "\n", "\n", "\n", "\r\n"))
	if o, err := parseObject(text); err == nil {
		if typ, ok := o.text("type"); ok {
			h.spoken = true
			if h.t.reactTo(h.e, typ, o.without("type")).reply != "" {
				h.unread++
			}
		}
	}
}

func (h *host) addBlankLines() {
	for range h.IntN(3) {
		h.output.WriteString(pick(h.Rand, "\n", "\r\n", "  \n", "\t \r\n", "\n\n"))
	}
}

// addFlood sends more lines than a batch holds.
func (h *host) addFlood() {
	for i := range 200 + h.IntN(200) {
		h.addLine(`{"type":"progress","i":` + strconv.Itoa(i) + `}`)
	}
}

// addTogether adds lines in one piece. Before, it waits until the program has read all earlier
// output, so that the program receives these lines at once.
func (h *host) addTogether(lines func()) {
	h.readReplies()
	from := h.output.Len()
	lines()
	h.unsplit = append(h.unsplit, [2]int{from, h.output.Len()})
}

// readReplies flushes, then reads all replies. If no reply is outstanding, it first sends a
// question, because only a reply shows that the program has read everything.
func (h *host) readReplies() {
	if (!h.synced || h.output.Len() > 0) && h.unread == 0 {
		h.addLine(h.formatMessage("own", h.ident(), `"do":"reply","with":1`))
		if h.unread == 0 { // no handler answers the question
			h.addLine(h.formatMessage("approval", h.ident(), `"do":"reply","with":1`))
		}
	}
	h.flush()
	for ; h.unread > 0; h.unread-- {
		h.add(Read, "", 0)
		h.synced = true
	}
}

// syncMute is like readReplies, for a host that sends no messages.
func (h *host) syncMute() {
	if h.spoken {
		h.readReplies()
	}
}

// withdrawUnread sends a request and withdraws it before the program receives it.
func (h *host) withdrawUnread() {
	h.addTogether(func() {
		id := h.ident()
		typ := pick(h.Rand, requests...)
		unread := h.unread
		h.addLine(h.formatMessage(typ, id, h.about(typ), `"do":"reply","with":1`))
		h.unread = unread
		if h.IntN(2) == 0 {
			h.addLine(h.formatMessage("log", `"message":"between"`))
		}
		h.addLine(h.formatMessage("withdraw", id))
	})
	h.flush()
}

// withdrawHandled sends a request and withdraws the request while a handler runs.
func (h *host) withdrawHandled() {
	h.signal++
	signal := fmt.Sprintf("signal-%d", h.signal)
	id := h.ident()
	typ := pick(h.Rand, requests...)
	text := h.formatMessage(typ, id, h.about(typ), `"do":"wait","signal":"`+signal+`"`)
	o, err := parseObject(text)
	if err != nil {
		panic(err)
	}
	h.addLine(text)
	if h.t.reactTo(h.e, typ, o.without("type")).wait == "" {
		return // no handler answers the request
	}
	h.flush()
	h.add(Await, signal, 0)
	for range h.IntN(3) {
		h.sendMessage()
	}
	h.addLine(h.formatMessage("withdraw", id))
	h.flush()
}

// requestSteer lets the program send a message to the host. If the host cannot receive it in its
// turn, or the message interrupts the turn, the host ends the turn and receives the next prompt.
// ended reports whether the exchange has ended.
func (h *host) requestSteer(exchange int) (ended bool) {
	do, with := "steer", fmt.Sprintf(`more "%d"`, h.id)
	if h.t.Cancel && h.IntN(2) == 0 {
		do, with = "interrupt", pick(h.Rand, with, "")
	}
	typ := pick(h.Rand, "progress", "own")
	text := h.formatMessage(typ, `"do":"`+do+`"`, `"with":`+quote(with), `"n":`+strconv.Itoa(h.steers+1))
	o, err := parseObject(text)
	if err != nil {
		panic(err)
	}
	if h.t.reactTo(h.e, typ, o.without("type")).steer == nil {
		return false // no handler handles the message
	}
	h.steers++
	h.readReplies() // so that the next reply follows the message
	h.addLine(text)
	h.readReplies()
	switch {
	case do == "steer" && h.t.Steer:
		return false
	case do == "steer":
		h.addLine(h.formatMessage("result", pick(h.Rand, `"text":"a part"`, `"text":"é\nx"`, `"answer":[1]`)))
	default:
		for range h.IntN(3) {
			h.addLine(h.formatMessage("log", `"message":"stopping"`))
		}
		if with == "" {
			h.sendLast(h.terminal(), exchange)
			return true
		}
		h.addLine(h.terminal())
	}
	h.flush()
	h.add(Read, "", 0)
	h.synced = true
	return false
}

// closeExchange ends the exchange.
func (h *host) closeExchange(i int) {
	switch n := h.IntN(16); {
	case n == 0:
		h.sendBroken()
	case n == 1:
		h.exitEarly()
	case h.mute && !h.spoken:
		h.sendLast(h.text(), i)
	case n < 5:
		h.awaitStop(i)
	default:
		h.sendLast(h.terminal(), i)
	}
}

func (h *host) terminal() string {
	if h.IntN(4) == 0 {
		return h.formatMessage("error", pick(h.Rand, `"message":"no disk","code":"E1"`, `"message":"é"`, `"recoverable":true`))
	}
	return h.formatMessage("result", pick(h.Rand, `"text":"done"`, `"text":"é\n"`, `"answer":{"n":[1,1.5]}`, `"id":5`, `"text":""`))
}

// sendLast sends the last line of an exchange and, in the same piece, blank lines, whole lines, and
// the beginning of a line that the host completes in the next exchange.
func (h *host) sendLast(text string, exchange int) {
	from := h.output.Len() + len(text) // the piece may end within the line, but not at the end of the line
	h.output.WriteString(text)
	h.output.WriteString("\n")
	o, err := parseObject(text)
	if _, ok := o.text("type"); err == nil && ok {
		h.spoken = true
	}
	rest := ""
	addTrailing := func() {
		switch h.IntN(8) {
		case 0, 1:
			h.addBlankLines()
		case 2:
			h.output.WriteString(h.formatMessage(pick(h.Rand, "progress", "question", "result"), `"late":true`) + "\n")
			h.spoken = true
		case 3:
			h.output.WriteString(pick(h.Rand, h.text(), h.unreadable()) + "\n")
		}
	}
	for range h.IntN(3) {
		addTrailing()
	}
	if h.IntN(5) == 0 {
		late := h.formatMessage("progress", `"late":"in two pieces"`)
		cut := len(late)/2 + 1
		h.output.WriteString(late[:cut])
		rest = late[cut:] + "\n"
	}
	h.unsplit = append(h.unsplit, [2]int{from, h.output.Len()})
	h.flush()
	if h.t.Options.Patient && rest == "" && exchange >= 0 {
		for range h.IntN(3) {
			addTrailing()
			h.flush()
		}
	}
	for ; h.unread > 0; h.unread-- {
		h.add(Read, "", 0) // wait for the program's replies to requests that were sent before the end
	}
	if h.t.Options.Patient && exchange >= 0 {
		h.add(Signal, DoneSignal(exchange), 0)
	}
	if rest != "" {
		h.completeLine(rest, exchange)
	}
}

// completeLine completes a line that began after the end of an exchange. It is the host's first
// output in the next exchange of this process, if there is one.
func (h *host) completeLine(text string, exchange int) {
	if exchange+1 >= len(h.t.Exchanges) {
		return
	}
	h.output.WriteString(text)
	h.spoken = true
}

// DoneSignal returns the signal that a patient player awaits after the i-th exchange.
func DoneSignal(i int) string { return fmt.Sprintf("said-%d", i) }

// sendBroken sends a line that cannot be parsed.
func (h *host) sendBroken() {
	h.syncMute()
	h.addLine(h.unreadable())
	h.flush()
	h.add(Hang, "", 0)
	h.endProcess()
}

// exitEarly ends the process during the exchange, perhaps within a line.
func (h *host) exitEarly() {
	h.syncMute()
	h.output.WriteString(pick(h.Rand, "", "", `{"type":"progress"`, `{"type":"progress","message":"whole"}`, "text", `{"type":"result","text":"no end"}`, "\t"))
	h.flush()
	h.add(Exit, "", h.IntN(3))
	h.endProcess()
}

// awaitStop lets the program end the exchange.
func (h *host) awaitStop(i int) {
	h.readReplies()
	text := h.formatRequest(pick(h.Rand, "question", "own", "approval"), `"do":"fail"`)
	o, err := parseObject(text)
	if err != nil {
		panic(err)
	}
	typ, _ := o.text("type")
	stops := h.t.reactTo(h.e, typ, o.without("type")).cancel
	switch {
	case stops && h.IntN(3) == 0: // the host has already finished
		h.addTogether(func() {
			h.addLine(text)
			h.output.WriteString(h.terminal() + "\n")
		})
		h.flush()
		if h.t.Options.Patient {
			h.add(Signal, DoneSignal(i), 0)
		}
	case stops && h.t.Cancel:
		h.addLine(text)
		h.flush()
		h.add(Read, "", 0)
		for range h.IntN(3) {
			h.output.WriteString(h.formatMessage("progress", `"message":"winding up"`) + "\n")
		}
		h.sendLast(h.terminal(), i)
	case stops:
		h.addLine(text)
		h.flush()
		h.add(Hang, "", 0)
		h.endProcess()
	default:
		h.addLine(text)
		h.sendLast(h.terminal(), i)
	}
}

// flush writes the collected output, in pieces.
func (h *host) flush() {
	text := h.output.String()
	unsplit := h.unsplit
	h.output.Reset()
	h.unsplit = nil
	if text == "" {
		return
	}
	h.synced = false
	from := 0
	for range h.IntN(4) {
		at := from + 1 + h.IntN(len(text)-from)
		if at < len(text) && !splitsRange(at, unsplit) {
			h.add(Write, text[from:at], 0)
			from = at
		}
	}
	h.add(Write, text[from:], 0)
}

// splitsRange reports whether a cut would split a range that one write must contain.
func splitsRange(at int, unsplit [][2]int) bool {
	for _, k := range unsplit {
		if k[0] < at && at < k[1] {
			return true
		}
	}
	return false
}
