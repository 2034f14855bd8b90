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

// ApprovalChannel is where approvals are asked for.
const ApprovalChannel = effect.ToolApproval

// Question is what is asked about a call, the payload of ApprovalChannel.
type Question struct {
	Tool        string          `json:"tool"`
	Args        json.RawMessage `json:"args"` // as shown
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

// QuestionContext is what a question tells of the session.
type QuestionContext struct {
	SessionID string         `json:"session_id"`
	Cwd       string         `json:"cwd"`
	Metadata  map[string]any `json:"metadata"`
}

// Timeout is how long an answer is waited for.
func (q *Question) Timeout() time.Duration { return time.Duration(q.TimeoutS * float64(time.Second)) }

// Approval is what was decided about a call, as the audit has it.
type Approval struct {
	Decision    string      `json:"decision"` // allow, deny or respond
	Scope       *string     `json:"scope"`    // once or session, of an allowance
	Actor       audit.Actor `json:"actor"`
	MS          int64       `json:"ms"`
	AskedSHA256 string      `json:"asked_sha256"`
	Reason      *string     `json:"reason"`
}

// ruleOfTools is the rule that says which tools may be called.
const ruleOfTools = "[permissions] tools"

// allowed is the word for an allowance.
const allowed = "allow"

// actorSession is who decides when it was granted before.
const actorSession = "session"

// grant is what was allowed for a session: calls of a registration of a version, all of
// them or those with the same arguments.
type grant struct {
	e    *entry
	hash string // "": all
}

// Question is what to ask before the call goes on; nil when nothing needs to be asked:
// the call is refused, needs no approval, or was approved of for the session.
func (c *Call) Question() *Question {
	if c.refused != nil || c.approval != nil {
		return nil
	}
	d := &c.e.def
	if !c.s.mustAsk(d) {
		return nil
	}
	c.asked = c.show().hash
	c.s.mu.Lock()
	by, granted := c.s.grants[grant{c.e, ""}]
	if !granted {
		by, granted = c.s.grants[grant{c.e, c.asked}]
	}
	c.s.mu.Unlock()
	if granted {
		c.decided(allowed, decision.Session, audit.Actor{Type: actorSession, Name: by.Name}, 0, "")
		return nil
	}
	metadata := c.s.base.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	return &Question{Tool: d.Name, Args: c.show().text, By: c.ask.Caller, Description: d.Description, CallID: c.ask.CallID, Version: d.Version,
		Route: c.ask.Route, Chain: c.chain(), Context: QuestionContext{c.s.base.SessionID, c.s.base.Cwd, metadata}, ArgsSHA256: c.asked,
		Options: []string{decision.Once, decision.Session, decision.Deny}, TimeoutS: d.ApprovalLimit().Seconds()}
}

// mustAsk says whether calls of a tool must be approved of.
func (s *Session) mustAsk(d *Definition) bool {
	return d.RequiresApproval || s.hooks.MustApprove != nil && s.hooks.MustApprove(d)
}

func (c *Call) decided(what, scope string, by audit.Actor, took time.Duration, reason string) {
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
	c.decided(decision.Deny, "", by, took, reason)
	if reason == "" {
		reason = "the application refused"
	}
	c.refuse(OutcomeDenied, "%s was not called: %s", c.name(), reason)
	c.refused.stop = stop
}

// Answer takes the answer to the Question, a JSON value, whose it is, and how long it took.
func (c *Call) Answer(answer json.RawMessage, by audit.Actor, took time.Duration) {
	a := decision.OfTool(answer)
	if a.Allow {
		a.Decision = a.Covers(c.show().text)
	}
	switch {
	case !a.Allow:
		c.deny(by, took, a.Reason, a.Stop)
	case a.Respond:
		c.decided(decision.Respond, "", by, took, a.Reason)
		if c.respond = a.Output; c.respond == nil {
			c.respond = json.RawMessage("null")
		}
	default:
		c.allow(a, by, took)
	}
}

func (c *Call) allow(a decision.Answer, by audit.Actor, took time.Duration) {
	c.decided(allowed, a.Scope, by, took, a.Reason)
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

// edit puts other arguments in. A mark of what is redacted keeps the value.
func (c *Call) edit(input json.RawMessage) {
	v, err := jsonschema.Decode(input)
	var problems []jsonschema.Problem
	if err == nil {
		v, problems = c.e.params.Restore(v, c.value, Tag)
	}
	before := c.show().hash
	switch {
	case err != nil:
		c.args, c.shown = input, nil
		c.validate(nil)
	case len(problems) > 0:
		c.refuse(OutcomeArguments, "bad arguments for %s: %s", c.name(), jsonschema.Say(problems, mostProblems))
	default:
		c.args, c.shown = jsonwrite.MustEncode(v), nil
		c.validate(nil)
		c.approved = c.show().hash
		c.changed = c.approved != before
	}
}

// Nobody says that nobody is there to answer; err may tell more. Behind an effect it is
// only a text.
func (c *Call) Nobody(err error) {
	reason := "nobody approved of it"
	if err != nil && !errors.Is(err, ErrNobody) && err.Error() != ErrNobody.Error() {
		reason += ": " + err.Error()
	}
	c.deny(audit.Actor{Type: effect.ActorDefault}, 0, reason, false)
}

// TimedOut says that nobody has answered in time. What then happens is the timeout's
// decision, never anyone's.
func (c *Call) TimedOut(took time.Duration) {
	d := &c.e.def
	by := audit.Actor{Type: effect.ActorTimeout}
	if d.OnTimeout == OnTimeoutAllow {
		c.decided(allowed, decision.Once, by, took, "")
		return
	}
	c.deny(by, took, "nobody answered within "+seconds(d.ApprovalLimit())+" s", d.OnTimeout == OnTimeoutHalt)
}

// Approved puts in what was decided before, as for a call that is prepared again.
func (c *Call) Approved(a *Approval) {
	if c.refused == nil {
		c.approval = a
	}
}

// Approval is what was decided; nil when nothing had to be.
func (c *Call) Approval() *Approval { return c.approval }

// ErrNobody is what a hook gives when nobody is there to answer.
var ErrNobody = errors.New("nobody is there")

var errNoAnswer = errors.New("nobody answered in time")

// approve asks by the session's hook.
func (c *Call) approve(ctx context.Context, q *Question) {
	if c.s.hooks.Approve == nil {
		c.Nobody(nil)
		return
	}
	hand := c.s.hooks.Hand
	limited, stop := hand.Within(ctx, c.e.def.ApprovalLimit(), errNoAnswer)
	defer stop()
	began := hand.Now()
	var answer json.RawMessage
	var by audit.Actor
	err := contained(c.name(), func() (err error) {
		answer, by, err = c.s.hooks.Approve(limited, q)
		return err
	})
	took := hand.Now().Sub(began)
	switch {
	case err == nil:
		c.Answer(answer, by, took)
	case ctx.Err() != nil:
		c.asked = ""
		c.refuse(OutcomeCancelled, "%s", c.cancelled(context.Cause(ctx)))
	case context.Cause(limited) == errNoAnswer:
		c.TimedOut(took)
	default:
		c.Nobody(err)
	}
}

// otherArguments is why a call is refused whose arguments are not those that were approved of.
const otherArguments = "%s was not called: its arguments are not those that were approved of"

// holdApproved refuses the call when what would be called with is not what was approved of, and
// gives the hash of what would be; "" when the call is not made, or nothing was decided about it.
func (c *Call) holdApproved() (executed string) {
	a := c.approval
	if a == nil || a.Decision != allowed || c.refused != nil || c.approved == "" {
		return ""
	}
	c.shown = nil // what was shown is not what is called with
	c.value = nil
	if executed = c.show().hash; executed != c.approved {
		c.refuse(OutcomeDenied, otherArguments, c.name())
	}
	return executed
}

// told is what was decided, for records other than the audit; nil when nothing had to be.
func (c *Call) told(executed string) *effect.AppDecided {
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
