package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// pollInterval is the interval between queries for answers and requests to stop. Notifications
// arrive earlier, but may be lost.
const pollInterval = time.Second

// watches contains the runs of a session that receive changes. One connection receives the
// notifications for all of them, and one query returns those that have changed.
type watches struct {
	mu   sync.Mutex
	runs map[string]chan struct{}

	// woken receives a value when a run may have become claimable.
	woken chan struct{}
}

// signal adds a value to a channel, unless it contains one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Woken returns a channel that receives a value when the session may be able to claim a run.
// Notifications may be lost, so a worker must also try at an interval.
func (s *Session) Woken() <-chan struct{} { return s.watches.woken }

// notify passes on the notification about a run.
func (w *watches) notify(run string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c := w.runs[run]; c != nil {
		signal(c)
		return
	}
	signal(w.woken)
}

// listen passes on notifications until the session ends. It connects again after an error.
func (s *Session) listen() {
	for s.Ended().Err() == nil {
		s.listenOnce()
		select {
		case <-s.Ended().Done():
		case <-time.After(pollInterval):
		}
	}
}

// listenOnce passes on the notifications of one connection.
func (s *Session) listenOnce() {
	conn, err := pgx.ConnectConfig(s.Ended(), s.engine.pool.Config().ConnConfig)
	if err != nil {
		return
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(s.Ended()), time.Second)
		defer cancel()
		_ = conn.Close(closing) // the connection has failed, or the session has ended
	}()
	if _, err := conn.Exec(s.Ended(), `LISTEN concerto`); err != nil {
		return
	}
	signal(s.watches.woken)
	for {
		n, err := conn.WaitForNotification(s.Ended())
		if err != nil {
			return
		}
		s.watches.notify(n.Payload)
	}
}

// poll queries for answers and requests to stop at an interval, once for all runs of the session,
// until the session ends.
func (s *Session) poll() {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-s.Ended().Done():
			return
		case <-tick.C:
		}
		s.watches.mu.Lock()
		watching := len(s.watches.runs) > 0
		s.watches.mu.Unlock()
		if !watching {
			continue
		}
		// An error is that of the connection: the next one repeats the query.
		changed, _ := s.changed()
		for _, run := range changed {
			s.watches.notify(run)
		}
	}
}

// changed returns the session's runs that have an answer or must stop.
func (s *Session) changed() ([]string, error) {
	ctx, cancel := context.WithTimeout(s.Ended(), requestTimeout)
	defer cancel()
	rows, err := s.engine.pool.Query(ctx, `SELECT id FROM concerto.runs r WHERE owner = $1 AND (stop OR EXISTS (SELECT FROM concerto.answers a WHERE a.run = r.id))`, s.id)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// Watch calls changed at once, and when an answer or a request to stop may have been stored.
func (r *run) Watch(ctx context.Context, changed func()) {
	if r.session == nil {
		r.poll(ctx, changed)
		return
	}
	w := &r.session.watches
	c := make(chan struct{}, 1)
	w.mu.Lock()
	w.runs[r.id] = c
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.runs[r.id] == c { // the session may have claimed the run again
			delete(w.runs, r.id)
		}
	}()
	for {
		changed()
		select {
		case <-ctx.Done():
			return
		case <-c:
		}
	}
}

// poll calls changed at an interval.
func (r *run) poll(ctx context.Context, changed func()) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		changed()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
