package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/concerto-lang/concerto/internal/data/cron"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
)

// Schedule is a schedule, which submits a run at certain times. Exactly one of Cron and Every is
// set.
type Schedule struct {
	Name    string
	Cron    string
	Every   time.Duration
	Zone    string // IANA name of the time zone of Cron
	Overlap string // "skip" or "all"
	CatchUp time.Duration
	Run     Submitted // without ID, At and Delay
}

// ScheduleRow describes a schedule. Times are nil if there are none.
type ScheduleRow struct {
	Name, Zone, Queue, Program, Overlap string
	Cron                                *string
	Every                               *time.Duration
	Paused                              bool
	CatchUp                             time.Duration
	Next, Last                          *time.Time // due times
	LastRun                             *string
	Fired, Skipped                      int64
}

// NoScheduleError means that there is no schedule with a name.
type NoScheduleError struct{ Name string }

func (e *NoScheduleError) Error() string {
	return fmt.Sprintf("schedule %s not found; concerto schedule list shows all schedules", e.Name)
}

// times computes the times of a schedule.
type times struct {
	cron  *cron.Schedule // nil for an interval
	zone  *time.Location
	every time.Duration
}

func newTimes(expression *string, every *time.Duration, zone string) (t times, err error) {
	if every != nil {
		return times{every: *every}, nil
	}
	s, wrong := cron.Parse(*expression)
	if wrong != "" {
		return t, fmt.Errorf("invalid cron expression %q: %s", *expression, wrong)
	}
	t.cron = s
	t.zone, err = time.LoadLocation(zone)
	return t, err
}

// after returns the first time after one of a schedule's times; nil if there is none.
func (t *times) after(at time.Time) *time.Time {
	if t.cron == nil {
		next := at.Add(t.every)
		return &next
	}
	next, ok := t.cron.Next(at, t.zone)
	if !ok {
		return nil
	}
	return &next
}

// SetSchedule creates or replaces a schedule. Its next time is after now.
func (e *Engine) SetSchedule(ctx context.Context, s *Schedule) error {
	var expression *string
	var every *time.Duration
	if s.Cron != "" {
		expression = &s.Cron
	} else {
		every = &s.Every
	}
	t, err := newTimes(expression, every, s.Zone)
	if err != nil {
		return err
	}
	return e.inTx(ctx, func(tx pgx.Tx) error {
		var now time.Time
		if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now); err != nil {
			return err
		}
		if err := putProgram(ctx, tx, s.Run.IR, s.Run.Needs); err != nil {
			return err
		}
		r := &s.Run
		_, err := tx.Exec(ctx, `INSERT INTO concerto.schedules (name, cron, every_ms, zone, ir, program, start, queue, priority, key, needs, overlap, catch_up_ms, next_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
			ON CONFLICT (name) DO UPDATE SET cron = excluded.cron, every_ms = excluded.every_ms, zone = excluded.zone, ir = excluded.ir, program = excluded.program, start = excluded.start,
				queue = excluded.queue, priority = excluded.priority, key = excluded.key, needs = excluded.needs, overlap = excluded.overlap, catch_up_ms = excluded.catch_up_ms, next_at = excluded.next_at`,
			s.Name, expression, inMilliseconds(every), s.Zone, hexsum.SHA256(r.IR), r.Program, string(r.Start), r.Queue, r.Priority, r.Key, list(r.Needs.Secrets), s.Overlap, s.CatchUp.Milliseconds(), t.after(now))
		return err
	})
}

