package store

import (
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Settled is a command whose result was reported by an event. Why is "" if the command was applied,
// and otherwise the code of the reason.
type Settled struct {
	Command
	Why protocol.Code
}

// settle updates the commands whose result an event reports. It uses the transaction that stores
// the event, so that a killed server does not lose the result.
func (b *batch) settle(r *openRun, e *Event) error {
	switch e.Type {
	case protocol.RunInput:
		id := e.text("input_id")
		if err := b.markApplied(r.ID, InputCommand, id); err != nil {
			return err
		}
		// Some machines send no run.permission_resolved. The input is then also the answer to the
		// request.
		return b.markApplied(r.ID, DecisionCommand, id)
	case protocol.ToolResult:
		return b.markApplied(r.ID, DecisionCommand, e.text("request_id"))
	case protocol.RunPermissionResolved:
		return b.markResolved(r.ID, e)
	case protocol.RunRefused:
		kind := "self_decision_refused"
		if e.text("code") != "" {
			kind = "command_refused" // no device of the machine's account has signed it
		}
		b.records = append(b.records, audit.Record{Run: r.ID, Kind: kind, Actor: audit.Actor{Type: "host", Name: r.MachineID}, Subject: json.RawMessage(`{}`), Data: e.refusedData()})
	case protocol.RunExited:
		return b.endCommands(r.ID)
	}
	return nil
}

// refusedData returns the data of a run.refused for the audit log. It contains only the members
// that are strings.
func (e *Event) refusedData() json.RawMessage {
	all := map[string]string{}
	for _, name := range []string{"action", "request_id", "by_run_id", "reason", "code", "device"} {
		if text := e.text(name); text != "" {
			all[name] = text
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		panic("store: texts are no JSON: " + err.Error())
	}
	return text
}

// open returns an unfinished command, or nil if there is none.
func (b *batch) open(run, kind, id string) (*Command, error) {
	c, err := scanCommand(b.tx.QueryRowContext(b.ctx, `SELECT `+commandColumns+` FROM commands WHERE run_id = $1 AND kind = $2 AND id = $3 AND state IN ('accepted', 'sent')`+b.s.dialect.Lock, run, kind, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return c, b.s.wrapError("read a command", err)
}

func (b *batch) markApplied(run, kind, id string) error {
	c, err := b.open(run, kind, id)
	if err != nil || c == nil {
		return err
	}
	return b.end(c, protocol.OutcomeApplied, "")
}

// markResolved finishes the decision on a request. The command is applied if the machine reports
// this decision. It is rejected if the machine reports another decision, or closed the request
// without a decision. It is indeterminate if the machine does not know.
func (b *batch) markResolved(run string, e *Event) error {
	id, decision, answer := e.text("request_id"), e.text("decision"), e.text("answer_sha256")
	c, err := b.open(run, DecisionCommand, id)
	if err != nil || c == nil {
		return err
	}
	isMade := decision == protocol.DecisionApprove || decision == protocol.DecisionDeny || decision == protocol.DecisionAnswer
	var stored, sha string
	err = b.tx.QueryRowContext(b.ctx, `SELECT decision, answer_sha256 FROM decisions WHERE run_id = $1 AND request_id = $2`, run, id).Scan(&stored, &sha)
	switch {
	case err != nil && !errors.Is(err, sql.ErrNoRows):
		return b.s.wrapError("read a decision", err)
	case stored == protocol.DecisionAnswer && sha != "" && answer != "" && answer != sha:
		return b.end(c, protocol.OutcomeRejected, protocol.AlreadyDecided)
	case decision == stored || decision == "" || isMade && (stored == protocol.DecisionAnswer || stored == protocol.DecisionSealed):
		return b.end(c, protocol.OutcomeApplied, "") // older machines report an answer as an approval; a sealed decision may be any
	case e.isUnknown():
		return b.end(c, protocol.OutcomeUnknown, "")
	case decision == protocol.DecisionExpired || decision == protocol.DecisionWithdrawn:
		return b.end(c, protocol.OutcomeRejected, protocol.Expired)
	}
	return b.end(c, protocol.OutcomeRejected, protocol.AlreadyDecided)
}

// isUnknown reports whether a run.permission_resolved leaves open whether a decision took effect.
func (e *Event) isUnknown() bool {
	var d struct{ Unknown bool }
	return json.Unmarshal(e.Data, &d) == nil && d.Unknown
}

// endCommands finishes the commands that were not yet applied when their run ended.
func (b *batch) endCommands(run string) error {
	rows, err := b.tx.QueryContext(b.ctx, `SELECT `+commandColumns+` FROM commands WHERE run_id = $1 AND (state = 'accepted' OR state = 'sent' AND kind <> 'input') ORDER BY n`, run)
	if err != nil {
		return b.s.wrapError("read commands", err)
	}
	defer rows.Close()
	var all []*Command
	for rows.Next() {
		c, err := scanCommand(rows)
		if err != nil {
			return b.s.wrapError("read commands", err)
		}
		all = append(all, c)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return b.s.wrapError("read commands", err)
	}
	for _, c := range all {
		how, why := protocol.OutcomeRejected, protocol.RunHasExited
		if c.Kind == StopCommand {
			how, why = protocol.OutcomeApplied, ""
		}
		if err := b.end(c, how, why); err != nil {
			return err
		}
	}
	return nil
}

// end applies a transition to a command. A command that was never sent expires instead of being
// rejected by the machine.
func (b *batch) end(c *Command, on protocol.Outcome, why protocol.Code) error {
	if c.State == protocol.InputAccepted && on == protocol.OutcomeApplied {
		// The command reached the machine, but its server was killed before it recorded that.
		c.State = protocol.InputSent
	} else if c.State == protocol.InputAccepted {
		on = protocol.OutcomeExpired
	}
	to, ok := c.State.After(on)
	if !ok {
		return nil
	}
	c.State, c.Payload, c.Why = to, nil, string(why)
	b.out.Settled = append(b.out.Settled, Settled{*c, why})
	_, err := b.tx.ExecContext(b.ctx, `UPDATE commands SET state = $2, payload = '', why = $3 WHERE n = $1`, c.N, c.State, c.Why)
	return b.s.wrapError("update a command", err)
}
