package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Lines returns the first n records of a run's journal as they are stored.
func (r *run) Lines(n uint64) ([]string, error) {
	return r.engine.lines(context.Background(), `SELECT line FROM concerto.journal WHERE run = $1 AND s <= $2 ORDER BY s`, r.id, int64(n))
}

// Ledger returns the lines of the run's ledger.
func (r *run) Ledger() ([]string, error) { return r.engine.Ledger(context.Background(), r.id) }

// OtherJournalError means that a run cannot be imported, because its id has another journal.
type OtherJournalError struct{ Run string }

func (e *OtherJournalError) Error() string {
	return fmt.Sprintf("run %s already exists with another journal", e.Run)
}

// Origin describes how an imported run was submitted: like the run with the id Run, or with Start.
type Origin struct {
	Run   string
	Start json.RawMessage // what a worker needs to resume the run
	Needs Needs
}

// Import stores a copy of a run. A run that has not ended becomes ready. created is false if the
// engine contains the run with this journal. The error is an *OtherJournalError, or an error of the
// database.
func (e *Engine) Import(ctx context.Context, id string, c *journal.Copy, o Origin) (created bool, err error) {
	state, ended := "ready", (*int)(nil)
	if c.Last.RecordKind == journal.KFinish {
		state, ended = "failed", c.Last.Code
		switch {
		case c.Last.Outcome == journal.HasContinued:
			state = "continued"
		case *ended == 0:
			state = "finished"
		}
	}
	n := len(c.Records)
	var start *string
	if o.Start != nil {
		text := string(o.Start)
		start = &text
	}
	err = e.inTx(ctx, func(tx pgx.Tx) error {
		for _, program := range c.Programs {
			if err := putProgram(ctx, tx, program, o.Needs); err != nil {
				return err
			}
		}
		adopted := []string{}
		for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
			if name != journal.ProgramFile {
				adopted = append(adopted, hexsum.SHA256(c.Programs[name]))
			}
		}
		tag, err := tx.Exec(ctx, `INSERT INTO concerto.runs (id, program, ir, adopted, start, needs, queue, priority, key, state, exit, ended_at, started_at, epoch, vm_version, format, s, h, groups, output_count, progress)
			SELECT $1, $2, $3, $4, coalesce(f.start, $5::json), coalesce(f.needs, $6), coalesce(f.queue, 'default'), coalesce(f.priority, 0), coalesce(f.key, ''),
				$7, $8, CASE WHEN $8::integer IS NOT NULL THEN to_timestamp($9::bigint / 1000.0) END, to_timestamp($10::bigint / 1000.0), $11, $12, $13, $14, $15, 1, $16, $17
			FROM (SELECT) one LEFT JOIN concerto.runs f ON f.id = $18 ON CONFLICT DO NOTHING`,
			id, c.Start.Program, c.Start.IR, adopted, start, list(o.Needs.Secrets), state, ended, c.Last.Time, c.Began, c.Records[n-1].Owner, c.Start.Engine, c.Start.Format, n, c.Last.Hash, len(c.Output), c.Effects, o.Run)
		if err != nil {
			return err
		}
		if created = tag.RowsAffected() > 0; !created {
			same := false
			err := tx.QueryRow(ctx, `SELECT s = $2 AND h = $3 FROM concerto.runs WHERE id = $1`, id, n, c.Last.Hash).Scan(&same)
			if err != nil && !errors.Is(err, pgx.ErrNoRows) { // removed since
				return err
			}
			if !same {
				return &OtherJournalError{id}
			}
			return nil
		}
		if err := importContent(ctx, tx, id, c); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `SELECT pg_notify('concerto', $1)`, id)
		return err
	})
	return created, err
}

// importContent stores what belongs to a run besides its row.
func importContent(ctx context.Context, tx pgx.Tx, id string, c *journal.Copy) error {
	owners, lines := make([]int64, len(c.Records)), make([]string, len(c.Records))
	for i, l := range c.Records {
		owners[i], lines[i] = l.Owner, l.Text
	}
	if _, err := tx.Exec(ctx, `INSERT INTO concerto.journal SELECT $1, l.i, l.epoch, l.line FROM unnest($2::bigint[], $3::text[]) WITH ORDINALITY l(epoch, line, i)`, id, owners, lines); err != nil {
		return err
	}
	for table, lines := range map[string][]string{"output": c.Output, "ledger": c.Ledger} {
		if _, err := tx.Exec(ctx, `INSERT INTO concerto.`+table+` SELECT $1, l.i, l.line FROM unnest($2::text[]) WITH ORDINALITY l(line, i)`, id, list(lines)); err != nil {
			return err
		}
	}
	for sum, blob := range c.Blobs {
		if _, err := tx.Exec(ctx, `INSERT INTO concerto.blobs VALUES ($1, $2, $3)`, id, sum, blob); err != nil {
			return err
		}
	}
	for question, a := range c.Answers {
		var value *string
		if a.Refuse == nil {
			text := string(a.Value)
			value = &text
		}
		if _, err := tx.Exec(ctx, `INSERT INTO concerto.answers VALUES ($1, $2, $3, $4, $5, to_timestamp($6::bigint / 1000.0), $7)`, id, question, value, a.Refuse, a.By, a.At, int64(a.Synced)); err != nil {
			return err
		}
	}
	return nil
}

// putProgram stores a program.
func putProgram(ctx context.Context, tx pgx.Tx, program []byte, n Needs) error {
	_, err := tx.Exec(ctx, `INSERT INTO concerto.programs (sha256, data, needs, orphan_s) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`, hexsum.SHA256(program), program, list(n.Secrets), n.Orphan.Seconds())
	return err
}
