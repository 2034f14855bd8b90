package tool

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/concerto-lang/concerto/internal/data/decision"
	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/jsonschema"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// ApprovalChannel is the channel of requests for approval.
const ApprovalChannel = effect.ToolApproval

// Question is a request for the approval of a call. It is the payload on ApprovalChannel.
type Question struct {
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args"` // without secrets
	By          string          `json:"by"`
	Description string          `json:"description"`
	CallID      string          `json:"call_id"`
	Version     int             `json:"version"`
	Route       string          `json:"route"`
	Chain       []string        `json:"chain"`
	Context     QuestionContext `json:"context"`
	ArgsSHA256  string          `json:"args_sha256"`
	Options     []string        `json:"options"`
	TimeoutS    float64         `json:"timeout_s"`
}

// QuestionContext describes the session in a Question.
type QuestionContext struct {
	SessionID string         `json:"session_id"`
	Cwd       string         `json:"cwd"`
	Metadata  map[string]any `json:"metadata"`
}

// Timeout returns the maximum wait for an answer.
func (q *Question) Timeout() time.Duration { return time.Duration(q.TimeoutS * float64(time.Second)) }

// Approval is the decision about a call, in the form that audit records use.
type Approval struct {
	Decision    string      `json:"decision"` // allow, deny or respond
	Scope       *string     `json:"scope"`    // once or session, if allowed
	Actor       audit.Actor `json:"actor"`
	MS          int64       `json:"ms"`
	AskedSHA256 string      `json:"asked_sha256"`
	Reason      *string     `json:"reason"`
}

// ruleOfTools is the name of the manifest's rule that lists the permitted tools.
const ruleOfTools = "[permissions] tools"

// allowed is the decision that allows a call.
const allowed = "allow"

// actorSession is the type of the actor when an earlier permission for the session allows a call.
const actorSession = "session"

// grant identifies a permission for the rest of the session: for calls of one version of a tool,
// with any arguments or with the same arguments.
type grant struct {
	e    *entry
	hash string // hash of the arguments; "" means any arguments
}

// Question returns the request for approval that must be answered before the call can run. It
// returns nil if the call is refused, needs no approval, or was approved for the session.
func (c *Call) Question() *Question {
	if c.refused != nil || c.approval != nil {
		return nil
	}
	d := &c.e.def
	if !c.s.mustAsk(d) {
		return nil
	}
	c.asked = c.shownArguments().hash
	c.s.mu.Lock()
	by, granted := c.s.grants[grant{c.e, ""}]
	if !granted {
		by, granted = c.s.grants[grant{c.e, c.asked}]
	}
	c.s.mu.Unlock()
	if granted {
		c.recordDecision(allowed, decision.Session, audit.Actor{Type: actorSession, Name: by.Name}, 0, "")
		return nil
	}
	metadata := c.s.base.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	return &Question{Tool: d.Name, Args: c.shownArguments().text, By: c.ask.Caller, Description: d.Description, CallID: c.ask.CallID, Version: d.Version,
		Route: c.ask.Route, Chain: c.chain(), Context: QuestionContext{c.s.base.SessionID, c.s.base.Cwd, metadata}, ArgsSHA256: c.asked,
		Options: []string{decision.Once, decision.Session, decision.Deny}, TimeoutS: d.ApprovalLimit().Seconds()}
}

// mustAsk reports whether calls of a tool need approval.
func (s *Session) mustAsk(d *Definition) bool {
	return d.RequiresApproval || s.hooks.MustApprove != nil && s.hooks.MustApprove(d)
}

func (c *Call) recordDecision(what, scope string, by audit.Actor, took time.Duration, reason string) {
	c.approved = c.asked
	c.approval = &Approval{Decision: what, Actor: by, MS: took.Milliseconds(), AskedSHA256: c.asked}
	if scope != "" {
		c.approval.Scope = &scope
	}
	if reason != "" {
		c.approval.Reason = &reason
	}
}

func (c *Call) deny(by audit.Actor, took time.Duration, reason string, stop bool) {
	c.recordDecision(decision.Deny, "", by, took, reason)
	if reason == "" {
		reason = "the application rejected it"
	}
	c.refuseCall(OutcomeDenied, "%s was not called: %s", c.qualifiedName(), reason)
	c.refused.stop = stop
}

// Answer applies the answer to the Question. by is the actor that answered, and took is the time
// until the answer.
func (c *Call) Answer(answer json.RawMessage, by audit.Actor, took time.Duration) {
	a := decision.ParseTool(answer)
	if a.Allow {
		a.Decision = a.Covers(c.shownArguments().text)
	}
	switch {
	case !a.Allow:
		c.deny(by, took, a.Reason, a.Stop)
	case a.Respond:
		c.recordDecision(decision.Respond, "", by, took, a.Reason)
		if c.respond = a.Output; c.respond == nil {
			c.respond = json.RawMessage("null")
		}
	default:
		c.allow(a, by, took)
	}
}

