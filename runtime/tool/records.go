package tool

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/internal/text/jcs"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// AuditChannel is the channel on which each audit record is emitted.
const AuditChannel = "audit:tool"

// actorOf returns the type of the actor for calls that arrive by a route.
func actorOf(route string) string {
	if route == RouteDispatch {
		return "program"
	}
	return route
}

// CallRecord contains the data of a call for its audit records, for tools of every kind.
type CallRecord struct {
	Session, Route, By string
	Tool, Owner        string
	Version            int
	CallID, Parent     string
	Args               json.RawMessage // arguments without secrets
	ArgsSHA256         string
	Approval           *Approval
}

// auditRecord returns an audit record. data must be in canonical form, so that it can be written
// without parsing.
func (r CallRecord) auditRecord(kind string, data []byte) audit.Record {
	b := make([]byte, 0, 128+len(r.CallID)+len(r.Owner)+len(r.Tool)+len(r.Parent))
	b = jcs.AppendText(append(b, `{"call":`...), r.CallID)
	b = appendOrNull(append(b, `,"owner":`...), r.Owner)
	b = appendOrNull(append(b, `,"parent":`...), r.Parent)
	b = jcs.AppendText(append(b, `,"tool":`...), r.Tool)
	if b = append(b, `,"version":`...); r.Version > 0 {
		b = strconv.AppendInt(b, int64(r.Version), 10)
	} else {
		b = append(b, "null"...)
	}
	return audit.Record{Run: r.Session, Kind: kind, Actor: audit.Actor{Type: actorOf(r.Route), Name: r.By}, Subject: append(b, '}'), Data: data}
}

// appendOrNull appends a JSON string, or null for "".
func appendOrNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return jcs.AppendText(b, s)
}

// mustEncode encodes a value that is known to be encodable.
func mustEncode(v any) json.RawMessage {
	text, err := jsonwrite.Encode(v)
	if err != nil {
		panic(fmt.Sprintf("tool: invalid JSON in a record: %v", err))
	}
	return text
}

// Call returns the record that is written before the handler starts or when the call is refused.
func (r CallRecord) Call() audit.Record {
	b := make([]byte, 0, 256+len(r.Args))
	if b = append(b, `{"approval":`...); r.Approval == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, mustEncode(r.Approval)...)
	}
	if b = append(b, `,"args":`...); r.Args == nil {
		b = append(b, "null"...)
	} else {
		b = append(b, r.Args...)
	}
	b = jcs.AppendText(append(b, `,"args_sha256":`...), r.ArgsSHA256)
	return r.auditRecord(audit.KindCall, append(b, '}'))
}

// Done returns the record that is written after the call.
func (r CallRecord) Done(outcome Outcome, message string, durationMS int64, outputBytes int) audit.Record {
	b := strconv.AppendInt(append(make([]byte, 0, 128+len(message)), `{"duration_ms":`...), durationMS, 10)
	b = appendOrNull(append(b, `,"error":`...), message)
	b = jcs.AppendText(append(b, `,"outcome":`...), string(outcome))
	b = strconv.AppendInt(append(b, `,"output_bytes":`...), int64(outputBytes), 10)
	return r.auditRecord(audit.KindDone, append(b, '}'))
}

func (c *Call) recorded() CallRecord {
	r := CallRecord{Session: c.s.base.SessionID, Route: c.ask.Route, By: c.ask.Caller, Tool: c.qualifiedName(), CallID: c.ask.CallID, Parent: c.ask.Parent,
		Args: c.shownArguments().text, ArgsSHA256: c.shownArguments().hash, Approval: c.approval}
	if c.e != nil {
		r.Version, r.Owner = c.e.def.Version, c.e.owner
		if c.e.recorded != "" {
			r.Tool = c.e.recorded
		}
	}
	return r
}

// Began returns the audit record of the call's beginning.
func (c *Call) Began() audit.Record { return c.cleanRecord(c.recorded().Call()) }

// cleanRecord removes known secrets from the reasons and errors in a record.
func (c *Call) cleanRecord(r audit.Record) audit.Record {
	r.Data = c.hidden(r.Data)
	return r
}

// Ended returns the audit record of the call's end.
func (c *Call) Ended(e Ended) audit.Record {
	return c.cleanRecord(c.recorded().Done(e.Outcome, e.Result.Error, e.Duration.Milliseconds(), len(e.Result.Output)))
}

// isRecorded reports whether the audit contains a record of the given kind for the call.
func (c *Call) isRecorded(kind string) bool {
	a, ok := c.s.hooks.Audit.(CallFinder)
	return ok && a.Contains(c.s.base.SessionID, kind, c.ask.CallID)
}

// writeRecord writes a record if the session has an audit.
func (c *Call) writeRecord(r func() audit.Record) error {
	if c.s.hooks.Audit == nil {
		return nil
	}
	_, err := c.s.hooks.Audit.Append(r())
	return err
}
