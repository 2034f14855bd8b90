// Package policy compares the decisions of a program with those in recorded runs: which answers
// would hosts receive from it now, and which had they received (spec/49-eval.md)?
package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/record/tape"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/vm"
)

// State is the result of comparing a decision, or of a session.
type State string

// The states. Same and Differs are also states of sessions.
const (
	Same        State = "same"
	Differs     State = "differs"
	Downstream  State = "downstream"  // differs after the first difference of its exchange
	New         State = "new"         // the recorded program did not decide
	Removed     State = "removed"     // only the recorded program decided
	Undecidable State = "undecidable" // of a session: the program needs a result that is not recorded
	Failed      State = "failed"      // of a session: only the replayed program ended with an error
)

// Difference is a decision that is not the same. Its JSON is an element of `differences`.
type Difference struct {
	Session  string          `json:"session"`
	Effect   *int64          `json:"effect"` // number of the recorded effect; nil if it is unknown
	Kind     string          `json:"kind"`
	State    State           `json:"state"`
	Host     *string         `json:"host"`
	ID       json.RawMessage `json:"id"`
	At       *string         `json:"at"` // FILE:LINE:COLUMN
	Asked    json.RawMessage `json:"asked"`
	Recorded json.RawMessage `json:"recorded"`
	Current  json.RawMessage `json:"current"`
}

// Problem is the reason why a session could not be replayed to its end.
type Problem struct {
	Session string
	Kind    string // kind of the request without a result, if the session is undecidable
	At      *string
	Message string
	Diff    string // difference to the nearest recorded request, if the session is undecidable
}

// Session is the comparison of one recorded run.
type Session struct {
	Name        string
	State       State
	Decisions   map[State]int
	Differences []Difference
	Problem     *Problem // set if the session is undecidable or failed
	Unused      int      // number of recorded results that the program has not requested
}

// Compare compares the decisions of a replay with those of the recorded run.
func Compare(name string, r *engine.PolicyReplay) *Session {
	c := &comparison{r: r, session: &Session{Name: name, State: Same, Decisions: map[State]int{}, Unused: len(r.Unused)},
		owner: r.Owners, changed: map[int]bool{}}
	c.readAsked()
	c.findRemoved()
	if !c.end() {
		c.removed = nil // the program might have made these decisions later
	}
	for i := range r.Decisions {
		c.compare(&r.Decisions[i])
	}
	for _, i := range c.removed {
		c.addRemoved(i)
	}
	if s := c.session; s.State == Same && len(s.Differences) > 0 {
		s.State = Differs
	}
	return c.session
}

// comparison compares one session.
type comparison struct {
	r       *engine.PolicyReplay
	session *Session
	owner   []int                // for each entry, the index of the entry that opens its exchange; -1 for none
	asked   map[question]message // what hosts have asked
	removed []int                // indexes of the entries with decisions that the program does not make
	changed map[int]bool         // exchanges with a difference, by the index of the entry that opens them
}

// question identifies a message of a host by its exchange, its type and its id.
type question struct {
	exchange int
	typ, id  string
}

// message is a message on a tape.
type message struct {
	payload json.RawMessage
	entry   int
}

// readAsked reads what hosts have asked in the recorded run.
func (c *comparison) readAsked() {
	c.asked = map[question]message{}
	for i := range c.r.Tape.Entries {
		e := &c.r.Tape.Entries[i]
		if e.Q != effect.KindExchangeNext {
			continue
		}
		result, failed, err := e.Outcome(0)
		messages, ok := result.(*effect.ExchangeMessages)
		if err != nil || failed != nil || !ok {
			continue
		}
		for n := range messages.Messages {
			m := &messages.Messages[n]
			if hostmsg.Lookup(m.Type).ByPerson() {
				c.asked[question{c.owner[i], m.Type, m.ID}] = message{value.AppendJSON(nil, m.Payload), i}
			}
		}
	}
}

