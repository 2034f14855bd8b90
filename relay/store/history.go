package store

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// HistoryEntry is the decision on a request of a run, in the form in which people read it.
type HistoryEntry struct {
	N         int64 // position in the order of insertion
	RunID     string
	RequestID string // "" if the relay did not receive the request
	MachineID string
	At        int64  // in Unix ms, by the server's clock
	Title     string // what was requested, in one line
	Line      string // first line of the request's body; "" if the title contains everything
	Decision  string // approve, deny, answer, expired, withdrawn or sealed
	By        string // the user, or the rule or the handler that decided; "" if it is unknown
	Actor     string // the kind of By, such as web, cli or rule
	Reason    string
	Answer    string // in JSON; "" if there is none, or if it is secret
	RunTitle  string // present title of the run
	Seq       int64  // of the event that reports a decision of a sealed run; 0 for other runs
}

// HistoryDecisions lists the values of HistoryEntry.Decision.
var HistoryDecisions = []string{protocol.DecisionApprove, protocol.DecisionDeny, protocol.DecisionAnswer, protocol.DecisionExpired, protocol.DecisionWithdrawn, protocol.DecisionSealed}

// HistoryQuery selects decisions. The zero value selects all of them, and Runs those of some runs.
// Before and BeforeN are the position after which a page begins: the At and the N of the last entry
// of the page before.
type HistoryQuery struct {
	Runs                  []string
	Machine, Decision, By string
	Before, BeforeN       int64
	Limit                 int
}

const historyColumns = `run_id, request_id, host_id, at, title, line, decision, by_name, actor, reason, answer, seq`

// History returns decisions, the newest first.
func History(ctx context.Context, s *Store, q HistoryQuery) (out []*HistoryEntry, err error) {
	text, args := q.statement()
	err = s.each(ctx, text, args, func(r row) error {
		var e HistoryEntry
		var command, tool string
		err := r.Scan(&e.N, &e.RunID, &e.RequestID, &e.MachineID, &e.At, &e.Title, &e.Line, &e.Decision, &e.By, &e.Actor, &e.Reason, &e.Answer, &e.Seq, &e.RunTitle, &command, &tool)
		e.RunTitle = cmp.Or(e.RunTitle, command, tool)
		out = append(out, &e)
		return err
	})
	return out, err
}

// statement returns the SQL text of the query and its arguments. Each filter has an index in the
// order of the result, so that a page is read without sorting.
func (q *HistoryQuery) statement() (text string, args []any) {
	where := []string{"1 = 1"}
	if len(q.Runs) > 0 {
		var runs []string
		for _, id := range q.Runs {
			args = append(args, id)
			runs = append(runs, fmt.Sprintf("$%d", len(args)))
		}
		where = append(where, "h.run_id IN ("+strings.Join(runs, ", ")+")")
	}
	for _, f := range []struct{ column, value string }{{"host_id", q.Machine}, {"decision", q.Decision}, {"by_name", q.By}} {
		if f.value != "" {
			args = append(args, f.value)
			where = append(where, fmt.Sprintf("h.%s = $%d", f.column, len(args)))
		}
	}
	if q.Before > 0 {
		args = append(args, q.Before, q.BeforeN)
		where = append(where, fmt.Sprintf("(h.at, h.n) < ($%d, $%d)", len(args)-1, len(args)))
	}
	columns := "h." + strings.ReplaceAll(historyColumns, ", ", ", h.")
	return fmt.Sprintf(`SELECT h.n, %s, coalesce(r.title, ''), coalesce(r.command, ''), coalesce(r.tool, '') FROM history h LEFT JOIN runs r ON r.id = h.run_id
		WHERE %s ORDER BY h.at DESC, h.n DESC LIMIT %d`, columns, strings.Join(where, " AND "), q.Limit), args
}

// outcomeAfter is the number of events after an input that answers a request, up to which the
// outcome of the request follows.
const outcomeAfter = 32

// SealedDecision returns the events that only a device can open of an entry of a sealed run: the
// request, the event that closes it, and its outcome if that is another one.
func SealedDecision(ctx context.Context, s *Store, e *HistoryEntry) (all []*Event, err error) {
	err = s.each(ctx, `SELECT `+eventColumns+` FROM events WHERE run_id = $1 AND (seq = $2 OR seq = (SELECT seq FROM requests WHERE run_id = $1 AND request_id = $3)
		OR seq > $2 AND seq <= $4 AND type = 'run.permission_resolved') ORDER BY seq`,
		[]any{e.RunID, e.Seq, e.RequestID, e.Seq + outcomeAfter}, func(r row) error {
			one, err := scanEvent(r)
			if err == nil && (one.Seq <= e.Seq || one.text("request_id") == e.RequestID) {
				all = append(all, one)
			}
			return err
		})
	return all, err
}

// historyTable writes the history in a transaction.
type historyTable struct {
	ctx context.Context
	s   *Store
	tx  database
}

