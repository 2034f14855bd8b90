package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/record/journal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// run is a run of an engine. It is a journal.Run.
type run struct {
	engine  *Engine
	session *Session // nil for a process that cannot become the owner of the run
	id      string
	// claimed is the epoch at which the session has claimed the run; 0 if Create or Open must claim
	// it.
	claimed atomic.Int64
	isNew   bool // the claimed run has no records
	// isLent means that a worker has claimed the run, and decides itself what becomes of it if it
	// has not ended and does not wait: another worker could claim it before the reason is stored.
	isLent bool
}

// Run returns a run of the engine for a process that is no worker: it can read the run, answer its
// questions and request its stop, but not become its owner. The run need not exist.
func (e *Engine) Run(id string) journal.Run { return &run{engine: e, id: id} }

// errNoSession means that a process that is no worker tried to become the owner of a run.
var errNoSession = errors.New("only a worker can own a run of an engine")

// requestTimeout limits a request of a reader.
const requestTimeout = 30 * time.Second

func (r *run) query(sql string, args ...any) (pgx.Rows, context.CancelFunc, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	rows, err := r.engine.pool.Query(ctx, sql, args...)
	if err != nil {
		cancel()
	}
	return rows, cancel, err
}

// one reads the only row of a query. found is false if there is no row.
func (r *run) one(sql string, args []any, to ...any) (found bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	err = r.engine.pool.QueryRow(ctx, sql, args...).Scan(to...)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (r *run) do(sql string, args ...any) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, err := r.engine.pool.Exec(ctx, sql, args...)
	return err
}

// Sibling returns the run of the engine with an id.
func (r *run) Sibling(id string) journal.Run { return r.engine.Run(id) }

// NoteSuccessor does nothing, because a run and its successor are one transaction.
func (r *run) NoteSuccessor() error { return nil }

// HadSuccessor returns false.
func (r *run) HadSuccessor() bool { return false }

// Name returns the id of the run.
func (r *run) Name() string { return r.id }