// end sets the state of a session that did not end like the recorded run. It reports whether the
// program has made all its decisions.
func (c *comparison) end() (complete bool) {
	err, t := c.r.Err, c.r.Tape
	var missing *tape.DivergedError
	var failed *vm.Uncaught
	switch {
	case errors.As(err, &missing) && c.r.CutOff:
		return false // the recorded run was not finished
	case errors.As(err, &missing):
		p := &Problem{Session: c.session.Name, Kind: string(missing.Kind), At: optional(missing.At), Message: missing.Message(), Diff: missing.Diff}
		if missing.Effect != 0 {
			p.Message = fmt.Sprintf("%s is not in the tape%s", missing.Kind, missing.Reason)
		}
		c.session.State, c.session.Problem = Undecidable, p
		return false
	case err == nil:
		return true
	case t.Ended != nil && t.Ended.Code != 0 && len(c.removed) == 0:
		return true // the recorded run failed at the same place
	case errors.As(err, &failed):
		c.session.Problem = &Problem{Session: c.session.Name, At: place(failed.Place), Message: failed.Message}
	default:
		c.session.Problem = &Problem{Session: c.session.Name, Message: err.Error()}
	}
	c.session.State = Failed
	return false
}

// findRemoved finds the decisions of the recorded run that the program does not make.
func (c *comparison) findRemoved() {
	for _, i := range c.r.Unused {
		e := &c.r.Tape.Entries[i]
		switch e.Q {
		case effect.KindExchangeReply:
			if !hostmsg.Lookup(replyOf(e).InReplyTo).ByPerson() {
				continue
			}
		case effect.KindAwaitEmit:
			if awaitOf(e).Asks != nil { // it asks what a host has asked, whose answer is the decision
				continue
			}
		case effect.KindExchangeOpen, effect.KindAppDecide:
		default:
			continue
		}
		c.removed = append(c.removed, i)
	}
}

// compare compares a decision of the program.
func (c *comparison) compare(m *engine.ReplayedDecision) {
	d := Difference{Session: c.session.Name, Kind: m.Kind, Host: optional(m.Host), ID: m.ID, At: place(m.At), Asked: m.Asked, Current: answer(m.Answer, m.Problem)}
	exchange := -1
	if m.Entry >= 0 {
		exchange = c.owner[m.Entry]
	}
	state := Same
	switch {
	case m.Kind == vm.DecidedSteer || m.IsAbandoned():
		return // not a decision
	case m.By == effect.ByRules || m.By == effect.ByHost:
		// The rules of the recorded run and the host itself have decided.
	case m.Entry < 0:
		state = New
		exchange = m.Exchange
		if m.Kind == engine.DecidedPrompt && c.r.CutOff || c.isLast(exchange, c.asked[question{exchange, m.Kind, string(m.ID)}].entry) {
			return // the recorded answer is not on the tape, because the tape was cut off
		}
	default:
		e := &c.r.Tape.Entries[m.Entry]
		d.Effect = &e.E
		d.Recorded = recorded(e)
		if !c.isSame(m, d.Recorded, d.Current) {
			state = Differs
		}
	}
	if state == Differs && (c.changed[exchange] || c.isRemovedBefore(exchange, m.Entry)) {
		state = Downstream
	}
	c.add(state, exchange, &d)
}

// isSame reports whether a decision is the recorded one.
func (c *comparison) isSame(m *engine.ReplayedDecision, was, is json.RawMessage) bool {
	switch m.Kind {
	case vm.DecidedAwait, vm.DecidedTool, vm.DecidedUnknown:
		return true // the program received the recorded answer
	case engine.DecidedPrompt:
		return c.r.SamePrompt(was, is)
	}
	return canonical(was) == canonical(is)
}

// add counts a decision, and adds it to the differences if it is not the same.
func (c *comparison) add(state State, exchange int, d *Difference) {
	c.session.Decisions[state]++
	if state == Same {
		return
	}
	if exchange >= 0 {
		c.changed[exchange] = true
	}
	if d.Kind == engine.DecidedPrompt {
		c.shortenPrompts(d)
	}
	d.State = state
	for _, text := range []*json.RawMessage{&d.ID, &d.Asked, &d.Recorded, &d.Current} {
		*text = valid(*text)
	}
	c.session.Differences = append(c.session.Differences, *d)
}

// shortenPrompts removes what two prompts have in common from both, apart from their texts and
// contexts. Tools and schemas may be long.
func (c *comparison) shortenPrompts(d *Difference) {
	var was, is tape.Prompt
	decode(d.Recorded, &was)
	decode(d.Current, &is)
	isOne := d.Recorded == nil || d.Current == nil
	if isOne || c.r.SamePrompt(jsonOf(was.Schema), jsonOf(is.Schema)) {
		was.Schema, is.Schema = nil, nil
	}
	if isOne || c.r.SamePrompt(jsonOf(was.Tools), jsonOf(is.Tools)) {
		was.Tools, is.Tools = nil, nil
	}
	if isOne || was.Session == is.Session {
		was.Session, is.Session = "", ""
	}
	if isOne || was.Workspace == is.Workspace {
		was.Workspace, is.Workspace = "", ""
	}
	if d.Recorded != nil {
		d.Recorded = was.JSON()
	}
	if d.Current != nil {
		d.Current = is.JSON()
	}
}