// add stores a decision. A request has one entry: the decision replaces a withdrawal, which
// a machine reports for requests that were decided elsewhere.
func (h historyTable) add(e *HistoryEntry) error {
	e.clean()
	if e.RequestID != "" {
		done, err := h.tx.ExecContext(h.ctx, `UPDATE history SET at = $3, title = $4, line = $5, decision = $6, by_name = $7, actor = $8, reason = $9, answer = $10, seq = $11
			WHERE run_id = $1 AND request_id = $2 AND decision = 'withdrawn'`, e.RunID, e.RequestID, e.At, e.Title, e.Line, e.Decision, e.By, e.Actor, e.Reason, e.Answer, e.Seq)
		if err != nil {
			return h.s.wrapError("store a decision", err)
		}
		if n, err := done.RowsAffected(); err != nil || n > 0 {
			return h.s.wrapError("store a decision", err)
		}
	}
	_, err := h.tx.ExecContext(h.ctx, `INSERT INTO history (`+historyColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) ON CONFLICT DO NOTHING`,
		e.RunID, e.RequestID, e.MachineID, e.At, e.Title, e.Line, e.Decision, e.By, e.Actor, e.Reason, e.Answer, e.Seq)
	return h.s.wrapError("store a decision", err)
}

// maxHistoryText is the maximum number of bytes of a text in the history.
const maxHistoryText = 1000

// closed returns the entry for a request that an event closes with a state.
func closed(r *Run, e *Event, q *Request, state string) *HistoryEntry {
	var asked protocol.PermissionRequested
	_ = json.Unmarshal(q.Data, &asked) // members of another type stay empty
	out := &HistoryEntry{RunID: r.ID, RequestID: q.ID, MachineID: r.MachineID, At: e.ReceivedAt, Decision: state}
	if r.Sealed {
		if out.Seq = e.Seq; state == string(protocol.RequestResolved) {
			out.Decision = protocol.DecisionSealed
		}
		return out
	}
	out.Title, out.Line = asked.Headline()
	switch e.Type {
	case protocol.RunPermissionResolved:
		var d protocol.PermissionResolved
		_ = json.Unmarshal(e.Data, &d) // members of another type stay empty
		out.Decision, out.By, out.Actor, out.Reason = d.Decision, d.By, d.Actor, d.Reason
		if len(d.Answer) > 0 && !asked.IsSecret() {
			out.Answer = string(protocol.ShortJSON(d.Answer, protocol.MaxAnswer))
		}
	case protocol.RunExited:
		out.Reason = "the run has ended"
	default: // machines of protocol 1 report an answer by its effect
		out.Decision, out.By, out.Actor = protocol.DecisionAnswer, e.text("by"), e.text("actor")
	}
	return out
}

// decided returns the entry for a decision that the relay's users did not make.
func decided(r *Run, e *Event) *HistoryEntry {
	var d protocol.Decided
	if json.Unmarshal(e.Data, &d) != nil || d.Title == "" {
		return nil // encrypted, or of another program
	}
	return &HistoryEntry{RunID: r.ID, RequestID: d.RequestID, MachineID: r.MachineID, At: e.ReceivedAt, Title: d.Title, Line: d.Line, Decision: d.Decision, By: d.By, Actor: d.Actor,
		Reason: d.Reason, Answer: string(protocol.ShortJSON(d.Answer, protocol.MaxAnswer))}
}

// chronicle stores the decision that an event reports. changes are the requests that it changes.
func (b *batch) chronicle(r *openRun, e *Event, changes []requestChange) error {
	var all []*HistoryEntry
	for _, c := range changes {
		if c.data != nil {
			continue
		}
		q, err := readRequest(b.ctx, b.tx, r.ID, c.id, "")
		if errors.Is(err, sql.ErrNoRows) {
			continue
		}
		if err != nil {
			return b.s.wrapError("read a request", err)
		}
		all = append(all, closed(&r.Run, e, q, string(c.state)))
	}
	if e.Type == protocol.RunDecision {
		if entry := decided(&r.Run, e); entry != nil {
			all = append(all, entry)
		}
	}
	for _, entry := range all {
		if err := (historyTable{b.ctx, b.s, b.tx}).add(entry); err != nil {
			return err
		}
	}
	return nil
}

// clean shortens the texts of the entry, and replaces NUL, which PostgreSQL does not store. It sets
// the decision to withdrawn if it is unknown.
func (e *HistoryEntry) clean() {
	for _, text := range []*string{&e.Title, &e.Line, &e.By, &e.Actor, &e.Reason} {
		*text = strings.ReplaceAll(protocol.FirstLine(*text, maxHistoryText), "\x00", "\ufffd")
	}
	e.RequestID = strings.ReplaceAll(e.RequestID, "\x00", "\ufffd")
	if !slices.Contains(HistoryDecisions, e.Decision) {
		e.Decision = protocol.DecisionWithdrawn
	}
}

// historyPage is the number of events that the migration reads at a time.
const historyPage = 500

// fill stores the decisions of the events that were stored before the history existed.
func (h historyTable) fill() error {
	for after := int64(0); ; {
		type found struct {
			id   int64
			run  Run
			e    Event
			data string
		}
		var page []*found
		rows, err := h.tx.QueryContext(h.ctx, fmt.Sprintf(`SELECT e.id, e.run_id, r.host_id, e.data_json, e.recv_at FROM events e JOIN runs r ON r.id = e.run_id
			WHERE e.id > $1 AND e.type = 'run.permission_resolved' ORDER BY e.id LIMIT %d`, historyPage), after)
		if err != nil {
			return h.s.wrapError("read decisions", err)
		}
		for rows.Next() {
			x := &found{e: Event{Type: protocol.RunPermissionResolved}}
			if err := rows.Scan(&x.id, &x.run.ID, &x.run.MachineID, &x.data, &x.e.ReceivedAt); err != nil {
				return errors.Join(h.s.wrapError("read decisions", err), rows.Close())
			}
			x.e.Data = json.RawMessage(x.data)
			page = append(page, x)
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return h.s.wrapError("read decisions", err)
		}
		for _, x := range page {
			after = x.id
			q, err := readRequest(h.ctx, h.tx, x.run.ID, x.e.text("request_id"), "")
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return h.s.wrapError("read a request", err)
			}
			if err := h.add(closed(&x.run, &x.e, q, string(q.State))); err != nil {
				return err
			}
		}
		if len(page) < historyPage {
			return nil
		}
	}
}
