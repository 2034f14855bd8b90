package server

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/relay/protocol"
	"github.com/concerto-lang/concerto/relay/store"
)

const (
	pageEvents = 128       // events read at a time
	pageBytes  = 256 << 10 // and bytes of their data
	liveFrames = 256       // waiting events without a sequence number
	liveBytes  = 512 << 10
)

// The runs that a follower follows without naming them.
const (
	restLive  = "live"
	restStart = "start"
	restNone  = "none"
)

// follower follows runs. It holds a position for each run with unread events and reads at its own
// pace. For a completely read run it holds the last sequence number.
type follower struct {
	srv  *Server
	sees func(run string) bool
	kick func() // signals something to send

	mu      sync.Mutex
	rest    string
	named   map[string]bool      // explicitly followed (true) or not followed (false) runs
	backlog map[string]*position // positions in runs with unread events
	// how far runs were read: a commit may be announced after its events were read
	read map[string]int64
	turn []string // keys of backlog in sending order
	// with rest "start": the last listed run; nil when all runs are listed
	scan    *string
	goals   []*goal  // subscriptions that are not caught up
	loose   [][]byte // events without a sequence number
	size    int
	lost    bool // some loose events were dropped
	quiet   *outputCounter
	missed  map[string]bool // runs announced while runs were being listed
	stopped bool
}

// position is a position in a run with unread events.
type position struct {
	seq    int64
	hasNew bool // new events arrived since the last read
}

// goal is the backlog of a subscription.
type goal struct {
	re     *protocol.Envelope
	ends   map[string]int64 // by run, until reached
	cursor map[string]int64
	scan   bool // runs remain to be listed
}

func (s *Server) newFollower(sees func(string) bool, kick func()) *follower {
	return &follower{srv: s, sees: sees, kick: kick, rest: restNone, named: map[string]bool{}, backlog: map[string]*position{}, read: map[string]int64{}}
}

// follows reports whether it follows a run.
func (f *follower) follows(run string) bool {
	if yes, named := f.named[run]; named {
		return yes
	}
	return f.rest != restNone && f.sees(run)
}

// announce announces events of a run after sequence number before, and reports whether it follows
// the run.
func (f *follower) announce(run string, before int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.follows(run) {
		return false
	}
	switch at := f.backlog[run]; {
	case at != nil:
		at.hasNew = true
	case f.scan != nil && run > *f.scan && !f.named[run]:
		f.missed[run] = true // read from its beginning later
	default:
		f.setPosition(run, max(before, f.read[run]))
	}
	return true
}

// setPosition sets the position in a run.
func (f *follower) setPosition(run string, seq int64) {
	if f.backlog[run] == nil {
		f.turn = append(f.turn, run)
	}
	f.backlog[run] = &position{seq: seq}
}

// queueLive queues an event without a sequence number.
func (f *follower) queueLive(run, typ string, frame []byte) {
	f.mu.Lock()
	if !f.follows(run) || f.quiet != nil && typ == protocol.RunOutput {
		f.mu.Unlock()
		return
	}
	if len(f.loose) >= liveFrames || f.size > liveBytes {
		f.lost = true
	} else {
		f.loose, f.size = append(f.loose, frame), f.size+len(frame)
	}
	f.mu.Unlock()
	f.kick()
}

// errSlowReader reports that events without a sequence number arrived faster than they were sent.
// They cannot be read again.
var errSlowReader = errors.New("events without a seq arrived faster than they were read")

// next returns the next events to send, if any.
func (f *follower) next(ctx context.Context, limit int) ([]entry, error) {
	for {
		out, run, at, err := f.begin()
		if err != nil || len(out) > 0 {
			return out, err
		}
		if run == "" {
			found, err := f.listRuns(ctx)
			if err != nil || !found {
				return nil, err
			}
			continue
		}
		all, more, err := f.srv.page(ctx, run, at.seq, limit, f.isBacklog(run))
		if err != nil {
			return nil, err
		}
		if out := f.advance(run, at, all, more); len(out) > 0 {
			return out, nil
		}
	}
}

// begin returns queued events in memory, or else a run with unread events and its position.
func (f *follower) begin() (out []entry, run string, at *position, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost {
		return nil, "", nil, errSlowReader
	}
	for _, frame := range f.loose {
		out = append(out, entry{frame: frame})
	}
	f.loose, f.size = nil, 0
	out = append(out, f.caughtUp()...)
	if f.quiet != nil {
		out = append(out, f.quiet.takeElapsed(f.srv.clock.Now())...)
	}
	if len(out) > 0 || len(f.turn) == 0 {
		return out, "", nil, nil
	}
	run = f.turn[0]
	f.turn = append(f.turn[1:], run)
	at = f.backlog[run]
	at.hasNew = false
	return nil, run, at, nil
}

// hasMore reports whether there is something to send.
func (f *follower) hasMore() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.turn) > 0 || f.scan != nil || len(f.loose) > 0
}

// advance records which events of a run were read and returns those to send. It returns none if the
// position changed in the meantime.
func (f *follower) advance(run string, at *position, all []entry, more bool) (out []entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.backlog[run] != at {
		return nil
	}
	for _, e := range all {
		at.seq = e.seq
		if f.quiet != nil && e.typ == protocol.RunOutput {
			out = append(out, f.quiet.count(e, f.srv.clock, f.kick)...)
			continue
		}
		out = append(out, e)
	}
	for _, g := range f.goals {
		g.reached(run, at.seq, !more)
	}
	if !more && !at.hasNew {
		f.read[run] = at.seq
		f.markRead(run)
	}
	return out
}

