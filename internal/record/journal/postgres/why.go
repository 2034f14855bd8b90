package postgres

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// situation is the state of an engine that decides which runs can progress.
type situation struct {
	now     time.Time
	workers []liveWorker
	queues  map[string]queueLimits
	running map[runningKey]int // number of runs with an owner
}

// liveWorker is a worker that claims runs.
type liveWorker struct {
	machine     string
	vmVersion   int
	queues      []string
	secrets     []string
	concurrency int
	running     int // number of its runs
}

// queueLimits contains the limits of a queue; 0 means no limit.
type queueLimits struct {
	concurrency, perKey int
	paused              bool
}

// runningKey is a queue and a key in it. The key "" means all runs of the queue: runs without a key
// have no limit of their own.
type runningKey struct{ queue, key string }

// readSituation reads what decides about the progress of some runs.
func readSituation(ctx context.Context, tx pgx.Tx, all []*Row) (*situation, error) {
	s := &situation{queues: map[string]queueLimits{}, running: map[runningKey]int{}}
	if err := tx.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&s.now); err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `SELECT w.machine, w.vm_version, w.queues, w.secrets, w.concurrency, (SELECT count(*) FROM concerto.runs r WHERE r.owner = w.id)
		FROM concerto.workers w WHERE w.lease_until > $1 AND NOT w.draining`, s.now)
	if err != nil {
		return nil, err
	}
	s.workers, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (w liveWorker, err error) {
		return w, row.Scan(&w.machine, &w.vmVersion, &w.queues, &w.secrets, &w.concurrency, &w.running)
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range all {
		names = append(names, r.Queue)
	}
	rows, err = tx.Query(ctx, `SELECT name, concurrency, per_key, paused FROM concerto.queues WHERE name = ANY($1)`, names)
	if err != nil {
		return nil, err
	}
	var name string
	var q queueLimits
	if _, err := pgx.ForEachRow(rows, []any{&name, &q.concurrency, &q.perKey, &q.paused}, func() error {
		s.queues[name] = q
		return nil
	}); err != nil {
		return nil, err
	}
	rows, err = tx.Query(ctx, `SELECT queue, key, count(*) FROM concerto.runs WHERE owner IS NOT NULL AND queue = ANY($1) GROUP BY queue, key`, names)
	if err != nil {
		return nil, err
	}
	var k runningKey
	var n int
	_, err = pgx.ForEachRow(rows, []any{&k.queue, &k.key, &n}, func() error {
		s.running[runningKey{queue: k.queue}] += n
		if k.key != "" {
			s.running[k] = n
		}
		return nil
	})
	return s, err
}

// why returns the reasons why a run does not progress. The conditions are those of the function
// claim of the schema.
func (s *situation) why(r *Row) string {
	all := s.timeReasons(r)
	switch r.State {
	case "ready", "waiting":
		all = append(all, s.queueReasons(r)...)
		all = append(all, s.workerReasons(r)...)
	case "running":
		if r.LeaseUntil != nil && r.LeaseUntil.After(s.now) {
			all = append(all, s.ownerReasons(r)...)
			break
		}
		if s.queues[r.Queue].paused && !r.Stopping {
			all = append(all, pausedReason(r))
		}
		reasons, requirements := s.fittingWorkers(r)
		all = slices.Concat(all, reasons, s.ownerReasons(r), requirements)
	case "held":
		all = append(all, fmt.Sprintf("held: worker crashed %d times at effect %d", r.Crashes, r.Progress))
	case "damaged":
		if r.Refusal != nil {
			all = append(all, *r.Refusal)
		}
	}
	return strings.Join(all, "; ")
}

// timeReasons returns the events for which a run waits.
func (s *situation) timeReasons(r *Row) (all []string) {
	switch {
	case HasEnded(r.State):
	case r.Stopping:
		return []string{"stopping"}
	case r.At != nil && !r.At.After(s.now):
	case r.State == "ready" && r.At != nil:
		all = append(all, "scheduled for "+TimeText(*r.At))
	case r.State == "waiting" && !r.Answered:
		if r.At != nil {
			all = append(all, "waiting until "+TimeText(*r.At))
		}
		for _, q := range r.Questions {
			all = append(all, fmt.Sprintf("waiting for answer %s (channel %s)", q.ID, q.Channel))
		}
	}
	return all
}

// TimeText returns a time as messages and JSON contain it: RFC 3339 in UTC with milliseconds.
func TimeText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// TimeTextOrNil is TimeText for a time that may be missing.
func TimeTextOrNil(t *time.Time) *string {
	if t == nil {
		return nil
	}
	text := TimeText(*t)
	return &text
}

