package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Kinds of commands.
const (
	InputCommand    = "input"
	DecisionCommand = "decision"
	StopCommand     = "stop"
)

// Command is a command for a run. It is applied at most once.
type Command struct {
	N               int64 // position in the order of acceptance
	RunID, Kind, ID string
	State           protocol.InputState
	Payload         json.RawMessage
	// SHA256 is the hash of the payload in hexadecimal. It is stored longer than the payload. If
	// the payload is secret, it is the random name of NameSecret instead.
	SHA256           string
	By               string
	Created, Expires int64  // in Unix ms
	Why              string // why the command was not applied; "" if unknown or applied
	// Keeper is the server that accepted the command. It holds the payload in memory if the payload
	// must not be stored.
	Keeper string

	ArgsSHA256 string // for a decision: hash of the arguments that the user saw; "" applies to any arguments
	Decision   string // for a decision: approve, deny or answer
	// Answer is the answer in JSON, for display, and AnswerSHA256 its hash; both are "" if the
	// answer is secret.
	Answer, AnswerSHA256 string

	Audit []audit.Record // audit records that are written if the command is new
}

// secretPrefix begins the name of a secret payload. No hash begins with it.
const secretPrefix = "secret:"

// NameSecret marks the payload of a command as secret, and names it. A secret payload is neither
// stored nor hashed, because a password can be guessed from its hash. The name contains the
// decision, so that an approval and a denial differ.
func (c *Command) NameSecret() { c.SHA256 = secretPrefix + c.Decision + ":" + rand.Text() }

// IsSecret reports whether the payload must not be stored.
func (c *Command) IsSecret() bool { return strings.HasPrefix(c.SHA256, secretPrefix) }

// RecordedDecision is a decision on a request.
type RecordedDecision struct {
	Decision, By string
	At           int64
	Answer       string // the answer in JSON; "" if it is secret
}

// AlreadyDecided is the error for a decision on a request that is already decided.
type AlreadyDecided struct{ Was RecordedDecision }

func (e *AlreadyDecided) Error() string {
	how := e.Was.Decision
	if e.Was.Answer != "" {
		how += " " + e.Was.Answer
	}
	if e.Was.By == "" {
		return "the request is already closed: " + how
	}
	return fmt.Sprintf("already decided by %s: %s", e.Was.By, how)
}

// Is reports whether target is ErrDecided.
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

// Accept stores a new command. If the same command exists, Accept returns the existing one. fresh
// reports whether the command is new. Accept returns ErrUnknown for an unknown run or request,
// ErrHasExited if the run has ended, ErrConflict if another command has the same id, ErrChanged if
// the request has other arguments, and *AlreadyDecided if another decision was accepted.
func (s *Store) Accept(ctx context.Context, c Command) (out *Command, fresh bool, err error) {
	err = s.change(ctx, func(tx database) error {
		r, err := scanRun(tx.QueryRowContext(ctx, `SELECT `+runColumns+` FROM runs WHERE id = $1`+s.dialect.Lock, c.RunID))
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("run %s: %w", c.RunID, ErrUnknown)
		}
		if err != nil {
			return s.wrapError("read a run", err)
		}
		was, err := scanCommand(tx.QueryRowContext(ctx, `SELECT `+commandColumns+` FROM commands WHERE run_id = $1 AND kind = $2 AND id = $3`, c.RunID, c.Kind, c.ID))
		switch {
		case err == nil && c.isRepeated(was):
			out = was
			return nil
		case err == nil && c.Kind != DecisionCommand:
			return fmt.Errorf("%s %s: %w", c.Kind, c.ID, ErrConflict)
		case err != nil && !errors.Is(err, sql.ErrNoRows):
			return s.wrapError("read a command", err)
		case c.Kind == DecisionCommand:
			if err := s.decide(ctx, tx, &c); err != nil {
				return err
			}
		case r.Status == protocol.StatusExited:
			return fmt.Errorf("run %s: %w", c.RunID, ErrHasExited)
		}
		out, fresh = &c, true
		c.State = protocol.InputAccepted
		if was != nil && err == nil { // a decision that was returned and is sent again gets a new position
			if _, err := tx.ExecContext(ctx, `DELETE FROM commands WHERE n = $1`, was.N); err != nil {
				return s.wrapError("replace a command", err)
			}
		}
		err = tx.QueryRowContext(ctx, `INSERT INTO commands (run_id, kind, id, state, payload, payload_sha256, by_name, created, expires, keeper) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) RETURNING n`,
			c.RunID, c.Kind, c.ID, c.State, string(c.Payload), c.SHA256, c.By, c.Created, c.Expires, c.Keeper).Scan(&c.N)
		if err != nil {
			return s.wrapError("store a command", err)
		}
		return s.record(ctx, tx, c.Created, c.Audit)
	})
	return out, fresh, err
}

