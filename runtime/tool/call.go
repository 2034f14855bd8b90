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

// mostCalls is the maximum length of a chain of tools that call each other.
const mostCalls = 8

// mostProblems is the maximum number of problems that the error for bad arguments lists.
const mostProblems = 20

// Ask is a request to call a tool, as plain data.
type Ask struct {
	Name   string          // "x", "x@2", or the name for models in an offer
	Args   json.RawMessage // nil means {}
	Value  any             // Args in the form that jsonschema.Decode returns; nil if not decoded
	CallID string          // idempotency key of the call; if it is "", the session generates one
	Caller string          // name of the caller; if Caller and Route are "", the session's caller
	Route  string
	Parent string   // CallID of the call that makes this one; "" for none
	Chain  []string // names of the enclosing calls, outermost first
	// OnEmit also receives the values that the call emits; nil for none.
	OnEmit func(channel string, payload json.RawMessage)
}

// Call is a call in progress. It is not safe for concurrent use.
type Call struct {
	s        *Session
	e        *entry // nil if no tool was found
	ask      Ask
	args     []byte // arguments that the handler receives
	value    any    // decoded args
	shown    *shown // set by shownArguments
	approval *Approval
	asked    string          // hash of the arguments in the request for approval; "" without one
	approved string          // hash of the arguments that were approved: the shown ones, or those in the answer
	respond  json.RawMessage // output from the answer to the approval; it replaces the handler's
	changed  bool            // the answer has replaced the arguments
	refused  *refusal
	lacks    []string // features that the sandbox of the command needs and this machine lacks
}

// shown contains the arguments without secrets in canonical form, and their hash.
type shown struct {
	text json.RawMessage
	hash string
}

// refusal is the reason why a call ends before its handler.
type refusal struct {
	outcome Outcome
	why     string
	stop    bool
}

// Prepare begins a call. It resolves the name, checks the permission, the depth and cycles, and
// validates the arguments. If a check fails, the returned call is refused.
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

// overBudget refuses a call if the session has started its maximum number of handlers.
func (c *Call) overBudget() *Call {
	return c.refuseCall(OutcomeLimit, "%s was not called: the session has used its budget of %d tool calls", c.qualifiedName(), c.s.hooks.MaxCalls)
}

func (c *Call) refuseCall(o Outcome, format string, args ...any) *Call {
	c.refused = &refusal{outcome: o, why: fmt.Sprintf(format, args...)}
	return c
}

// qualifiedName returns the tool's name as it appears in chains and messages.
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

// chain returns the names of the enclosing calls followed by the name of this call's tool.
func (c *Call) chain() []string {
	return append(slices.Clip(slices.Clone(c.ask.Chain)), c.qualifiedName())
}

// validate checks the arguments against the schema. v is the decoded form of the arguments, or nil.
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

// shownArguments returns the arguments without secrets. It computes them only once.
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

// hidden returns a JSON text from which known secrets are removed.
func (c *Call) hidden(text []byte) []byte {
	if c.s.hooks.Hide == nil {
		return text
	}
	return c.s.hooks.Hide(text)
}

// key returns a random key, which remains the same during the life of this process.
var key = sync.OnceValue(func() []byte {
	k := make([]byte, 32)
	_, _ = rand.Read(k) // never fails
	return k
})

// Tag returns a mark for a secret. Equal secrets have equal marks, and the mark does not reveal the
// secret.
func Tag(value []byte) string {
	if text, err := jcs.Canonical(value); err == nil {
		value = text
	}
	m := hmac.New(sha256.New, key())
	m.Write(value)
	return hex.EncodeToString(m.Sum(nil))[:12]
}

// Shown returns the arguments in the form that approvals, audit records, logs and events show:
// without secrets, in canonical form.
func (c *Call) Shown() json.RawMessage { return c.shownArguments().text }

// ID returns the call's ID. A repeated attempt of the call has the same ID.
func (c *Call) ID() string { return c.ask.CallID }

// Refused reports whether the call ends before its handler. Run returns the reason.
func (c *Call) Refused() bool { return c.refused != nil }

// Definition returns the tool's definition, or nil if no tool was found.
func (c *Call) Definition() *Definition {
	if c.e == nil {
		return nil
	}
	return &c.e.def
}

// Phase reports the beginning or the end of a call. A call may be refused already at its beginning.
type Phase struct {
	Ended                   bool
	CallID, Tool, By, Route string
	Outcome                 Outcome       // set at the end
	Duration                time.Duration // running time of the handler; set at the end
}

// Ended describes how a call ended.
type Ended struct {
	Result  Result // includes an Info in its metadata
	Outcome Outcome
	CallID  string
	// Started reports whether the handler was started. If it was and the outcome is neither ok nor
	// failed, it is unknown whether the handler had its effect.
	Started bool
	// Stop means that the agent's call must end with the error of this call.
	Stop bool
	// Changed contains the arguments, without secrets, that the answer to the approval has set; nil
	// if it has set none.
	Changed  json.RawMessage
	Duration time.Duration // running time of the handler

	mocked, unplayed bool // used in tests: see effect.AppResult
}

// Text returns the result as text for a model, and whether it is a failure. The text mentions
// changed arguments.
func (e Ended) Text() (text string, failed bool) {
	text, failed = e.Result.Text()
	if e.Changed != nil {
		text += "\n(called with changed arguments: " + string(e.Changed) + ")"
	}
	return text, failed
}

// endWith returns the description of a call's end.
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

// Call calls a tool for the application that opened the session. It never panics, and returns every
// error as a result.
func (s *Session) Call(ctx context.Context, name string, args json.RawMessage) Result {
	return s.Do(ctx, Ask{Name: name, Args: args}).Result
}

// Do performs a whole call, from Prepare to its end, with the session's hooks. A panic of a hook
// fails the call; its effect is then unknown.
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

// runDecided runs a call whose approval is decided, and writes its audit records.
func (c *Call) runDecided(ctx context.Context) (e Ended) {
	if c.Question() != nil { // the call needs an approval that was not requested
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
		return c.Run(ctx) // the handler is not started, so no end is recorded
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