func pausedReason(r *Row) string { return fmt.Sprintf("queue %s is paused", r.Queue) }

// queueReasons returns the properties of the queue that prevent a run without an owner from being
// claimed.
func (s *situation) queueReasons(r *Row) (all []string) {
	if r.Stopping {
		return nil
	}
	q := s.queues[r.Queue]
	if q.paused {
		all = append(all, pausedReason(r))
	}
	if n := s.running[runningKey{queue: r.Queue}]; q.concurrency > 0 && n >= q.concurrency {
		all = append(all, fmt.Sprintf("queue %s is at its concurrency limit (%d of %d running)", r.Queue, n, q.concurrency))
	}
	if n := s.running[runningKey{r.Queue, r.Key}]; q.perKey > 0 && r.Key != "" && n >= q.perKey {
		all = append(all, fmt.Sprintf("queue %s is at its limit for key %s (%d of %d running)", r.Queue, r.Key, n, q.perKey))
	}
	return all
}

func (s *situation) workerReasons(r *Row) []string {
	workers, requirements := s.fittingWorkers(r)
	return append(workers, requirements...)
}

// fittingWorkers returns the reasons why no worker can claim a run: the workers that are missing,
// and what they lack.
func (s *situation) fittingWorkers(r *Row) (reasons, requirements []string) {
	ofQueue := slices.DeleteFunc(slices.Clone(s.workers), func(w liveWorker) bool { return !slices.Contains(w.queues, r.Queue) })
	if len(ofQueue) == 0 {
		reasons = append(reasons, "no worker online for queue "+r.Queue)
	}
	online := slices.DeleteFunc(ofQueue, func(w liveWorker) bool { return !r.Orphaned && w.machine != *r.Pin })
	if len(online) == 0 && !r.Orphaned {
		reason := "no worker online on machine " + *r.Pin
		if r.PinnedBy != nil {
			reason += fmt.Sprintf(" (pinned by %s)", *r.PinnedBy)
		}
		reasons = append(reasons, reason)
	}
	fitting := online
	if !r.Stopping {
		fitting, requirements = meetRequirements(r, online)
		if r.Refusal != nil && !slices.Contains(requirements, *r.Refusal) {
			requirements = append(requirements, *r.Refusal)
		}
	}
	if len(fitting) > 0 && !slices.ContainsFunc(fitting, func(w liveWorker) bool { return w.running < w.concurrency }) {
		reasons = append(reasons, "all workers are busy")
	}
	return reasons, requirements
}

// meetRequirements returns the workers that have the secrets and the version of the VM that a run
// requires. If there are none, it returns what all of them lack.
func meetRequirements(r *Row, online []liveWorker) (fitting []liveWorker, missing []string) {
	if len(online) == 0 {
		return nil, nil
	}
	newEnough := slices.DeleteFunc(slices.Clone(online), func(w liveWorker) bool { return w.vmVersion < r.VMVersion })
	candidates := newEnough
	if len(newEnough) == 0 {
		candidates = online
	}
	for _, name := range r.Needs {
		if !slices.ContainsFunc(candidates, func(w liveWorker) bool { return slices.Contains(w.secrets, name) }) {
			missing = append(missing, "no worker has secret "+name)
		}
	}
	fitting = slices.DeleteFunc(slices.Clone(newEnough), func(w liveWorker) bool {
		return slices.ContainsFunc(r.Needs, func(name string) bool { return !slices.Contains(w.secrets, name) })
	})
	switch {
	case len(newEnough) == 0:
		missing = append(missing, fmt.Sprintf("requires VM version %d", r.VMVersion))
	case len(fitting) == 0 && len(missing) == 0:
		missing = append(missing, "no worker has all of the secrets "+strings.Join(r.Needs, ", "))
	}
	return fitting, missing
}

// ownerReasons returns that the owner of a run does not respond: more than half of its lease has
// passed since the last renewal, while workers renew every third.
func (s *situation) ownerReasons(r *Row) []string {
	switch {
	case r.LeaseUntil == nil:
		return []string{fmt.Sprintf("worker %s is not responding; its lease has expired", *r.Worker)}
	case !r.LeaseUntil.After(s.now):
		return []string{fmt.Sprintf("worker %s is not responding; its lease expired at %s", *r.Worker, TimeText(*r.LeaseUntil))}
	case s.now.Sub(*r.Renewed) > r.LeaseUntil.Sub(*r.Renewed)/2:
		return []string{fmt.Sprintf("worker %s is not responding; its lease expires at %s", *r.Worker, TimeText(*r.LeaseUntil))}
	}
	return nil
}
