package tool

import (
	"encoding/json"
	"fmt"

	"github.com/concerto-lang/concerto/internal/audit"
)

// AuditChannel is where each record is told.
const AuditChannel = "audit:tool"

// actorOf is who makes calls that come by a route.
func actorOf(route string) string {
	if route == RouteDispatch {
		return "program"
	}
	return route
}

// CallRecord is what the audit tells of a call, whatever implements its tool.
type CallRecord struct {
	Session, Route, By string
	Tool, Owner        string
	Version            int
	CallID, Parent     string
	Args               json.RawMessage // as shown
	ArgsSHA256         string
	Approval           *Approval
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (r CallRecord) record(kind string, data any) audit.Record {
	subject := map[string]any{"tool": r.Tool, "version": nil, "owner": orNull(r.Owner), "call": r.CallID, "parent": orNull(r.Parent)}
	if r.Version > 0 {
		subject["version"] = r.Version
	}
	return audit.Record{Run: r.Session, Kind: kind, Actor: audit.Actor{Type: actorOf(r.Route), Name: r.By}, Subject: mustEncode(subject), Data: mustEncode(data)}
}

// mustEncode writes what is known to be JSON.
func mustEncode(v any) json.RawMessage {
	text, err := encode(v)
	if err != nil {
		panic(fmt.Sprintf("tool: a record is no JSON: %v", err))
	}
	return text
}

// Call is the record before the handler starts, or of the refusal.
func (r CallRecord) Call() audit.Record {
	return r.record(audit.KindCall, map[string]any{"args": r.Args, "args_sha256": r.ArgsSHA256, "approval": r.Approval})
}

// Done is the record after.
func (r CallRecord) Done(outcome Outcome, message string, durationMS int64, outputBytes int) audit.Record {
	return r.record(audit.KindDone, map[string]any{"outcome": outcome, "error": orNull(message), "duration_ms": durationMS, "output_bytes": outputBytes})
}

func (c *Call) recorded() CallRecord {
	r := CallRecord{Session: c.s.base.SessionID, Route: c.ask.Route, By: c.ask.Caller, Tool: c.name(), CallID: c.ask.CallID, Parent: c.ask.Parent,
		Args: c.show().text, ArgsSHA256: c.show().hash, Approval: c.approval}
	if c.e != nil {
		r.Version, r.Owner = c.e.def.Version, c.e.owner
		if c.e.recorded != "" {
			r.Tool = c.e.recorded
		}
	}
	return r
}

// Began is the audit's record of the call.
func (c *Call) Began() audit.Record { return c.clean(c.recorded().Call()) }

// clean takes known secrets out of what reasons and errors say.
func (c *Call) clean(r audit.Record) audit.Record {
	r.Data = c.hidden(r.Data)
	return r
}

// Ended is the audit's record of its end.
func (c *Call) Ended(e Ended) audit.Record {
	return c.clean(c.recorded().Done(e.Outcome, e.Result.Error, e.Duration.Milliseconds(), len(e.Result.Output)))
}

// record writes a record where there is an audit.
func (c *Call) record(r func() audit.Record) error {
	if c.s.hooks.Audit == nil {
		return nil
	}
	_, err := c.s.hooks.Audit.Append(r())
	return err
}