func inMilliseconds(d *time.Duration) *int64 {
	if d == nil {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

const scheduleColumns = `name, zone, queue, program, overlap, cron, every_ms, paused, catch_up_ms, next_at, last_at, last_run, fired, skipped`

func scanSchedule(row pgx.CollectableRow) (s ScheduleRow, err error) {
	var every *int64
	var catchUp int64
	err = row.Scan(&s.Name, &s.Zone, &s.Queue, &s.Program, &s.Overlap, &s.Cron, &every, &s.Paused, &catchUp, &s.Next, &s.Last, &s.LastRun, &s.Fired, &s.Skipped)
	if every != nil {
		d := time.Duration(*every) * time.Millisecond
		s.Every = &d
	}
	s.CatchUp = time.Duration(catchUp) * time.Millisecond
	return s, err
}

// Schedules returns all schedules in the order of their names.
func (e *Engine) Schedules(ctx context.Context) ([]ScheduleRow, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	rows, err := e.pool.Query(ctx, `SELECT `+scheduleColumns+` FROM concerto.schedules ORDER BY name`)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, scanSchedule)
}

// PauseSchedule pauses or resumes a schedule. The times during a pause are not due. The error may
// be a *NoScheduleError.
func (e *Engine) PauseSchedule(ctx context.Context, name string, paused bool) error {
	return e.inTx(ctx, func(tx pgx.Tx) error {
		s, now, err := lockSchedule(ctx, tx, name)
		if err != nil || s.Paused == paused {
			return err
		}
		t, err := newTimes(s.Cron, s.Every, s.Zone)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE concerto.schedules SET paused = $2, next_at = $3 WHERE name = $1`, name, paused, t.after(now))
		return err
	})
}

// lockSchedule reads a schedule and the time, and locks the schedule.
func lockSchedule(ctx context.Context, tx pgx.Tx, name string) (s ScheduleRow, now time.Time, err error) {
	rows, err := tx.Query(ctx, `SELECT `+scheduleColumns+` FROM concerto.schedules WHERE name = $1 FOR UPDATE`, name)
	if err != nil {
		return s, now, err
	}
	s, err = pgx.CollectExactlyOneRow(rows, scanSchedule)
	if errors.Is(err, pgx.ErrNoRows) {
		err = &NoScheduleError{name}
	}
	if err != nil {
		return s, now, err
	}
	err = tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&now)
	return s, now, err
}

// DeleteSchedule removes a schedule. Its runs stay. The error may be a *NoScheduleError.
func (e *Engine) DeleteSchedule(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	tag, err := e.pool.Exec(ctx, `DELETE FROM concerto.schedules WHERE name = $1`, name)
	if err == nil && tag.RowsAffected() == 0 {
		err = &NoScheduleError{name}
	}
	return err
}

// Trigger submits a run of a schedule now, and returns its id. The error may be a *NoScheduleError.
func (e *Engine) Trigger(ctx context.Context, name string) (id string, err error) {
	err = e.inTx(ctx, func(tx pgx.Tx) error {
		_, now, err := lockSchedule(ctx, tx, name)
		if err != nil {
			return err
		}
		id = name + now.UTC().Format("-20060102T150405.000000Z") // no due time has a fraction
		_, err = fire(ctx, tx, name, id)
		return err
	})
	return id, err
}

// fire submits a run of a schedule.
func fire(ctx context.Context, tx pgx.Tx, name, id string) (created bool, err error) {
	tag, err := tx.Exec(ctx, `INSERT INTO concerto.runs (id, program, ir, start, queue, priority, key, needs, schedule)
		SELECT $2, program, ir, start, queue, priority, key, needs, name FROM concerto.schedules WHERE name = $1 ON CONFLICT DO NOTHING`, name, id)
	if err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `SELECT pg_notify('concerto', $1)`, id)
	return tag.RowsAffected() > 0, err
}

// The maximum numbers of schedules and of their times that one transaction handles.
const (
	maxSchedules = 100
	maxTimes     = 1000
)

// FireSchedules submits the runs whose scheduled times have come. Workers call it concurrently:
// each time becomes one run.
func (e *Engine) FireSchedules(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	var due []string
	rows, err := e.pool.Query(ctx, `SELECT name FROM concerto.schedules WHERE NOT paused AND next_at <= clock_timestamp() ORDER BY next_at LIMIT $1`, maxSchedules)
	if err == nil {
		due, err = pgx.CollectRows(rows, pgx.RowTo[string])
	}
	for _, name := range due {
		err = errors.Join(err, e.inTx(ctx, func(tx pgx.Tx) error { return fireDue(ctx, tx, name) }))
	}
	return err
}

// fireDue submits the runs of a schedule whose times have come, the oldest first.
func fireDue(ctx context.Context, tx pgx.Tx, name string) error {
	s, now, err := lockSchedule(ctx, tx, name)
	if errors.As(err, new(*NoScheduleError)) {
		return nil // it was removed since
	}
	if err != nil || s.Paused {
		return err
	}
	t, err := newTimes(s.Cron, s.Every, s.Zone)
	if err != nil {
		return err
	}
	for range maxTimes {
		if s.Next == nil || s.Next.After(now) {
			break
		}
		at := *s.Next
		s.Next = t.after(at)
		skip := now.Sub(at) > s.CatchUp
		if !skip && s.Overlap == "skip" && s.LastRun != nil {
			if err := tx.QueryRow(ctx, `SELECT EXISTS (SELECT FROM concerto.runs WHERE id = $1 AND ended_at IS NULL)`, *s.LastRun).Scan(&skip); err != nil {
				return err
			}
		}
		if skip {
			s.Skipped++
			continue
		}
		id := dueID(name, at)
		created, err := fire(ctx, tx, name, id)
		if err != nil {
			return err
		}
		if created {
			s.Fired++
		}
		s.Last, s.LastRun = &at, &id
	}
	_, err = tx.Exec(ctx, `UPDATE concerto.schedules SET next_at = $2, last_at = $3, last_run = $4, fired = $5, skipped = $6 WHERE name = $1`, name, s.Next, s.Last, s.LastRun, s.Fired, s.Skipped)
	return err
}

// dueID returns the id of the run of a schedule that was due at a time.
func dueID(name string, at time.Time) string {
	return name + at.UTC().Format("-20060102T150405Z")
}