// isRepeated reports whether the command equals the accepted command was. A decision that the
// machine returned may be sent again and is not a repetition. The content of a secret command is
// unknown; every command of its user with its id counts as a repetition.
func (c *Command) isRepeated(was *Command) bool {
	same := was.SHA256 == c.SHA256 || was.By == c.By && strings.HasPrefix(was.SHA256, secretPrefix+c.Decision+":")
	if c.Kind != DecisionCommand {
		return same
	}
	return same && was.By == c.By && was.State != protocol.InputRejected && was.State != protocol.InputExpired
}

// decide stores the first decision on an open request.
func (s *Store) decide(ctx context.Context, tx database, c *Command) error {
	q, err := readRequest(ctx, tx, c.RunID, c.ID, s.dialect.Lock)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("request %s: %w", c.ID, ErrUnknown)
	}
	if err != nil {
		return s.wrapError("read a request", err)
	}
	if q.State != protocol.RequestOpen {
		was := RecordedDecision{Decision: string(q.State)}
		err := tx.QueryRowContext(ctx, `SELECT decision, by_name, at, answer FROM decisions WHERE run_id = $1 AND request_id = $2`, c.RunID, c.ID).Scan(&was.Decision, &was.By, &was.At, &was.Answer)
		if errors.Is(err, sql.ErrNoRows) {
			was, err = s.resolvedBy(ctx, tx, q)
		}
		if err != nil {
			return s.wrapError("read a decision", err)
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
		return s.wrapError("store a decision", err)
	}
	_, err = tx.ExecContext(ctx, `UPDATE requests SET state = 'decided' WHERE run_id = $1 AND request_id = $2`, c.RunID, c.ID)
	return s.wrapError("update a request", err)
}

// resolvedBy returns the outcome of a request that the machine closed without a decision from the
// relay.
func (s *Store) resolvedBy(ctx context.Context, tx database, q *Request) (RecordedDecision, error) {
	was := RecordedDecision{Decision: string(q.State)}
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
		was = RecordedDecision{Decision: d.Decision, By: d.By, At: at, Answer: string(d.Answer)}
		if was.By == "" {
			was.By = d.Actor
		}
		break
	}
	return was, errors.Join(rows.Err(), rows.Close())
}

// Step applies a transition of protocol.InputMachine to a command. moved is false if the transition
// is not valid in the command's state. When a command reaches a final state, its payload is deleted
// and why is stored. If a decision was rejected or never reached the machine, its request is open
// again.
func (s *Store) Step(ctx context.Context, run, kind, id string, on protocol.Outcome, why string) (out *Command, moved bool, err error) {
	err = s.change(ctx, func(tx database) error {
		out, moved, err = s.step(ctx, tx, CommandKey{run, kind, id}, on, why)
		return err
	})
	return out, moved, err
}