// jsonOf returns a value as JSON, or null if that is not possible.
func jsonOf(v any) json.RawMessage {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// valid returns a text of a tape as JSON: nil for none, and a JSON string if it is not JSON.
func valid(text json.RawMessage) json.RawMessage {
	switch {
	case len(text) == 0:
		return nil
	case json.Valid(text):
		return text
	}
	return jsonOf(string(text))
}

// isLast reports whether the tape was cut off before an exchange continued after an entry.
func (c *comparison) isLast(exchange, entry int) bool {
	if c.r.Tape.Ended != nil {
		return false
	}
	for i := entry + 1; i < len(c.owner); i++ {
		if c.owner[i] == exchange {
			return false
		}
	}
	return true
}

func (c *comparison) hostOf(exchange int) string {
	if exchange < 0 {
		return ""
	}
	return openOf(&c.r.Tape.Entries[exchange]).Host
}

// isRemovedBefore reports whether the program lacks a decision of an exchange before an entry.
func (c *comparison) isRemovedBefore(exchange, entry int) bool {
	for _, i := range c.removed {
		if i < entry && c.owner[i] == exchange && i != exchange {
			return true
		}
	}
	return false
}

// addRemoved adds a decision that only the recorded program made.
func (c *comparison) addRemoved(i int) {
	e := &c.r.Tape.Entries[i]
	d := Difference{Session: c.session.Name, Effect: &e.E, Recorded: recorded(e), Host: optional(c.hostOf(c.owner[i]))}
	switch e.Q {
	case effect.KindExchangeOpen:
		d.Kind = engine.DecidedPrompt
	case effect.KindExchangeReply:
		q := replyOf(e)
		d.Kind, d.ID = q.InReplyTo, json.RawMessage(q.AnswerTo)
		d.Asked = c.asked[question{c.owner[i], q.InReplyTo, q.AnswerTo}].payload
	case effect.KindAwaitEmit:
		d.Kind, d.Asked = vm.DecidedAwait, awaitOf(e).Payload
	case effect.KindAppDecide:
		d.Kind = vm.DecidedTool
	}
	c.add(Removed, c.owner[i], &d)
}

// recorded returns the answer in an entry as JSON, or null if there is none.
func recorded(e *tape.Entry) json.RawMessage {
	switch e.Q {
	case effect.KindExchangeOpen:
		return tape.PromptOf(openOf(e))
	case effect.KindExchangeReply:
		q := replyOf(e)
		return answer(q.Value, q.Error)
	case effect.KindAppDecide:
		var q effect.AppDecide
		decode(e.R, &q)
		return answer(q.Answer, q.Unanswered)
	}
	if e.Err != nil {
		return answer(nil, e.Err.Message)
	}
	var a effect.Answer
	decode(e.V, &a)
	return answer(a.Value, "")
}

// answer returns an answer as the host receives it: the value, or an object with the error.
func answer(v json.RawMessage, problem string) json.RawMessage {
	if len(v) > 0 || problem == "" {
		return v
	}
	return jsonOf(map[string]string{"error": problem})
}

func openOf(e *tape.Entry) *effect.ExchangeOpen   { return decode(e.R, &effect.ExchangeOpen{}) }
func replyOf(e *tape.Entry) *effect.ExchangeReply { return decode(e.R, &effect.ExchangeReply{}) }
func awaitOf(e *tape.Entry) *effect.AwaitEmit     { return decode(e.R, &effect.AwaitEmit{}) }

// decode decodes a recorded request. Members that an edited tape has in another form stay empty.
func decode[T any](text []byte, to *T) *T {
	if len(text) > 0 {
		_ = json.Unmarshal(text, to)
	}
	return to
}

func canonical(text []byte) string {
	if text = bytes.TrimSpace(text); len(text) == 0 {
		text = []byte("null")
	}
	if c, err := jcs.Canonical(text); err == nil {
		return string(c)
	}
	return string(text)
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func place(p vm.Place) *string {
	if p.File == "" {
		return nil
	}
	return optional(fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column))
}
