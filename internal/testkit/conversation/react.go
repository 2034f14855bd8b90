package conversation

import (
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostmsg"
)

// reaction is the program's response to a message.
type reaction struct {
	emits  []string // emits at level Listen: channel and payload
	reply  string   // the response's line without its line end, or ""
	piece  piece    // the message's part of the result
	cancel bool     // the program ends the exchange
	wait   string   // the program sends this signal and handles the message until it is withdrawn
	steer  *steered // the program sends the host a message
}

// piece is a part of an exchange's result.
type piece struct {
	text string
	of   string // ID of the host's message to which it belongs, or ""
}

// steered is a message of the program to the host.
type steered struct {
	id        string
	text      string
	interrupt bool
	queued    bool // the host receives it as a later prompt
}

// reactTo returns the reaction to a message of exchange e. payload is the message without its type.
func (t *Conversation) reactTo(e *Exchange, typ string, payload object) reaction {
	switch {
	case hostmsg.Lookup(typ).Role == hostmsg.Withdraws:
		return reaction{} // the message withdraws a request that is already answered or unknown
	case t.Options.Level == Wire:
		return t.performMember(typ, payload)
	case !slices.Contains(e.Handled, typ):
		return t.unhandledReaction(typ, payload)
	case typ == "typed":
		return typedReaction(payload)
	}
	r := t.performMember(typ, payload)
	r.emits = append([]string{`got [` + quote(typ) + `,` + payload.String() + `]`}, r.emits...)
	return r
}

// performMember returns the reaction that the member `do` of a message requests.
func (t *Conversation) performMember(typ string, payload object) reaction {
	do, _ := payload.text("do")
	switch do {
	case "reply":
		with := payload.raw("with")
		if with == "" || with == "null" {
			return reaction{}
		}
		return reaction{reply: response(typ, payload, "value", with)}
	case "fail":
		return reaction{cancel: true}
	case "wait":
		signal, _ := payload.text("signal")
		return reaction{wait: signal}
	case "steer", "interrupt":
		return t.steer(payload, do == "interrupt")
	}
	return reaction{}
}

// steer returns the reaction that sends the host a message.
func (t *Conversation) steer(payload object, interrupt bool) reaction {
	text, _ := payload.text("with")
	s := &steered{id: "t" + payload.raw("n"), text: text, interrupt: interrupt, queued: !interrupt && !t.Steer}
	switch {
	case interrupt:
		return reaction{emits: []string{`steered "interrupted"`}, reply: `{"type":"cancel","reason":"interrupted"}`, steer: s}
	case s.queued:
		return reaction{emits: []string{`steered "queued"`}, steer: s}
	}
	return reaction{emits: []string{`steered "steered"`}, reply: `{"type":"steer","id":` + quote(s.id) + `,"text":` + quote(text) + `}`, steer: s}
}

// typedReaction returns the reaction of the handler whose parameter has the schema N.
func typedReaction(payload object) reaction {
	n := payload.raw("n")
	if _, err := strconv.ParseInt(n, 10, 64); err == nil {
		return reaction{emits: []string{`got ["typed",` + n + `]`}, reply: response("typed", payload, "value", n)}
	}
	problem := "n: missing, expected Int"
	if n != "" {
		problem = "n: expected Int, got " + n
	}
	return reaction{emits: []string{"listen:invalid " + about("typed", payload).with("error", quote(problem)).String()}}
}

// unhandledReaction returns the reaction to a message without a handler.
func (t *Conversation) unhandledReaction(typ string, payload object) reaction {
	msg := hostmsg.Lookup(typ)
	switch {
	case msg.Unhandled == hostmsg.Gathered:
		for _, name := range []string{"text", "chunk"} {
			if s, ok := payload.text(name); ok {
				of, _ := payload.text("message")
				return reaction{piece: piece{s, of}}
			}
		}
		return reaction{}
	case msg.Unhandled == hostmsg.Removed:
		return reaction{}
	case msg.Unhandled == hostmsg.ByTools && t.Tools:
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimPrefix(payload.raw("args"), `{"n":`), "}"), 10, 64)
		return reaction{reply: response(typ, payload, "value", strconv.FormatInt(2*n, 10))}
	}
	r := reaction{emits: []string{"listen:unhandled " + about(typ, payload).String()}}
	switch {
	case !msg.Waits():
	case t.Defaults[msg.Default] != "":
		r.reply = response(typ, payload, "value", quote(t.Defaults[msg.Default]))
	default:
		problem := "nothing handles " + typ + " messages"
		if msg.ByPerson() {
			problem += ", and no person can be asked"
		}
		r.reply = response(typ, payload, "error", quote(problem))
	}
	return r
}

// about returns the payload of a notice about a message.
func about(typ string, payload object) object {
	return object{{"host", []byte(quote(Host))}, {"type", []byte(quote(typ))}, {"message", []byte(payload.String())}}
}

// response returns the line that answers a message.
func response(typ string, payload object, as, value string) string {
	o := object{{"type", []byte(`"response"`)}, {"in_reply_to", []byte(quote(typ))}}
	if id := payload.raw("id"); id != "" {
		o = o.with("answer_to", id)
	}
	return o.with(as, value).String()
}