// Send records that a command is sent on a connection of its machine. It returns ErrStale if the
// connection no longer owns the machine; the caller must then not send the command.
func (s *Store) Send(ctx context.Context, c *Command, machine string, gen int64) (out *Command, moved bool, err error) {
	err = s.change(ctx, func(tx database) error {
		if err := s.checkConnected(ctx, tx, machine, gen); err != nil {
			return err
		}
		out, moved, err = s.step(ctx, tx, CommandKey{c.RunID, c.Kind, c.ID}, protocol.OutcomeSent, "")
		return err
	})
	return out, moved, err
}

// checkConnected returns ErrStale if the connection does not own its machine. Otherwise the
// connection owns the machine until the end of the transaction.
func (s *Store) checkConnected(ctx context.Context, tx database, machine string, gen int64) error {
	var has int64
	err := tx.QueryRowContext(ctx, `SELECT gen FROM hosts WHERE id = $1`+s.dialect.Lock, machine).Scan(&has)
	if err == nil && has != gen {
		return fmt.Errorf("machine %s: %w", machine, ErrStale)
	}
	return s.wrapError("read a machine", err)
}

func (s *Store) step(ctx context.Context, tx database, k CommandKey, on protocol.Outcome, why string) (c *Command, moved bool, err error) {
	if s.dialect.Lock != "" { // lock the run before the command, as a batch of events does
		var one int
		if err := tx.QueryRowContext(ctx, `SELECT 1 FROM runs WHERE id = $1`+s.dialect.Lock, k.Run).Scan(&one); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return nil, false, s.wrapError("lock a run", err)
		}
	}
	c, err = scanCommand(tx.QueryRowContext(ctx, `SELECT `+commandColumns+` FROM commands WHERE run_id = $1 AND kind = $2 AND id = $3`+s.dialect.Lock, k.Run, k.Kind, k.ID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, false, fmt.Errorf("%s %s of run %s: %w", k.Kind, k.ID, k.Run, ErrUnknown)
	}
	if err != nil {
		return nil, false, s.wrapError("read a command", err)
	}
	to, ok := c.State.After(on)
	if !ok {
		return c, false, nil
	}
	c.State, c.Why = to, why
	if to.IsFinal() {
		c.Payload = nil
	}
	if _, err := tx.ExecContext(ctx, `UPDATE commands SET state = $2, payload = $3, why = $4 WHERE n = $1`, c.N, c.State, string(c.Payload), why); err != nil {
		return nil, false, s.wrapError("update a command", err)
	}
	if k.Kind != DecisionCommand || to != protocol.InputRejected && to != protocol.InputExpired {
		return c, true, nil
	}
	if _, err := tx.ExecContext(ctx, `DELETE FROM decisions WHERE run_id = $1 AND request_id = $2`, k.Run, k.ID); err != nil {
		return nil, false, s.wrapError("withdraw a decision", err)
	}
	_, err = tx.ExecContext(ctx, `UPDATE requests SET state = 'open' WHERE run_id = $1 AND request_id = $2 AND state = 'decided'`, k.Run, k.ID)
	return c, true, s.wrapError("withdraw a decision", err)
}

// Pending returns the unfinished commands for the runs of a machine in the order of acceptance. If
// unsent is set, it omits commands that were sent. A command with a lower number may become visible
// later than one with a higher number, if both were accepted concurrently.
func (s *Store) Pending(ctx context.Context, machine string, unsent bool) (out []*Command, err error) {
	states := `'accepted', 'sent'`
	if unsent {
		states = `'accepted'`
	}
	err = s.each(ctx, `SELECT c.n, c.run_id, c.kind, c.id, c.state, c.payload, c.payload_sha256, c.by_name, c.created, c.expires, c.why, c.keeper FROM commands c JOIN runs r ON r.id = c.run_id
		WHERE r.host_id = $1 AND c.state IN (`+states+`) ORDER BY c.n`, []any{machine}, func(r row) error {
		c, err := scanCommand(r)
		out = append(out, c)
		return err
	})
	return out, err
}
