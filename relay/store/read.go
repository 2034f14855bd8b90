package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

const (
	runColumns   = `id, host_id, tool, cwd, command, title, status, waits, meta_json, started_at, last_active_at, ended_at, exit_code, prefix_seq, last_seq, sealed, epoch`
	eventColumns = `run_id, seq, from_seq, ts, type, data_json, extra_json, recv_at`
)

// row is a *sql.Row or a *sql.Rows.
type row interface{ Scan(into ...any) error }

func scanRun(from row) (*Run, error) {
	var r Run
	var meta string
	var exit sql.NullInt64
	var waits, sealed int64
	err := from.Scan(&r.ID, &r.MachineID, &r.Tool, &r.Cwd, &r.Command, &r.Title, &r.Status, &waits, &meta, &r.StartedAt, &r.LastActiveAt, &r.EndedAt, &exit, &r.Prefix, &r.Last, &sealed, &r.Epoch)
	if err != nil {
		return nil, err
	}
	r.Waits, r.Sealed, r.Meta = waits != 0, sealed != 0, json.RawMessage(meta)
	if exit.Valid {
		r.ExitCode = &exit.Int64
	}
	return &r, nil
}

// values returns the values of a run's columns in the order of runColumns.
func (r *Run) values() []any {
	var exit any
	if r.ExitCode != nil {
		exit = *r.ExitCode
	}
	return []any{r.ID, r.MachineID, r.Tool, r.Cwd, r.Command, r.Title, string(r.Status), number(r.Waits), string(r.Meta), r.StartedAt, r.LastActiveAt, r.EndedAt, exit, r.Prefix, r.Last, number(r.Sealed), r.Epoch}
}

// number returns the stored form of a boolean.
func number(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

func scanEvent(from row) (*Event, error) {
	var e Event
	var data, extra string
	if err := from.Scan(&e.RunID, &e.Seq, &e.From, &e.TS, &e.Type, &data, &extra, &e.ReceivedAt); err != nil {
		return nil, err
	}
	e.Data = json.RawMessage(data)
	if extra != "" {
		e.Extra = json.RawMessage(extra)
	}
	return &e, nil
}

// Envelope returns the event in the form in which apps receive it.
func (e *Event) Envelope(machine string) protocol.Envelope {
	out := protocol.Envelope{Type: e.Type, TS: e.TS, MachineID: machine, RunID: e.RunID, Seq: e.Seq, Data: e.Data}
	var extra map[string]json.RawMessage
	if json.Unmarshal(e.Extra, &extra) == nil {
		for _, name := range slices.Sorted(maps.Keys(extra)) {
			if name == "enc" {
				out.Enc = extra[name]
				continue
			}
			out.Extra = append(out.Extra, protocol.Member{Name: name, Value: extra[name]})
		}
	}
	return out
}

// Run returns a run, or ErrUnknown.
func (s *Store) Run(ctx context.Context, id string) (*Run, error) {
	r, err := scanRun(s.reader().QueryRowContext(ctx, `SELECT `+runColumns+` FROM runs WHERE id = $1`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("run %s: %w", id, ErrUnknown)
	}
	return r, s.wrapError("read a run", err)
}

// RunsQuery selects runs. The zero value selects all runs. Before selects the runs with a smaller
// LastActiveAt, in Unix ms. With BeforeID, the query also selects the runs with the same
// LastActiveAt and a greater id.
type RunsQuery struct {
	Status   protocol.Status
	Machine  string
	Before   int64
	BeforeID string
	Limit    int
}

// Runs returns runs, the most recently active first.
func (s *Store) Runs(ctx context.Context, q RunsQuery) (out []*Run, err error) {
	where, args := []string{"1 = 1"}, []any{}
	add := func(condition string, v any) {
		args = append(args, v)
		where = append(where, fmt.Sprintf(condition, len(args)))
	}
	if q.Status != "" {
		add("status = $%d", string(q.Status))
	}
	if q.Machine != "" {
		add("host_id = $%d", q.Machine)
	}
	if q.BeforeID != "" {
		args = append(args, q.Before, q.BeforeID)
		where = append(where, fmt.Sprintf("(last_active_at < $%d OR last_active_at = $%d AND id > $%d)", len(args)-1, len(args)-1, len(args)))
	} else if q.Before > 0 {
		add("last_active_at < $%d", q.Before)
	}
	text := `SELECT ` + runColumns + ` FROM runs WHERE ` + strings.Join(where, " AND ") + ` ORDER BY last_active_at DESC, id`
	if q.Limit > 0 {
		text += fmt.Sprintf(" LIMIT %d", q.Limit)
	}
	err = s.each(ctx, text, args, func(r row) error {
		run, err := scanRun(r)
		out = append(out, run)
		return err
	})
	return out, err
}

// Events returns at most limit events of a run after a sequence number, in order and up to the
// run's prefix.
func (s *Store) Events(ctx context.Context, run string, after int64, limit int) (out []*Event, err error) {
	text := fmt.Sprintf(`SELECT %s FROM events WHERE run_id = $1 AND seq > $2 AND seq <= (SELECT prefix_seq FROM runs WHERE id = $1) ORDER BY seq LIMIT %d`, eventColumns, limit)
	err = s.each(ctx, text, []any{run, after}, func(r row) error {
		e, err := scanEvent(r)
		out = append(out, e)
		return err
	})
	return out, err
}

// Requests returns the open and decided requests of a run, oldest first. If run is "", it returns
// those of all runs.
func (s *Store) Requests(ctx context.Context, run string) (out []*Request, err error) {
	text, args := `SELECT q.run_id, q.request_id, q.seq, q.data_json, q.state FROM requests q JOIN events e ON e.run_id = q.run_id AND e.seq = q.seq WHERE q.state IN ('open', 'decided')`, []any{}
	if run != "" {
		text, args = text+` AND q.run_id = $1`, []any{run}
	}
	err = s.each(ctx, text+` ORDER BY e.id`, args, func(r row) error {
		q, err := scanRequest(r)
		out = append(out, q)
		return err
	})
	return out, err
}

// readRequest reads a request. The error is sql.ErrNoRows if there is none. lock is the clause that
// locks the row, or "".
func readRequest(ctx context.Context, from database, run, id, lock string) (*Request, error) {
	return scanRequest(from.QueryRowContext(ctx, `SELECT run_id, request_id, seq, data_json, state FROM requests WHERE run_id = $1 AND request_id = $2`+lock, run, id))
}

func scanRequest(from row) (*Request, error) {
	var q Request
	var data string
	err := from.Scan(&q.RunID, &q.ID, &q.Seq, &data, &q.State)
	q.Data = json.RawMessage(data)
	return &q, err
}

// each calls take for each row of a query.
func (s *Store) each(ctx context.Context, text string, args []any, take func(row) error) error {
	rows, err := s.reader().QueryContext(ctx, text, args...)
	if err != nil {
		return s.wrapError("read", err)
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(rows); err != nil {
			return s.wrapError("read", err)
		}
	}
	return s.wrapError("read", rows.Err())
}
