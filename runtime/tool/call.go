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

// mostCalls limits the length of a chain of tools that call tools.
const mostCalls = 8

// mostProblems limits the reported problems of arguments.
const mostProblems = 20

// Ask is a request to call a tool, as plain data.
type Ask struct {
	Name   string          // "x", "x@2", or the name in an offer
	Args   json.RawMessage // nil means {}
	Value  any             // Args as jsonschema.Decode returns them; nil if not decoded
	CallID string          // the idempotency key; for "" the session generates one
	Caller string          // if "" and Route is "": the session's
	Route  string
	Parent string   // CallID of the call that makes this one
	Chain  []string // names of the enclosing calls
	// OnEmit, if not nil, also receives the emits of the call.
	OnEmit func(channel string, payload json.RawMessage)
}

// Call is a call in progress. It is not safe for concurrent use.
type Call struct {
	s        *Session
	e        *entry // nil if no tool was found
	ask      Ask
	args     []byte // as the handler receives them
	value    any    // args, decoded
	shown    *shown // set by show
	approval *Approval
	asked    string          // hash of the arguments in the request for approval
	approved string          // hash of the approved arguments: the same, or those of the answer
	respond  json.RawMessage // result that replaces the tool's
	changed  bool            // the answer has replaced the arguments
	refused  *refusal
	lacks    []string // parts of the sandbox that were missing
}

// shown contains the arguments without secrets in canonical form, and their hash.
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

