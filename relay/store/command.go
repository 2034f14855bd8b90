package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Kinds of commands.
const (
	InputCommand    = "input"
	DecisionCommand = "decision"
	StopCommand     = "stop"
)

// Command is what somebody wants of a run. It takes effect at most once.
type Command struct {
	N                int64 // the order in which they were accepted
	RunID, Kind, ID  string
	State            string // of protocol.InputMachine
	Payload          json.RawMessage
	SHA256           string // of the payload, in hexadecimal digits: it outlives it
	By               string
	Created, Expires int64  // Unix ms
	Why              string // it has not been applied
	Keeper           string // the server that accepted it; a payload that may not be stored is there

	ArgsSHA256 string // of a decision: for which arguments it is; "" for any
	Decision   string // of a decision: approve, deny, answer
	// Answer is the value of an answer as it may be shown, as JSON; "" of a secret one. AnswerSHA256 is
	// that of the value itself.
	Answer, AnswerSHA256 string

	Audit []audit.Record // recorded with the command, when it is new
}

// Decided is a decision about a request.
type Decided struct {
	Decision, By string
	At           int64
	Answer       string // its value as JSON, of an answer that is no secret
}

// AlreadyDecided is the error of a decision about a request that somebody has decided.
type AlreadyDecided struct{ Was Decided }

func (e *AlreadyDecided) Error() string {
	how := e.Was.Decision
	if e.Was.Answer != "" {
		how += " " + e.Was.Answer
	}
	if e.Was.By == "" {
		return "the request is over: " + how
	}
	return fmt.Sprintf("%s has decided before: %s", e.Was.By, how)
}

// Is says that it is ErrDecided.
func (e *AlreadyDecided) Is(target error) bool { return target == ErrDecided }

const commandColumns = `n, run_id, kind, id, state, payload, payload_sha256, by_name, created, expires, why, keeper`

func scanCommand(from row) (*Command, error) {
	var c Command
	var payload string
	err := from.Scan(&c.N, &c.RunID, &c.Kind, &c.ID, &c.State, &payload, &c.SHA256, &c.By, &c.Created, &c.Expires, &c.Why, &c.Keeper)
	if payload != "" {
		c.Payload = json.RawMessage(payload)
	}
	return &c, err
}

// Accept stores a command that is new, and gives the one that there is: fresh says which.
// ErrUnknown: there is no such run, or request; ErrHasExited; ErrConflict: the id was
// used for another payload; ErrChanged; *AlreadyDecided: of two decisions the first counts.
func (s *Store) Accept(ctx context.Context, c Command) (out *Command, fresh bool, err error) {
	err = s.change(ctx, func(tx database) error {
		r, err := scanRun(tx.QueryRowContext(ctx, `SELECT `+runColumns+` FROM runs WHERE id = $1`+s.dialect.Lock, c.RunID))
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("run %s: %w", c.RunID, ErrUnknown)
		}
		if err != nil {
			return s.told("read a run", err)
		}
		was, err := scanCommand(tx.QueryRowContext(ctx, `SELECT `+commandColumns+` FROM commands WHERE run_id = $1 AND kind = $2 AND id = $3`, c.RunID, c.Kind, c.ID))
		switch {
		case err == nil && c.again(was):
			out = was
			return nil
		case err == nil && c.Kind != DecisionCommand:
			return fmt.Errorf("%s %s: %w", c.Kind, c.ID, ErrConflict)
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return s.told("read a command", err)
		case c.Kind == DecisionCommand:
			if err := s.decide(ctx, tx, &c); err != nil {
				return err
			}
		case r.Status == protocol.StatusExited:
			return fmt.Errorf("run %s: %w", c.RunID, ErrHasExited)
		}
		out, fresh = &c, true
		c.State = "accepted"
		if was != nil && err == nil { // a decision anew comes in its turn
			if _, err := tx.ExecContext(ctx, `DELETE FROM commands WHERE n = $1`, was.N); err != nil {
				return s.told("replace a command", err)
			}
		}
		err = tx.QueryRowContext(ctx, `INSERT INTO commands (run_id, kind, id, state, payload, payload_sha256, by_name, created, expires, keeper) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING n`,
			c.RunID, c.Kind, c.ID, c.State, string(c.Payload), c.SHA256, c.By, c.Created, c.Expires, c.Keeper).Scan(&c.N)
		if err != nil {
			return s.told("store a command", err)
		}
		return s.record(ctx, tx, c.Created, c.Audit)
	})
	return out, fresh, err
}

