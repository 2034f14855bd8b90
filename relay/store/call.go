package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/record/audit"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// Call is an RPC to a machine. Requests with the same id are performed once and get the same
// answer, even if the server that received the first one has stopped.
type Call struct {
	ID       string             `json:"-"`
	State    protocol.CallState `json:"-"`
	Machine  string             `json:"-"`
	Gen      int64              `json:"-"` // generation of the machine's connection that sent the call; 0 if it was not sent
	Answer   string             `json:"-"` // the rpc.response in JSON; "" while there is none
	At, Ends int64              `json:"-"` // in Unix ms: time of the last change; deadline, or 0 if there is none

	Type     string `json:"type"`
	Run      string `json:"run,omitempty"`
	SHA256   string `json:"sha256"` // hash of the request
	Session  string `json:"session"`
	By       string `json:"by"`
	Gated    bool   `json:"gated,omitempty"`
	ExtendMS int64  `json:"longer_ms,omitempty"` // extra time that is added to the deadline after the approval
	// Frame is the frame to send to the machine. It is removed when the call is answered.
	Frame json.RawMessage `json:"frame,omitempty"`
}

const callColumns = `request_id, state, host_id, gen, answer, at, ends, data_json`

func scanCall(from row) (*Call, error) {
	var c Call
	var data string
	if err := from.Scan(&c.ID, &c.State, &c.Machine, &c.Gen, &c.Answer, &c.At, &c.Ends, &data); err != nil {
		return nil, err
	}
	return &c, json.Unmarshal([]byte(data), &c)
}

// AddCall stores a new call with its audit records. If a call with the same id exists, AddCall
// returns that call. fresh reports whether the call is new.
func (s *Store) AddCall(ctx context.Context, c Call, records ...audit.Record) (out *Call, fresh bool, err error) {
	data, err := json.Marshal(c)
	if err != nil {
		return nil, false, err
	}
	err = s.change(ctx, func(tx database) error {
		done, err := tx.ExecContext(ctx, `INSERT INTO rpc_calls (`+callColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
			c.ID, c.State, c.Machine, c.Gen, c.Answer, c.At, c.Ends, string(data))
		if err != nil {
			return s.wrapError("store a call", err)
		}
		n, err := done.RowsAffected()
		if err != nil {
			return s.wrapError("store a call", err)
		}
		if fresh = n > 0; fresh {
			out = &c
			return s.record(ctx, tx, c.At, records)
		}
		out, err = scanCall(tx.QueryRowContext(ctx, `SELECT `+callColumns+` FROM rpc_calls WHERE request_id = $1`, c.ID))
		return s.wrapError("read a call", err)
	})
	return out, fresh, err
}

// Call returns a call, or ErrUnknown.
func (s *Store) Call(ctx context.Context, id string) (*Call, error) {
	c, err := scanCall(s.reader().QueryRowContext(ctx, `SELECT `+callColumns+` FROM rpc_calls WHERE request_id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("call %s: %w", id, ErrUnknown)
	}
	return c, s.wrapError("read a call", err)
}

// MoveCall applies do to an unanswered call and stores the call if do changed it. It returns the
// call as stored, or ErrUnknown.
func (s *Store) MoveCall(ctx context.Context, id string, at int64, do func(*Call)) (out *Call, err error) {
	err = s.change(ctx, func(tx database) error {
		c, err := scanCall(tx.QueryRowContext(ctx, `SELECT `+callColumns+` FROM rpc_calls WHERE request_id = $1`+s.dialect.Lock, id))
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("call %s: %w", id, ErrUnknown)
		}
		if out = c; err != nil || c.Answer != "" {
			return s.wrapError("read a call", err)
		}
		was := *c
		do(c)
		if was.State == c.State && was.Gen == c.Gen && was.Answer == c.Answer && was.Ends == c.Ends {
			return nil
		}
		if c.At = at; c.Answer != "" {
			c.Frame = nil
		}
		data, err := json.Marshal(c)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `UPDATE rpc_calls SET state = $2, gen = $3, answer = $4, at = $5, ends = $6, data_json = $7 WHERE request_id = $1`, id, c.State, c.Gen, c.Answer, c.At, c.Ends, string(data))
		return s.wrapError("update a call", err)
	})
	return out, err
}

// CallsOf returns the unanswered calls of a machine, ordered by the time of their last change.
func (s *Store) CallsOf(ctx context.Context, machine string) ([]*Call, error) {
	return s.calls(ctx, `SELECT `+callColumns+` FROM rpc_calls WHERE host_id = $1 AND answer = '' ORDER BY at, request_id`, machine)
}

// Calls returns the calls with the given ids. It omits ids without a call.
func (s *Store) Calls(ctx context.Context, ids []string) (out []*Call, err error) {
	for some := range slices.Chunk(ids, 100) {
		var args []any
		for _, id := range some {
			args = append(args, id)
		}
		all, err := s.calls(ctx, `SELECT `+callColumns+` FROM rpc_calls WHERE request_id IN (`+placeholders(len(args))+`)`, args...)
		if err != nil {
			return nil, err
		}
		out = append(out, all...)
	}
	return out, nil
}

// OverdueCalls returns the unanswered calls whose deadline has passed, or that were sent on a
// connection that is closed.
func (s *Store) OverdueCalls(ctx context.Context, at int64) ([]*Call, error) {
	prefixed := strings.ReplaceAll("c."+callColumns, ", ", ", c.")
	return s.calls(ctx, `SELECT `+prefixed+` FROM rpc_calls c LEFT JOIN hosts h ON h.id = c.host_id WHERE c.answer = '' AND (c.ends > 0 AND c.ends <= $1
		OR c.gen > 0 AND (h.gen IS NULL OR h.gen <> c.gen OR NOT `+s.isLive(`h.replica`)+`))`, at)
}

func (s *Store) calls(ctx context.Context, text string, args ...any) (out []*Call, err error) {
	err = s.each(ctx, text, args, func(r row) error {
		c, err := scanCall(r)
		out = append(out, c)
		return err
	})
	return out, err
}

// ForgetCalls deletes the calls that were answered longer than protocol.RPCRetention ago.
func (s *Store) ForgetCalls(ctx context.Context, at int64) error {
	return s.change(ctx, func(tx database) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM rpc_calls WHERE answer <> '' AND at <= $1`, at-protocol.RPCRetention.Milliseconds())
		return s.wrapError("delete calls", err)
	})
}