// Prepare resolves the name, checks permission, depth and cycles, and validates the arguments. The
// returned call may be refused already.
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
	if c.e = s.resolveTool(now, a.Name); c.e == nil {
		return c.refuseCall(OutcomeNotFound, "%s", s.missingReason(now, a.Name))
	}
	c.validate(a.Value)
	arguments := c.refused
	c.refused = nil
	if s.hooks.Permit != nil {
		if err := s.hooks.Permit(&c.e.def); err != nil {
			c.asked = c.shownArguments().hash
			c.recordDecision(decision.Deny, "", audit.Actor{Type: effect.ActorRule, Name: ruleOfTools}, 0, err.Error())
			return c.refuseCall(OutcomeDenied, "%v", err)
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

// overBudget refuses a call if the session has used up its calls.
func (c *Call) overBudget() *Call {
	return c.refuseCall(OutcomeLimit, "%s was not called: the session has used its budget of %d tool calls", c.qualifiedName(), c.s.hooks.MaxCalls)
}

func (c *Call) refuseCall(o Outcome, format string, args ...any) *Call {
	c.refused = &refusal{outcome: o, why: fmt.Sprintf(format, args...)}
	return c
}

// qualifiedName returns the tool's name for chains and messages.
func (c *Call) qualifiedName() string {
	if c.e == nil {
		return c.ask.Name
	}
	return c.e.def.Name
}

func (c *Call) checkChain() {
	chain := c.chain()
	switch {
	case slices.Contains(c.ask.Chain, c.qualifiedName()):
		c.refuseCall(OutcomeLimit, "tool cycle: %s", strings.Join(chain, " → "))
	case len(chain) > mostCalls:
		c.refuseCall(OutcomeLimit, "a chain can contain at most %d calls of tools: %s", mostCalls, strings.Join(chain, " → "))
	}
}

// chain returns the names of the enclosing calls and of this one.
func (c *Call) chain() []string {
	return append(slices.Clip(slices.Clone(c.ask.Chain)), c.qualifiedName())
}

// validate checks the arguments against the schema. v is the decoded arguments, or nil.
func (c *Call) validate(v any) {
	var err error
	if v == nil {
		v, err = jsonschema.Decode(c.args)
	}
	if err != nil {
		c.value = nil
		c.refuseCall(OutcomeArguments, "bad arguments for %s: %v", c.qualifiedName(), err)
		return
	}
	c.value = v
	if problems := c.e.params.Check(v); len(problems) > 0 {
		c.refuseCall(OutcomeArguments, "bad arguments for %s: %s", c.qualifiedName(), jsonschema.FormatProblems(problems, mostProblems))
	}
}

// shownArguments returns the arguments without secrets, computed once.
func (c *Call) shownArguments() *shown {
	if c.shown != nil {
		return c.shown
	}
	v, err := c.value, error(nil)
	if v == nil {
		if v, err = jsonschema.Decode(c.args); err != nil {
			v = nil // arguments that cannot be decoded are not shown, because they may contain secrets
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

// hidden returns a JSON text without known secrets.
func (c *Call) hidden(text []byte) []byte {
	if c.s.hooks.Hide == nil {
		return text
	}
	return c.s.hooks.Hide(text)
}

// key is the random key of this process.
var key = sync.OnceValue(func() []byte {
	k := make([]byte, 32)
	_, _ = rand.Read(k) // never fails
	return k
})

// Tag returns a mark for a secret: equal secrets have equal marks, and a mark does not reveal the
// secret.
func Tag(value []byte) string {
	if text, err := jcs.Canonical(value); err == nil {
		value = text
	}
	m := hmac.New(sha256.New, key())
	m.Write(value)
	return hex.EncodeToString(m.Sum(nil))[:12]
}

// Shown returns the arguments as approvals, audit, logs and events show them, in canonical form.
func (c *Call) Shown() json.RawMessage { return c.shownArguments().text }

// ID returns the call's id, which is the same for each attempt.
func (c *Call) ID() string { return c.ask.CallID }

// Refused reports whether the call ends without its handler. Run returns the reason.
func (c *Call) Refused() bool { return c.refused != nil }

// Definition returns the tool's definition, or nil if no tool was found.
func (c *Call) Definition() *Definition {
	if c.e == nil {
		return nil
	}
	return &c.e.def
}

// Phase reports the beginning of a call, which may be refused already, or its end.
type Phase struct {
	Ended                   bool
	CallID, Tool, By, Route string
	Outcome                 Outcome       // at the end
	Duration                time.Duration // of the handler
}

// Ended describes how a call ended.
type Ended struct {
	Result  Result // with Info in its metadata
	Outcome Outcome
	CallID  string
	// Started reports whether the handler was started: unless the outcome is ok or failed, its
	// effect may have happened.
	Started bool
	// Stop means that the agent's call must end with the error.
	Stop bool
	// Changed contains the arguments that the approval's answer has set, without secrets.
	Changed  json.RawMessage
	Duration time.Duration // of the handler

	mocked, unplayed bool // in a test: see effect.AppResult
}

// Text returns the result for a model, and whether it is a failure. It mentions changed arguments.
func (e Ended) Text() (text string, failed bool) {
	text, failed = e.Result.Text()
	if e.Changed != nil {
		text += "\n(called with changed arguments: " + string(e.Changed) + ")"
	}
	return text, failed
}

// endWith returns the end of a call.
func (c *Call) endWith(r Result, o Outcome, started bool, took time.Duration) Ended {
	metadata := make(map[string]any, len(r.Metadata)+1)
	for k, v := range r.Metadata {
		metadata[k] = v
	}
	metadata[infoKey] = Info{c.ask.CallID, o, took.Milliseconds(), c.lacks}
	r.Metadata = metadata
	e := Ended{Result: r, Outcome: o, CallID: c.ask.CallID, Started: started, Duration: took}
	if c.changed && c.refused == nil {
		e.Changed = c.shownArguments().text
	}
	return e
}

// Call calls a tool for the application that opened the session. It never panics, and every error
// is a result.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) Result {
	return s.Do(ctx, Ask{Name: name, Args: args}).Result
}

// Do makes a call from Prepare to its end, with the session's hooks. A panic of a hook is a failure
// with unknown outcome.
func (s *Session) Do(ctx context.Context, a Ask) (e Ended) {
	defer func() {
		if p := recover(); p != nil {
			s.log("error", fmt.Sprintf("the call of tool '%s' panicked: %v\n%s", a.Name, p, debug.Stack()))
			c := &Call{s: s, ask: a}
			e = c.endWith(Failure("the call of tool '%s' panicked: %v", a.Name, p), OutcomeFailed, true, 0)
		}
	}()
	c := s.Prepare(a)
	if q := c.Question(); q != nil {
		c.approve(ctx, q)
	}
	return c.runDecided(ctx)
}

// runDecided makes a call that is decided, and writes its records.
func (c *Call) runDecided(ctx context.Context) (e Ended) {
	if c.Question() != nil { // it needs an approval that was not requested
		c.DenyUnanswered(nil)
	}
	c.checkApproved()
	if c.s.hooks.OnPhase != nil {
		p := Phase{CallID: c.ID(), Tool: c.qualifiedName(), By: c.ask.Caller, Route: c.ask.Route}
		c.s.hooks.OnPhase(p)
		defer func() {
			p.Ended, p.Outcome, p.Duration = true, e.Outcome, e.Duration
			c.s.hooks.OnPhase(p)
		}()
	}
	if err := c.writeRecord(c.Began); err != nil {
		c.refuseCall(OutcomeUnavailable, "%s was not called: %v", c.qualifiedName(), err)
		return c.Run(ctx) // nothing was started, so no end is recorded
	}
	e = c.Run(ctx)
	if err := c.writeRecord(func() audit.Record { return c.Ended(e) }); err != nil {
		c.logUnrecorded(err)
	}
	return e
}

// logUnrecorded logs that the end of the call could not be recorded.
func (c *Call) logUnrecorded(err error) {
	c.s.log("error", fmt.Sprintf("the end of call %s of tool '%s' is not in the audit log: %v", c.ask.CallID, c.qualifiedName(), err))
}
