package enginemachine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/record/journal/postgres"
	"github.com/concerto-lang/concerto/relay/protocol"
)

const (
	maxEnded     = 1000        // number of ended runs that a new spool receives
	maxLines     = 5000        // maximum number of lines of output that a poll reads
	whyInterval  = 10          // number of polls after which the reasons of all runs are read again
	maxTogether  = 8           // maximum number of runs whose events are committed concurrently
	commitMargin = time.Minute // time after which a transaction that has set the end of a run is committed
)

// poll reads what has changed in the engine and commits it as events.
func (s *Source) poll(ctx context.Context) error {
	if s.polls == 0 {
		var err error
		if s.endedAfter, err = s.o.Engine.EndOf(ctx, maxEnded); err != nil {
			return err
		}
	}
	marks, now, err := s.readMarks(ctx)
	if err != nil {
		return err
	}
	changed, err := s.changed(ctx, marks)
	if err != nil {
		return err
	}
	read := &batch{marks: changed, lines: map[string][]postgres.OutputLine{}}
	if len(changed) > 0 {
		if err := read.load(ctx, s); err != nil {
			return err
		}
	}
	if err := s.commitAll(ctx, read); err != nil {
		return err
	}
	s.polls++
	if !now.IsZero() {
		s.endedAfter = now.Add(-commitMargin)
	}
	return nil
}

// readMarks returns the marks of the runs by the relay's ids. It ends the runs that the engine does
// not contain any more.
func (s *Source) readMarks(ctx context.Context) (map[string]postgres.Mark, time.Time, error) {
	all, now, err := s.o.Engine.Marks(ctx, s.endedAfter, nil)
	if err != nil {
		return nil, now, err
	}
	marks := map[string]postgres.Mark{}
	for _, m := range all {
		marks[s.runID(m)] = m
	}
	var missing []string // runs that have ended while this process did not run, or were removed
	for id, r := range s.runs {
		if _, ok := marks[id]; !ok {
			missing = append(missing, r.Run)
		}
	}
	if len(missing) == 0 {
		return marks, now, nil
	}
	if all, _, err = s.o.Engine.Marks(ctx, now, missing); err != nil {
		return nil, now, err
	}
	for _, m := range all {
		marks[s.runID(m)] = m
	}
	for id, r := range maps.Clone(s.runs) {
		if _, ok := marks[id]; !ok {
			if err := s.endRemoved(ctx, r); err != nil {
				return nil, now, err
			}
		}
	}
	return marks, now, nil
}

// changed returns the marks of the runs whose events must be committed.
func (s *Source) changed(ctx context.Context, marks map[string]postgres.Mark) (map[string]postgres.Mark, error) {
	changed := map[string]postgres.Mark{}
	var added []string
	for id, m := range marks {
		r := s.runs[id]
		if r == nil {
			if stored, ok := s.spool.Run(id); !ok || !stored.Ended {
				added = append(added, id)
			}
			continue
		} else if m.Created = r.mark.Created; m == r.mark && s.polls%whyInterval != 0 {
			continue
		}
		changed[id] = marks[id]
	}
	if len(added) == 0 {
		return changed, nil
	}
	slices.SortFunc(added, func(x, y string) int { return marks[x].Created.Compare(marks[y].Created) })
	n, err := s.acceptable(ctx, len(added))
	for _, id := range added[:n] {
		changed[id] = marks[id]
	}
	return changed, err
}

// acceptable returns how many of n further runs the server accepts. It never acknowledges the
// events of others.
func (s *Source) acceptable(ctx context.Context, n int) (int, error) {
	if s.o.Stored == nil {
		return n, nil
	}
	room, err := s.o.Stored(ctx)
	if err != nil {
		return 0, err
	}
	room = protocol.MaxRunsOfMachine - room
	for _, r := range s.spool.Runs() {
		if r.Acked == 0 {
			room--
		}
	}
	if room = max(room, 0); room < n && !s.full {
		s.full = true
		s.o.Log.Warn("the server accepts no further runs of the engine", "most", protocol.MaxRunsOfMachine)
	}
	return min(n, room), nil
}

// batch contains what a poll has read about the runs that have changed.
type batch struct {
	marks map[string]postgres.Mark         // by the relay's ids
	rows  map[string]*postgres.Row         // by the ids in the engine
	lines map[string][]postgres.OutputLine // new lines of output, by the ids in the engine
}

// load reads the rows of the runs, and then their output, so that the output is at least that of
// the rows' states.
func (b *batch) load(ctx context.Context, s *Source) error {
	ids, from := []string{}, map[string]int64{}
	for id, m := range b.marks {
		ids = append(ids, m.ID)
		has := int64(0)
		if r := s.runs[id]; r != nil {
			has = r.output
		}
		if m.Output > has {
			from[m.ID] = has + 1
		}
	}
	all, err := s.o.Engine.Rows(ctx, ids)
	if err != nil {
		return err
	}
	b.rows = map[string]*postgres.Row{}
	for _, r := range all {
		b.rows[r.ID] = r
	}
	if len(from) == 0 {
		return nil
	}
	lines, err := s.o.Engine.OutputFrom(ctx, from, maxLines)
	for _, l := range lines {
		b.lines[l.Run] = append(b.lines[l.Run], l)
	}
	return err
}

// commitAll commits the events of runs, those of the oldest first.
func (s *Source) commitAll(ctx context.Context, b *batch) error {
	ids := slices.SortedFunc(maps.Keys(b.marks), func(x, y string) int { return b.marks[x].Created.Compare(b.marks[y].Created) })
	var work sync.WaitGroup
	var mu sync.Mutex
	var failed error
	free := make(chan struct{}, maxTogether)
	for _, id := range ids {
		mark := b.marks[id]
		row := b.rows[mark.ID]
		if row == nil || !row.Created.Equal(mark.Created) {
			continue // it was removed in the meantime
		}
		r := s.find(id)
		if r == nil {
			r = &run{id: id, note: note{Run: mark.ID}}
		}
		free <- struct{}{}
		work.Go(func() {
			defer func() { <-free }()
			if err := s.commit(ctx, r, mark, row, b.lines[mark.ID]); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
			}
		})
	}
	work.Wait()
	return failed
}
