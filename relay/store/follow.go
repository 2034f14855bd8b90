package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/relay/protocol"
)

// PageQuery selects the events of a run after After, up to Limit events. The page ends when the
// data of its events reaches Bytes, but contains at least one event. If Types is set, only events
// of these types are selected.
type PageQuery struct {
	Run          string
	After        int64
	Limit, Bytes int
	Types        []string
}

// Page returns events of a run in order, up to the run's prefix. more reports whether there may be
// more events.
func (s *Store) Page(ctx context.Context, q PageQuery) (out []*Event, more bool, err error) {
	where, args := `run_id = $1 AND seq > $2 AND seq <= (SELECT prefix_seq FROM runs WHERE id = $1)`, []any{q.Run, q.After}
	if len(q.Types) > 0 {
		var marks []string
		for _, t := range q.Types {
			args = append(args, t)
			marks = append(marks, fmt.Sprintf("$%d", len(args)))
		}
		where += ` AND type IN (` + strings.Join(marks, ", ") + `)`
	}
	rows, err := s.reader().QueryContext(ctx, fmt.Sprintf(`SELECT %s FROM events WHERE %s ORDER BY seq LIMIT %d`, eventColumns, where, q.Limit+1), args...)
	if err != nil {
		return nil, false, s.wrapError("read events", err)
	}
	defer rows.Close()
	for size := 0; rows.Next(); {
		if len(out) == q.Limit || q.Bytes > 0 && size >= q.Bytes {
			return out, true, nil
		}
		e, err := scanEvent(rows)
		if err != nil {
			return nil, false, s.wrapError("read events", err)
		}
		out, size = append(out, e), size+len(e.Data)+len(e.Extra)
	}
	return out, false, s.wrapError("read events", rows.Err())
}

// RunIDs returns at most limit ids of runs that are greater than after, in order.
func (s *Store) RunIDs(ctx context.Context, after string, limit int) (out []string, err error) {
	err = s.each(ctx, fmt.Sprintf(`SELECT id FROM runs WHERE id > $1 ORDER BY id LIMIT %d`, limit), []any{after}, func(r row) error {
		var id string
		err := r.Scan(&id)
		out = append(out, id)
		return err
	})
	return out, err
}

// Hole is a range of missing events of a run. Later events are stored.
type Hole struct {
	Run      string
	From, To int64
}

// Holes returns the first hole of each run of a machine. If run is not "", it returns only the hole
// of that run.
func (s *Store) Holes(ctx context.Context, machine, run string) (out []Hole, err error) {
	text, args := `SELECT r.id, r.prefix_seq, (SELECT min(e.from_seq) FROM events e WHERE e.run_id = r.id AND e.seq > r.prefix_seq) FROM runs r WHERE r.host_id = $1 AND r.last_seq > r.prefix_seq`, []any{machine}
	if run != "" {
		text, args = text+` AND r.id = $2`, []any{machine, run}
	}
	err = s.each(ctx, text, args, func(r row) error {
		var h Hole
		var next sql.NullInt64
		if err := r.Scan(&h.Run, &h.From, &next); err != nil {
			return err
		}
		h.From, h.To = h.From+1, next.Int64-1
		if next.Valid && h.To >= h.From {
			out = append(out, h)
		}
		return nil
	})
	return out, err
}

// MarkLost marks runs of a machine as lost and returns their ids. These are all runs that have not
// ended, except the given runs. It does nothing if the connection with generation gen no longer
// owns the machine.
func (s *Store) MarkLost(ctx context.Context, machine string, gen int64, runs []string) (lost []string, err error) {
	err = s.change(ctx, func(tx database) error {
		var has int64
		if err := tx.QueryRowContext(ctx, `SELECT gen FROM hosts WHERE id = $1`+s.dialect.Lock, machine).Scan(&has); err != nil || has != gen {
			return s.wrapError("read a machine", err)
		}
		rows, err := tx.QueryContext(ctx, `SELECT id FROM runs WHERE host_id = $1 AND status NOT IN ('exited', 'lost')`+s.dialect.Lock, machine)
		if err != nil {
			return s.wrapError("read runs", err)
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return s.wrapError("read runs", err)
			}
			if !slices.Contains(runs, id) {
				lost = append(lost, id)
			}
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil {
			return s.wrapError("read runs", err)
		}
		for _, id := range lost {
			if _, err := tx.ExecContext(ctx, `UPDATE runs SET status = $2 WHERE id = $1`, id, string(protocol.StatusLost)); err != nil {
				return s.wrapError("update a run", err)
			}
		}
		return nil
	})
	return lost, err
}

// Request returns a request, or ErrUnknown.
func (s *Store) Request(ctx context.Context, run, id string) (*Request, error) {
	q, err := readRequest(ctx, s.reader(), run, id, "")
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("request %s: %w", id, ErrUnknown)
	}
	return q, s.wrapError("read a request", err)
}

// Command returns a command, or ErrUnknown.
func (s *Store) Command(ctx context.Context, run, kind, id string) (*Command, error) {
	c, err := scanCommand(s.reader().QueryRowContext(ctx, `SELECT `+commandColumns+` FROM commands WHERE run_id = $1 AND kind = $2 AND id = $3`, run, kind, id))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("%s %s of run %s: %w", kind, id, run, ErrUnknown)
	}
	return c, s.wrapError("read a command", err)
}

// Overdue returns the commands that should have been sent before a time in Unix ms.
func (s *Store) Overdue(ctx context.Context, at int64) (out []*Command, err error) {
	err = s.each(ctx, `SELECT `+commandColumns+` FROM commands WHERE state = 'accepted' AND expires <= $1 ORDER BY n`, []any{at}, func(r row) error {
		c, err := scanCommand(r)
		out = append(out, c)
		return err
	})
	return out, err
}

// Decision returns the decision on a request, or nil if there is none.
func (s *Store) Decision(ctx context.Context, run, id string) (*RecordedDecision, error) {
	var d RecordedDecision
	err := s.reader().QueryRowContext(ctx, `SELECT decision, by_name, at FROM decisions WHERE run_id = $1 AND request_id = $2`, run, id).Scan(&d.Decision, &d.By, &d.At)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	return &d, s.wrapError("read a decision", err)
}

// Text returns a string member of a JSON object. It returns "" if there is none.
func Text(data json.RawMessage, name string) string {
	return (&Event{Data: data}).text(name)
}