// again says whether a command is one that was accepted before. A decision that was taken
// back is forgotten.
func (c *Command) again(was *Command) bool {
	if c.Kind != DecisionCommand {
		return was.SHA256 == c.SHA256
	}
	return was.SHA256 == c.SHA256 && was.By == c.By && was.State != "rejected" && was.State != "expired"
}

// decide notes the first decision about a request that is open.
func (s *Store) decide(ctx context.Context, tx database, c *Command) error {
	q, err := scanRequest(tx.QueryRowContext(ctx, `SELECT run_id, request_id, seq, data_json, state FROM requests WHERE run_id = $1 AND request_id = $2`+s.dialect.Lock, c.RunID, c.ID))
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("request %s: %w", c.ID, ErrUnknown)
	}
	if err != nil {
		return s.told("read a request", err)
	}
	if q.State != "open" {
		was := Decided{Decision: q.State}
		err := tx.QueryRowContext(ctx, `SELECT decision, by_name, at, answer FROM decisions WHERE run_id = $1 AND request_id = $2`, c.RunID, c.ID).Scan(&was.Decision, &was.By, &was.At, &was.Answer)
		if errors.Is(err, sql.ErrNoRows) {
			was, err = s.resolvedBy(ctx, tx, q)
		}
		if err != nil {
			return s.told("read a decision", err)
		}
		return &AlreadyDecided{was}
	}
	var asked protocol.PermissionRequested
	if err := json.Unmarshal(q.Data, &asked); err != nil {
		return fmt.Errorf("read a request: %w", err)
	}
	if c.ArgsSHA256 != "" && c.ArgsSHA256 != asked.ArgsSHA256 {
		return fmt.Errorf("request %s: %w", c.ID, ErrChanged)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO decisions (run_id, request_id, decision, by_name, at, answer, answer_sha256) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		c.RunID, c.ID, c.Decision, c.By, c.Created, c.Answer, c.AnswerSHA256); err != nil {
		return s.told("store a decision", err)
	}
	_, err = tx.ExecContext(ctx, `UPDATE requests SET state = 'decided' WHERE run_id = $1 AND request_id = $2`, c.RunID, c.ID)
	return s.told("note a request", err)
}

// resolvedBy is what the host has said of a request that was decided elsewhere, or by nobody.
func (s *Store) resolvedBy(ctx context.Context, tx database, q *Request) (Decided, error) {
	was := Decided{Decision: q.State}
	rows, err := tx.QueryContext(ctx, `SELECT data_json, recv_at FROM events WHERE run_id = $1 AND seq > $2 AND type = 'run.permission_resolved' ORDER BY seq`, q.RunID, q.Seq)
	if err != nil {
		return was, err
	}
	defer rows.Close()
	for rows.Next() {
		var data string
		var at int64
		if err := rows.Scan(&data, &at); err != nil {
			return was, err
		}
		var d protocol.PermissionResolved
		if json.Unmarshal([]byte(data), &d) != nil || d.RequestID != q.ID {
			continue
		}
		was = Decided{Decision: d.Decision, By: d.By, At: at, Answer: string(d.Answer)}
		if was.By == "" {
			was.By = d.Actor
		}
		break
	}
	return was, errors.Join(rows.Err(), rows.Close())
}

