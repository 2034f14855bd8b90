package tool

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/jsonschema"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// mostCalls bounds a chain of tools that call tools.
const mostCalls = 8

// mostProblems bounds how many problems of arguments are told.
const mostProblems = 20

// Ask is a call that somebody wants, as plain data.
type Ask struct {
	Name   string          // "x", "x@2", or what an offer calls it
	Args   json.RawMessage // nil: {}
	Value  any             // Args as jsonschema.Decode gives them; nil where nobody has decoded them yet
	CallID string          // the idempotency key; "": the session makes one
	Caller string          // "" and Route "": the session's
	Route  string
	Parent string   // the CallID of the call that it serves
	Chain  []string // the names of the calls that led here
	// Heard, when not nil, hears besides the application what the call emits.
	Heard func(channel string, payload json.RawMessage)
}

// Call is a call on its way. Not safe for concurrent use.
type Call struct {
	s        *Session
	e        *entry // nil when it was not found
	ask      Ask
	args     []byte // as the handler gets them
	value    any    // args, decoded
	shown    *shown // made when it is wanted
	approval *Approval
	asked    string          // the hash of what was asked about
	approved string          // that of what was approved of: the same, or what the answer has put in
	respond  json.RawMessage // given in the tool's place
	changed  bool            // an answer has put other arguments in
	refused  *refusal
	lacks    []string // what the handler ran without
}

// shown is the arguments without their secrets, in canonical form, and their hash.
type shown struct {
	text json.RawMessage
	hash string
}

// refusal is why a call ends before its handler.
type refusal struct {
	outcome Outcome
	why     string
	stop    bool
}

// Prepare resolves the name, asks for the permission, looks at the chain and holds the
// arguments against the schema. The call that it gives may be refused already.
func (s *Session) Prepare(a Ask) *Call {
	if a.CallID == "" {
		a.CallID = s.base.SessionID + "-" + strconv.FormatInt(s.calls.Add(1), 10)
	}
	if a.Route == "" {
		a.Route, a.Caller = s.base.Route, s.base.Caller
		if a.Route == "" {
			a.Route = RouteClient
		}
	}
	c := &Call{s: s, ask: a, args: a.Args}
	if len(c.args) == 0 {
		c.args = []byte("{}")
	}
	now := s.r.snapshot()
	if c.e = s.resolve(now, a.Name); c.e == nil {
		return c.refuse(OutcomeNotFound, "%s", s.missing(now, a.Name))
	}
	c.validate(a.Value)
	arguments := c.refused
	c.refused = nil
	if s.hooks.Permit != nil {
		if err := s.hooks.Permit(&c.e.def); err != nil {
			c.asked = c.show().hash
			c.decided(decision.Deny, "", audit.Actor{Type: effect.ActorRule, Name: ruleOfTools}, 0, err.Error())
			return c.refuse(OutcomeDenied, "%v", err)
		}
	}
	if c.checkChain(); c.refused == nil {
		c.refused = arguments
	}
	if most := s.hooks.MaxCalls; c.refused == nil && most > 0 && s.begun.Load() >= most {
		c.overBudget()
	}
	return c
}

// overBudget refuses a call of a session that has made all it may.
func (c *Call) overBudget() *Call {
	return c.refuse(OutcomeLimit, "%s was not called: the session has made the %d calls of tools that its budget allows", c.name(), c.s.hooks.MaxCalls)
}

func (c *Call) refuse(o Outcome, format string, args ...any) *Call {
	c.refused = &refusal{outcome: o, why: fmt.Sprintf(format, args...)}
	return c
}

// name is the tool's, as chains and messages have it.
func (c *Call) name() string {
	if c.e == nil {
		return c.ask.Name
	}
	return c.e.def.Name
}

func (c *Call) checkChain() {
	chain := c.chain()
	switch {
	case slices.Contains(c.ask.Chain, c.name()):
		c.refuse(OutcomeLimit, "tool cycle: %s", strings.Join(chain, " → "))
	case len(chain) > mostCalls:
		c.refuse(OutcomeLimit, "a chain holds at most %d calls of tools: %s", mostCalls, strings.Join(chain, " → "))
	}
}

// chain is the calls that led here and this one.
func (c *Call) chain() []string { return append(slices.Clip(slices.Clone(c.ask.Chain)), c.name()) }

// validate holds the arguments against the schema. v is the arguments, nil where they are
// to be decoded.
func (c *Call) validate(v any) {
	var err error
	if v == nil {
		v, err = jsonschema.Decode(c.args)
	}
	if err != nil {
		c.value = nil
		c.refuse(OutcomeArguments, "bad arguments for %s: %v", c.name(), err)
		return
	}
	c.value = v
	if problems := c.e.params.Check(v); len(problems) > 0 {
		c.refuse(OutcomeArguments, "bad arguments for %s: %s", c.name(), jsonschema.Say(problems, mostProblems))
	}
}

// show makes what is shown of the arguments, once.
func (c *Call) show() *shown {
	if c.shown != nil {
		return c.shown
	}
	v, err := c.value, error(nil)
	if v == nil {
		if v, err = jsonschema.Decode(c.args); err != nil {
			v = nil // what cannot be read is not shown: nobody knows what is secret in it
		}
	}
	if c.e != nil {
		v = c.e.params.Redact(v, Tag)
	}
	text, err := jcs.Canonical(c.hidden(jsonwrite.MustEncode(v)))
	if err != nil {
		text = []byte("null")
	}
	c.shown = &shown{text, hexsum.SHA256(text)}
	return c.shown
}