// Create stores a new run and becomes its owner.
func (r *run) Create(start journal.Start, program []byte, o journal.Options) (journal.Writer, error) {
	if r.session == nil {
		return nil, errNoSession
	}
	ctx, cancel, err := r.session.Context()
	if err != nil {
		return nil, err
	}
	defer cancel()
	text, err := json.Marshal(start)
	if err != nil {
		return nil, err
	}
	sum := hexsum.SHA256(program)
	if r.isNew {
		// The program exists, unless this version encodes it differently.
		if sum != start.IR {
			return nil, fmt.Errorf("the program of run %s has hash %s, not %s", r.id, sum, start.IR)
		}
		return r.begin(r.claimed.Swap(0), start, o)
	}
	created := false
	err = r.engine.inTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO concerto.programs (sha256, data) VALUES ($1, $2) ON CONFLICT DO NOTHING`, sum, program); err != nil {
			return err
		}
		// The run is not ready before it has its start record.
		tag, err := tx.Exec(ctx, `INSERT INTO concerto.runs (id, program, ir, start, ready_at) VALUES ($1, $2, $3, $4, 'infinity') ON CONFLICT DO NOTHING`, r.id, start.Program, sum, string(text))
		created = tag.RowsAffected() > 0
		return err
	})
	if err != nil {
		return nil, err
	}
	if !created {
		return nil, &journal.ExistsError{Run: r.id}
	}
	epoch, err := r.claim()
	if err != nil {
		return nil, err
	}
	return r.begin(epoch, start, o)
}

// begin writes the first record.
func (r *run) begin(epoch int64, start journal.Start, o journal.Options) (journal.Writer, error) {
	start.Format = journal.Format
	w := newWriter(r, epoch, nil, position{h: journal.ZeroHash}, 0, o)
	w.Append(&journal.Record{RecordKind: journal.KStart, Start: &start, Owner: o.Owner.Numbered(1)})
	if err := w.Flush(journal.Synced); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// claim becomes the owner of the run and returns its epoch.
func (r *run) claim() (epoch int64, err error) {
	if r.session == nil {
		return 0, errNoSession
	}
	ctx, cancel, err := r.session.Context()
	if err != nil {
		return 0, err
	}
	defer cancel()
	var result string
	var machine *string
	var number *int64
	var pid *int
	err = r.engine.pool.QueryRow(ctx, `SELECT * FROM concerto.claim_run($1, $2)`, r.session.id, r.id).Scan(&result, &number, &machine, &pid)
	switch {
	case err != nil:
		return 0, err
	case result == "claimed":
		return *number, nil
	case result == "held":
		return 0, &journal.HeldError{Run: r.id, Machine: *machine, PID: *pid}
	case result == "none":
		return 0, journal.ErrNoRun
	}
	return 0, journal.ErrLost
}

// leave ends the ownership of the run. A run that cannot wait, because an answer has arrived,
// becomes ready. A worker that is not the owner changes nothing.
func (r *run) leave(epoch int64, state string, wake *time.Time, code *int) error {
	err := r.session.Try(r.id, func(ctx context.Context) error {
		result := ""
		err := r.engine.pool.QueryRow(ctx, `SELECT concerto.leave($1, $2, $3, $4, $5)`, r.id, epoch, state, wake, code).Scan(&result)
		if err == nil && result == "answered" {
			err = r.engine.pool.QueryRow(ctx, `SELECT concerto.leave($1, $2, 'ready', NULL, NULL)`, r.id, epoch).Scan(&result)
		}
		return err
	})
	if errors.Is(err, journal.ErrFenced) { // other workers may own the run already
		return nil
	}
	return err
}

// release makes the run ready, unless it is lent.
func (r *run) release(epoch int64) error {
	if r.isLent {
		return nil
	}
	return r.leave(epoch, "ready", nil, nil)
}

// continueAs ends the run as continued and submits its successor, in one transaction. A worker that
// is not the owner changes nothing.
func (r *run) continueAs(epoch int64, next *journal.Successor) error {
	err := r.session.Try(r.id, func(ctx context.Context) error {
		text := ""
		if err := r.engine.pool.QueryRow(ctx, `SELECT start::text FROM concerto.runs WHERE id = $1`, r.id).Scan(&text); err != nil {
			return err
		}
		var start map[string]json.RawMessage // what the submitter has stored stays, except for the inputs
		if err := json.Unmarshal([]byte(text), &start); err != nil {
			return err
		}
		continues, err := jsonwrite.Encode(next.Continues)
		if err != nil {
			return err
		}
		start["inputs"], start["continues"] = next.Inputs, continues
		submitted, err := jsonwrite.Encode(start)
		if err != nil {
			return err
		}
		result := ""
		err = r.engine.pool.QueryRow(ctx, `SELECT concerto.continue_as($1, $2, $3, $4)`, r.id, epoch, next.Run, string(submitted)).Scan(&result)
		if err == nil && result == "exists" {
			err = fmt.Errorf("run %s cannot continue: a run %s exists", r.id, next.Run)
		}
		return err
	})
	if errors.Is(err, journal.ErrFenced) { // other workers may own the run already
		return nil
	}
	return err
}

// Open becomes the owner of the run.
func (r *run) Open(h *journal.History, o journal.Options) (journal.Writer, *journal.History, error) {
	epoch := r.claimed.Swap(0)
	var err error
	if epoch == 0 {
		if epoch, err = r.claim(); err != nil {
			return nil, nil, err
		}
	}
	var at position
	var s, output int64
	_, err = r.one(`SELECT s, h, groups, output_count FROM concerto.runs WHERE id = $1`, []any{r.id}, &s, &at.h, &at.n, &output)
	if at.s = uint64(s); err == nil && (h == nil || h.At() != journal.From{S: at.s, H: at.h}) {
		h, err = r.Read()
	}
	if err != nil {
		return nil, nil, errors.Join(err, r.release(epoch))
	}
	return newWriter(r, epoch, h, at, output, o), h, nil
}

// IsRunning reports whether the run has an owner.
func (r *run) IsRunning() (owned bool, err error) {
	_, err = r.one(`SELECT EXISTS (SELECT FROM concerto.workers w WHERE w.id = r.owner AND w.lease_until > clock_timestamp()) FROM concerto.runs r WHERE r.id = $1`, []any{r.id}, &owned)
	return owned, err
}

// Read reads and verifies the journal.
func (r *run) Read() (*journal.History, error) {
	h, err := r.read()
	if err != nil {
		return nil, err
	}
	return h, nil
}

// ReadUndamaged returns the records before the damage of a damaged journal.
func (r *run) ReadUndamaged() (*journal.History, error) {
	h, err := r.read()
	if damaged, ok := errors.AsType[*journal.DamagedError](err); ok && h != nil && h.N > 0 {
		h.Damage, err = damaged, nil
	}
	return h, err
}

// read reads the journal. After a *journal.DamagedError it also returns the records before the
// damage.
func (r *run) read() (*journal.History, error) {
	x := journal.NewReader()
	// One statement reads the journal and its end: groups that are stored at the same time are in
	// both or in neither.
	rows, cancel, err := r.query(`SELECT j.s, j.line, r.s, r.h FROM concerto.runs r LEFT JOIN concerto.journal j ON j.run = r.id WHERE r.id = $1 ORDER BY j.s`, r.id)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer rows.Close()
	damaged := func(s uint64, why string) error {
		return &journal.DamagedError{Where: fmt.Sprintf("record %d of run %s", s, r.id), Why: why, Next: restoreAdvice}
	}
	h := x.History
	var end position
	for rows.Next() {
		var s *int64
		var line []byte
		var at int64
		if err := rows.Scan(&s, &line, &at, &end.h); err != nil {
			return nil, err
		}
		if end.s = uint64(at); s == nil {
			break
		}
		if err := x.Add(line); err != nil {
			if errors.As(err, new(*journal.NewerFormatError)) {
				return nil, err
			}
			return h, damaged(h.N+1, err.Error())
		}
	}
	rows.Close()
	if err := rows.Err(); err != nil {
		return nil, err
	}
	switch {
	case h.N != end.s:
		return h, damaged(h.N+1, fmt.Sprintf("the journal ends before record %d", end.s))
	case h.N == 0:
		return nil, journal.ErrNoRun
	case h.Last().Hash != end.h:
		return h, damaged(h.N, "its hash differs from that of the run's row")
	}
	return h, nil
}

// Program returns a program by its hash.
func (r *run) Program(name, sum string) (program []byte, err error) {
	found, err := r.one(`SELECT data FROM concerto.programs WHERE sha256 = $1`, []any{sum}, &program)
	return checkSum(program, found, name, sum, "it is not the program that the journal names", err)
}

// Blob returns a large value by its hash.
func (r *run) Blob(sum string) (blob []byte, err error) {
	found, err := r.one(`SELECT data FROM concerto.blobs WHERE run = $1 AND sha256 = $2`, []any{r.id, sum}, &blob)
	return checkSum(blob, found, "blobs/"+sum, sum, "its content does not match its name", err)
}

func checkSum(data []byte, found bool, name, sum, mismatch string, err error) ([]byte, error) {
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, &journal.DamagedError{Where: name, Why: "it is missing from the database"}
	case hexsum.SHA256(data) != sum:
		return nil, &journal.DamagedError{Where: name, Why: mismatch}
	}
	return data, nil
}

// Out returns the lines of the output.
func (r *run) Out() (lines []string, torn int, err error) {
	rows, cancel, err := r.query(`SELECT line FROM concerto.output WHERE run = $1 ORDER BY n`, r.id)
	if err != nil {
		return nil, 0, err
	}
	defer cancel()
	lines, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return lines, 0, err
}

// PutAnswer stores an answer. The first one wins.
func (r *run) PutAnswer(id string, a journal.Answer) error {
	return putAnswer(func(sql string, args []any, to ...any) error {
		_, err := r.one(sql, args, to...)
		return err
	}, r.id, id, a)
}

// putAnswer stores the first answer to a question. query reads the only row of a query.
func putAnswer(query func(sql string, args []any, to ...any) error, run, id string, a journal.Answer) error {
	var value *string
	if a.Refuse == nil {
		text := string(a.Value)
		value = &text
	}
	var given, at *time.Time
	if a.At != 0 {
		t := time.UnixMilli(a.At)
		given = &t
	}
	var result string
	var by *string
	if err := query(`SELECT * FROM concerto.answer($1, $2, $3, $4, $5, $6, $7)`, []any{run, id, value, a.Refuse, a.By, given, int64(a.Synced)}, &result, &by, &at); err != nil {
		return err
	}
	switch result {
	case "answered":
		return &journal.AnsweredError{By: *by, At: at.UnixMilli()}
	case "none":
		return journal.ErrNoRun
	}
	return nil
}

// answerColumns are the columns that scanAnswer reads.
const answerColumns = `id, value, refuse, by, at, synced`

func scanAnswer(row pgx.Row) (id string, a *journal.Answer, err error) {
	a = &journal.Answer{}
	var value *string
	var at time.Time
	var synced int64
	err = row.Scan(&id, &value, &a.Refuse, &a.By, &at, &synced)
	if value != nil {
		a.Value = json.RawMessage(*value)
	}
	a.At, a.Synced = at.UnixMilli(), uint64(synced)
	return id, a, err
}

// Answer returns the stored answer to a question, or nil.
func (r *run) Answer(id string) (*journal.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	_, a, err := scanAnswer(r.engine.pool.QueryRow(ctx, `SELECT `+answerColumns+` FROM concerto.answers WHERE run = $1 AND id = $2`, r.id, id))
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return a, err
}

// Answers returns all stored answers by the ids of their questions.
func (r *run) Answers() (map[string]*journal.Answer, error) {
	rows, cancel, err := r.query(`SELECT `+answerColumns+` FROM concerto.answers WHERE run = $1`, r.id)
	if err != nil {
		return nil, err
	}
	defer cancel()
	defer rows.Close()
	all := map[string]*journal.Answer{}
	for rows.Next() {
		id, a, err := scanAnswer(rows)
		if err != nil {
			return nil, err
		}
		all[id] = a
	}
	return all, rows.Err()
}

// DropAnswer removes an answer.
func (r *run) DropAnswer(id string) error {
	return r.do(`DELETE FROM concerto.answers WHERE run = $1 AND id = $2`, r.id, id)
}

// RequestStop requests the owner of the run, or the next one, to stop it.
func (r *run) RequestStop() error {
	return r.do(`WITH stopped AS (UPDATE concerto.runs SET stop = true WHERE id = $1 AND NOT stop RETURNING id) SELECT pg_notify('concerto', id) FROM stopped`, r.id)
}

// IsStopRequested reports whether a process has requested that the run stops.
func (r *run) IsStopRequested() (stop bool) {
	_, err := r.one(`SELECT stop FROM concerto.runs WHERE id = $1`, []any{r.id}, &stop)
	return err == nil && stop
}

// Questions returns the open questions of runs, the oldest first, by the id of the run.
func (e *Engine) Questions(ctx context.Context, runs []string) (map[string][]journal.Question, error) {
	return readQuestions(ctx, e.pool, runs)
}

func readQuestions(ctx context.Context, from querier, runs []string) (map[string][]journal.Question, error) {
	rows, err := from.Query(ctx, `SELECT run, id, channel, payload, type, schema, since FROM concerto.questions WHERE run = ANY($1) ORDER BY since, length(id), id`, list(runs))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := map[string][]journal.Question{}
	for rows.Next() {
		var run string
		var q journal.Question
		var since time.Time
		if err := rows.Scan(&run, &q.ID, &q.Channel, &q.Payload, &q.Type, &q.Schema, &since); err != nil {
			return nil, err
		}
		q.Since = since.UnixMilli()
		all[run] = append(all[run], q)
	}
	return all, rows.Err()
}