func (c *Call) allow(a decision.Answer, by audit.Actor, took time.Duration) {
	c.recordDecision(allowed, a.Scope, by, took, a.Reason)
	if a.Input != nil {
		c.edit(a.Input)
	}
	if a.Scope == decision.Session && c.refused == nil {
		g := grant{e: c.e}
		if a.Match == decision.MatchArgs {
			g.hash = c.asked
		}
		c.s.mu.Lock()
		if c.s.grants == nil {
			c.s.grants = map[grant]audit.Actor{}
		}
		c.s.grants[g] = by
		c.s.mu.Unlock()
	}
}

// edit replaces the arguments with input. A redaction mark in input represents the original value,
// which is restored.
func (c *Call) edit(input json.RawMessage) {
	v, err := jsonschema.Decode(input)
	var problems []jsonschema.Problem
	if err == nil {
		v, problems = c.e.params.Restore(v, c.value, Tag)
	}
	before := c.shownArguments().hash
	switch {
	case err != nil:
		c.args, c.shown = input, nil
		c.validate(nil)
	case len(problems) > 0:
		c.refuseCall(OutcomeArguments, "bad arguments for %s: %s", c.qualifiedName(), jsonschema.FormatProblems(problems, mostProblems))
	default:
		c.args, c.shown = jsonwrite.MustEncode(v), nil
		c.validate(nil)
		c.approved = c.shownArguments().hash
		c.changed = c.approved != before
	}
}

// DenyUnanswered denies the call because no approver is available. err, which may be nil, explains
// why.
func (c *Call) DenyUnanswered(err error) {
	reason := "it was not approved"
	if err != nil && !errors.Is(err, ErrNoApprover) && err.Error() != ErrNoApprover.Error() {
		reason += ": " + err.Error()
	}
	c.deny(audit.Actor{Type: effect.ActorDefault}, 0, reason, false)
}

// TimedOut decides the call according to the tool's on_timeout, because no answer came in time.
func (c *Call) TimedOut(took time.Duration) {
	d := &c.e.def
	by := audit.Actor{Type: effect.ActorTimeout}
	if d.OnTimeout == OnTimeoutAllow {
		c.recordDecision(allowed, decision.Once, by, took, "")
		return
	}
	c.deny(by, took, "there was no answer within "+formatSeconds(d.ApprovalLimit())+" s", d.OnTimeout == OnTimeoutHalt)
}

// Approved applies the decision of an earlier attempt to a call that was prepared again.
func (c *Call) Approved(a *Approval) {
	if c.refused == nil {
		c.approval = a
	}
}

// Approval returns the decision about the call, or nil if the call needed none.
func (c *Call) Approval() *Approval { return c.approval }

// ErrNoApprover is the error of Hooks.Approve if no approver is available.
var ErrNoApprover = errors.New("no handler is available to answer")

var errNoAnswer = errors.New("there was no answer in time")

// approve requests the approval with the session's hook and applies the answer.
func (c *Call) approve(ctx context.Context, q *Question) {
	if c.s.hooks.Approve == nil {
		c.DenyUnanswered(nil)
		return
	}
	clock := c.s.hooks.Clock
	limited, stop := clock.Within(ctx, c.e.def.ApprovalLimit(), errNoAnswer)
	defer stop()
	began := clock.Now()
	var answer json.RawMessage
	var by audit.Actor
	err := contained(c.qualifiedName(), func() (err error) {
		answer, by, err = c.s.hooks.Approve(limited, q)
		return err
	})
	took := clock.Now().Sub(began)
	switch {
	case err == nil:
		c.Answer(answer, by, took)
	case ctx.Err() != nil:
		c.asked = ""
		c.refuseCall(OutcomeCancelled, "%s", c.cancelled(context.Cause(ctx)))
	case context.Cause(limited) == errNoAnswer:
		c.TimedOut(took)
	default:
		c.DenyUnanswered(err)
	}
}

// otherArguments is the error text for a call whose arguments differ from the approved ones.
const otherArguments = "%s was not called: its arguments differ from the approved ones"

// checkApproved refuses the call if its arguments differ from the approved ones. It returns the
// hash of the arguments, or "" if the call is refused or needed no decision.
func (c *Call) checkApproved() (executed string) {
	a := c.approval
	if a == nil || a.Decision != allowed || c.refused != nil || c.approved == "" {
		return ""
	}
	c.shown = nil // the arguments may differ from those that were shown
	c.value = nil
	if executed = c.shownArguments().hash; executed != c.approved {
		c.refuseCall(OutcomeDenied, otherArguments, c.qualifiedName())
	}
	return executed
}

// decisionRecord returns the decision in the form that records other than the audit use, or nil if
// the call needed none.
func (c *Call) decisionRecord(executed string) *effect.AppDecided {
	a := c.approval
	if a == nil {
		return nil
	}
	d := &effect.AppDecided{Decision: a.Decision, Actor: effect.Actor{Type: a.Actor.Type, Name: a.Actor.Name}, MS: a.MS, ArgsSHA256: c.approved, ExecutedSHA256: executed}
	if a.Scope != nil {
		d.Scope = *a.Scope
	}
	if a.Reason != nil {
		d.Reason = *a.Reason
	}
	return d
}