// hidden is a JSON text without known secrets.
func (c *Call) hidden(text []byte) []byte {
	if c.s.hooks.Hide == nil {
		return text
	}
	return c.s.hooks.Hide(text)
}

// key is that of the process.
var key = sync.OnceValue(func() []byte {
	k := make([]byte, 32)
	_, _ = rand.Read(k) // it never fails: the process ends before
	return k
})

// Tag stands for a secret: equal ones have equal tags, and nothing can be guessed.
func Tag(value []byte) string {
	if text, err := jcs.Canonical(value); err == nil {
		value = text
	}
	m := hmac.New(sha256.New, key())
	m.Write(value)
	return hex.EncodeToString(m.Sum(nil))[:12]
}

// Shown is the arguments as approvals, the audit, logs and events show them, in
// canonical form.
func (c *Call) Shown() json.RawMessage { return c.show().text }

// ID is the call's, the same for each attempt.
func (c *Call) ID() string { return c.ask.CallID }

// Refused says that the call ends without its handler. Run tells how.
func (c *Call) Refused() bool { return c.refused != nil }

// Definition is the tool's, nil when it was not found.
func (c *Call) Definition() *Definition {
	if c.e == nil {
		return nil
	}
	return &c.e.def
}

// Phase is that a call begins, which may be refused already, or has ended.
type Phase struct {
	Ended                   bool
	CallID, Tool, By, Route string
	Outcome                 Outcome       // when it has ended
	Duration                time.Duration // of the handler
}

// Ended is how a call ended.
type Ended struct {
	Result  Result // with Info in its metadata
	Outcome Outcome
	CallID  string
	// Started says that the handler was begun: unless the outcome is ok or failed, what it
	// does may have happened.
	Started bool
	// Stop says that the agent's call is to end with the error.
	Stop bool
	// Changed are the arguments, as shown, that an answer to the approval has put in.
	Changed  json.RawMessage
	Duration time.Duration // of the handler

	mocked, unplayed bool // in a test: see effect.AppResult
}

// Text is the result for a model, and whether it failed. When the arguments were
// changed, it says so.
func (e Ended) Text() (text string, failed bool) {
	text, failed = e.Result.Text()
	if e.Changed != nil {
		text += "\n(called with changed arguments: " + string(e.Changed) + ")"
	}
	return text, failed
}

// end makes the end of a call.
func (c *Call) end(r Result, o Outcome, started bool, took time.Duration) Ended {
	metadata := make(map[string]any, len(r.Metadata)+1)
	for k, v := range r.Metadata {
		metadata[k] = v
	}
	metadata[infoKey] = Info{c.ask.CallID, o, took.Milliseconds(), c.lacks}
	r.Metadata = metadata
	e := Ended{Result: r, Outcome: o, CallID: c.ask.CallID, Started: started, Duration: took}
	if c.changed && c.refused == nil {
		e.Changed = c.show().text
	}
	return e
}

// Call calls a tool for whoever opened the session. It never panics, and every error is
// a result.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) Result {
	return s.Do(ctx, Ask{Name: name, Args: args}).Result
}

// Do goes the whole way of a call, with the session's hooks. A panic of theirs is a
// failure, too: what it leaves of the call is not known.
func (s *Session) Do(ctx context.Context, a Ask) (e Ended) {
	defer func() {
		if p := recover(); p != nil {
			s.log("error", fmt.Sprintf("the call of tool '%s' panicked: %v\n%s", a.Name, p, debug.Stack()))
			c := &Call{s: s, ask: a}
			e = c.end(Failure("the call of tool '%s' panicked: %v", a.Name, p), OutcomeFailed, true, 0)
		}
	}()
	c := s.Prepare(a)
	if q := c.Question(); q != nil {
		c.approve(ctx, q)
	}
	return c.finish(ctx)
}

// finish makes a call about which everything is decided, between its records.
func (c *Call) finish(ctx context.Context) (e Ended) {
	if c.Question() != nil { // it needs an approval that nobody was asked for
		c.Nobody(nil)
	}
	c.holdApproved()
	if c.s.hooks.Heard != nil {
		p := Phase{CallID: c.ID(), Tool: c.name(), By: c.ask.Caller, Route: c.ask.Route}
		c.s.hooks.Heard(p)
		defer func() {
			p.Ended, p.Outcome, p.Duration = true, e.Outcome, e.Duration
			c.s.hooks.Heard(p)
		}()
	}
	if err := c.record(c.Began); err != nil {
		c.refuse(OutcomeUnavailable, "%s was not called: %v", c.name(), err)
		return c.Run(ctx) // nothing was begun: there is no end to record
	}
	e = c.Run(ctx)
	if err := c.record(func() audit.Record { return c.Ended(e) }); err != nil {
		c.unrecorded(err)
	}
	return e
}

// unrecorded tells that the end of the call is not in the audit.
func (c *Call) unrecorded(err error) {
	c.s.log("error", fmt.Sprintf("the end of call %s of tool '%s' is not in the audit log: %v", c.ask.CallID, c.name(), err))
}