// markRead records that a run has no unread events.
func (f *follower) markRead(run string) {
	delete(f.backlog, run)
	f.turn = slices.DeleteFunc(f.turn, func(r string) bool { return r == run })
	for _, g := range f.goals {
		delete(g.ends, run)
	}
}

// listRuns finds more runs to follow from their beginning.
func (f *follower) listRuns(ctx context.Context) (found bool, err error) {
	f.mu.Lock()
	scan := f.scan
	f.mu.Unlock()
	if scan == nil {
		return false, nil
	}
	ids, err := f.srv.store.RunIDs(ctx, *scan, pageEvents)
	if err != nil {
		return false, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.scan != scan {
		return true, nil // a new subscription was made
	}
	if len(ids) == 0 {
		for id := range f.missed {
			f.setPosition(id, 0)
		}
		f.scan, f.missed = nil, nil
		for _, g := range f.goals {
			g.scan = false
		}
		return true, nil
	}
	last := ids[len(ids)-1]
	for id := range f.missed { // runs created after the query
		if id <= last {
			ids = append(ids, id)
			delete(f.missed, id)
		}
	}
	for _, id := range ids {
		if _, named := f.named[id]; !named && f.sees(id) && f.backlog[id] == nil {
			f.setPosition(id, 0)
			for _, g := range f.goals {
				if g.scan {
					g.ends[id] = protocol.MaxSeq // until it is read completely
				}
			}
		}
	}
	f.scan = &last
	return true, nil
}

// caughtUp returns run.caught_up messages for finished backlogs.
func (f *follower) caughtUp() (out []entry) {
	f.goals = slices.DeleteFunc(f.goals, func(g *goal) bool {
		if len(g.ends) > 0 || g.scan {
			return false
		}
		if g.re == nil {
			return true
		}
		e := protocol.New(protocol.CaughtUp, f.srv.clock.Now(), protocol.Cursor{Cursor: g.cursor})
		e.Re = g.re.ID
		out = append(out, entry{frame: e.Append(nil)})
		return true
	})
	return out
}

func (g *goal) reached(run string, seq int64, all bool) {
	end, wanted := g.ends[run]
	if !wanted {
		return
	}
	g.cursor[run] = seq
	if seq >= end || all {
		delete(g.ends, run)
	}
}

// isBacklog reports whether a subscription has not caught up with a run.
func (f *follower) isBacklog(run string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.goals, func(g *goal) bool { _, wanted := g.ends[run]; return wanted })
}

// page returns a run's events after a sequence number. With several servers a backlog is read from
// the store, because the events in memory may end earlier.
func (s *Server) page(ctx context.Context, run string, after int64, limit int, backlog bool) (all []entry, more bool, err error) {
	if all, ok := s.hub.recent(run, after); ok && !(backlog && s.others.shared) {
		if len(all) > limit {
			return all[:limit], true, nil
		}
		return all, false, nil
	}
	r, err := s.store.Run(ctx, run)
	if errors.Is(err, store.ErrUnknown) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	events, more, err := s.store.Page(ctx, store.PageQuery{Run: run, After: after, Limit: limit, Bytes: pageBytes})
	for _, e := range events {
		env := e.Envelope(r.HostID)
		all = append(all, entry{run, e.Seq, e.Type, env.Append(nil)})
	}
	return all, more, err
}

// outputCounter counts output for a follower without output.
type outputCounter struct {
	enabled bool // send run.progress, which only clients with a hello know
	runs    map[string]*progress
}

type progress struct {
	seq, bytes int64
	reported   time.Time
	timer      bool
}

const progressInterval = time.Second

// count counts an output event. It returns run.progress at once for a run's first output, later
// once a second.
func (q *outputCounter) count(e entry, clock Clock, kick func()) []entry {
	if !q.enabled {
		return nil
	}
	p := q.runs[e.run]
	if p == nil {
		p = &progress{}
		q.runs[e.run] = p
	}
	p.seq, p.bytes = e.seq, p.bytes+outputBytes(e.frame)
	now := clock.Now()
	if now.Sub(p.reported) >= progressInterval {
		return q.report(e.run, p, now)
	}
	if !p.timer {
		p.timer = true
		clock.After(p.reported.Add(progressInterval).Sub(now), kick)
	}
	return nil
}

// takeElapsed returns run.progress for the runs whose second has passed.
func (q *outputCounter) takeElapsed(now time.Time) (out []entry) {
	for _, run := range slices.Sorted(maps.Keys(q.runs)) {
		p := q.runs[run]
		switch {
		case now.Sub(p.reported) < progressInterval:
		case p.bytes > 0:
			out = append(out, q.report(run, p, now)...)
		default:
			delete(q.runs, run)
		}
	}
	return out
}

func (q *outputCounter) report(run string, p *progress, now time.Time) []entry {
	e := protocol.New(protocol.Progress, now, protocol.ProgressData{Seq: p.seq, Bytes: p.bytes})
	e.RunID = run
	p.bytes, p.reported, p.timer = 0, now, false
	return []entry{{frame: e.Append(nil)}}
}

// outputBytes returns the length of the text of a run.output.
func outputBytes(frame []byte) int64 {
	var e struct{ Data struct{ Text string } }
	if json.Unmarshal(frame, &e) != nil {
		return 0
	}
	return int64(len(e.Data.Text))
}