// Step moves a command on, as protocol.InputMachine says; moved is false when what happened
// is nothing new to it. A command that has ended loses its payload, and keeps why it was not
// applied. A decision that the host rejects, or never got, is taken back: the request is open again.
func (s *Store) Step(ctx context.Context, run, kind, id, on, why string) (out *Command, moved bool, err error) {
	err = s.change(ctx, func(tx database) error {
		out, moved, err = s.step(ctx, tx, CommandKey{run, kind, id}, on, why)
		return err
	})
	return out, moved, err
}

// Send notes that a command is sent over a host's connection. ErrStale: the connection is not the
// host's any more; then nothing is to be sent.
func (s *Store) Send(ctx context.Context, c *Command, host string, gen int64) (out *Command, moved bool, err error) {
	err = s.change(ctx, func(tx database) error {
		if err := s.connected(ctx, tx, host, gen); err != nil {
			return err
		}
		out, moved, err = s.step(ctx, tx, CommandKey{c.RunID, c.Kind, c.ID}, "sent", "")
		return err
	})
	return out, moved, err
}

// connected says ErrStale unless a connection is its host's, which it stays until the transaction ends.
func (s *Store) connected(ctx context.Context, tx database, host string, gen int64) error {
	var has int64
	err := tx.QueryRowContext(ctx, `SELECT gen FROM hosts WHERE id = $1`+s.dialect.Lock, host).Scan(&has)
	if err == nil && has != gen {
		return fmt.Errorf("host %s: %w", host, ErrStale)
	}
	return s.told("read a host", err)
}

func (s *Store) step(ctx context.Context, tx database, k CommandKey, on, why string) (c *Command, moved bool, err error) {
	if s.dialect.Lock != "" { // in the order in which a batch of events does
		var one int
		if err := tx.QueryRowContext(ctx, `SELECT 1 FROM runs WHERE id = $1`+s.dialect.Lock, k.Run).Scan(&one); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, false, s.told("wait for a run", err)
		}
	}
	c, err = scanCommand(tx.QueryRowContext(ctx, `SELECT `+commandColumns+` FROM commands WHERE run_id = $1 AND kind = $2 AND id = $3`+s.dialect.Lock, k.Run, k.Kind, k.ID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, fmt.Errorf("%s %s of run %s: %w", k.Kind, k.ID, k.Run, ErrUnknown)
	}
	if err != nil {
		return nil, false, s.told("read a command", err)
	}
	to, ok := protocol.InputMachine.Next(c.State, on)
	if !ok {
		return c, false, nil
	}
	c.State, c.Why = to, why
	if protocol.InputMachine.IsFinal(to) {
		c.Payload = nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE commands SET state = $2, payload = $3, why = $4 WHERE n = $1`, c.N, c.State, string(c.Payload), why); err != nil {
		return nil, false, s.told("note a command", err)
	}
	if k.Kind != DecisionCommand || to != "rejected" && to != "expired" {
		return c, true, nil
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM decisions WHERE run_id = $1 AND request_id = $2`, k.Run, k.ID); err != nil {
		return nil, false, s.told("take a decision back", err)
	}
	_, err = tx.ExecContext(ctx, `UPDATE requests SET state = 'open' WHERE run_id = $1 AND request_id = $2 AND state = 'decided'`, k.Run, k.ID)
	return c, true, s.told("take a decision back", err)
}

// Pending are the commands for a host's runs that have not ended, in the order in which they were
// accepted; with unsent only those that were not sent. Which numbers there are says
// nothing about those that are on their way: of two that are accepted at a time either may be seen first.
func (s *Store) Pending(ctx context.Context, host string, unsent bool) (out []*Command, err error) {
	states := `'accepted', 'sent'`
	if unsent {
		states = `'accepted'`
	}
	err = s.each(ctx, `SELECT c.n, c.run_id, c.kind, c.id, c.state, c.payload, c.payload_sha256, c.by_name, c.created, c.expires, c.why, c.keeper FROM commands c JOIN runs r ON r.id = c.run_id
		WHERE r.host_id = $1 AND c.state IN (`+states+`) ORDER BY c.n`, []any{host}, func(r row) error {
		c, err := scanCommand(r)
		out = append(out, c)
		return err
	})
	return out, err
}
