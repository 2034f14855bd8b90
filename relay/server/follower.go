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
	pageEvents = 128       // that are read at once
	pageBytes  = 256 << 10 // of their data
	liveFrames = 256       // without a seq, that may wait
	liveBytes  = 512 << 10
)

// Which runs one follows that one has not named.
const (
	restLive  = "live"
	restStart = "start"
	restNone  = "none"
)

// follower follows runs: it holds positions, hears that there is more, and reads forward at
// its own pace. Of a run of which it has all it knows how far it has read.
type follower struct {
	srv  *Server
	sees func(run string) bool
	kick func() // there is something for it

	mu      sync.Mutex
	rest    string
	named   map[string]bool      // runs that it follows, or does not, whatever rest is
	behind  map[string]*position // runs of which there is more
	read    map[string]int64     // how far runs were read: the word of a commit may come after what it tells of was read
	turn    []string             // of those, in the order in which they are told
	scan    *string              // with rest "start": the last run that was found to begin with; nil when all were
	goals   []*goal              // subscriptions that are not caught up
	loose   [][]byte             // events without a seq
	size    int
	lost    bool // there were more of them than it takes
	quiet   *quiet
	missed  map[string]bool // runs that were heard of while they were looked for
	stopped bool
}

// position is where a follower stands in a run of which there is more.
type position struct {
	seq   int64
	again bool // there is more since it was read last
}

// goal is a subscription's backlog.
type goal struct {
	re     *protocol.Envelope
	ends   map[string]int64 // of runs that have not got there
	cursor map[string]int64
	scan   bool // until all runs were found
}

func (s *Server) newFollower(sees func(string) bool, kick func()) *follower {
	return &follower{srv: s, sees: sees, kick: kick, rest: restNone, named: map[string]bool{}, behind: map[string]*position{}, read: map[string]int64{}}
}

// follows says whether it follows a run.
func (f *follower) follows(run string) bool {
	if yes, named := f.named[run]; named {
		return yes
	}
	return f.rest != restNone && f.sees(run)
}

// hint says that there is more of a run than before; it gives whether that is for it.
func (f *follower) hint(run string, before int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.follows(run) {
		return false
	}
	switch at := f.behind[run]; {
	case at != nil:
		at.again = true
	case f.scan != nil && run > *f.scan && !f.named[run]:
		f.missed[run] = true // it is read from its beginning, later
	default:
		f.place(run, max(before, f.read[run]))
	}
	return true
}

// place puts it behind in a run.
func (f *follower) place(run string, seq int64) {
	if f.behind[run] == nil {
		f.turn = append(f.turn, run)
	}
	f.behind[run] = &position{seq: seq}
}

// live gives it an event without a seq.
func (f *follower) live(run, typ string, frame []byte) {
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

// errBehind: events without a seq came faster than they were read. They cannot be read again.
var errBehind = errors.New("events without a seq came faster than they were read")

// next gives what is to be told next; nothing when there is nothing now.
func (f *follower) next(ctx context.Context, limit int) ([]entry, error) {
	for {
		out, run, at, err := f.begin()
		if err != nil || len(out) > 0 {
			return out, err
		}
		if run == "" {
			found, err := f.look(ctx)
			if err != nil || !found {
				return nil, err
			}
			continue
		}
		all, more, err := f.srv.page(ctx, run, at.seq, limit, f.isBacklog(run))
		if err != nil {
			return nil, err
		}
		if out := f.took(run, at, all, more); len(out) > 0 {
			return out, nil
		}
	}
}

// begin gives what waits in memory, else a run of which there is more, and where it stands.
func (f *follower) begin() (out []entry, run string, at *position, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost {
		return nil, "", nil, errBehind
	}
	for _, frame := range f.loose {
		out = append(out, entry{frame: frame})
	}
	f.loose, f.size = nil, 0
	out = append(out, f.caughtUp()...)
	if f.quiet != nil {
		out = append(out, f.quiet.due(f.srv.clock.Now())...)
	}
	if len(out) > 0 || len(f.turn) == 0 {
		return out, "", nil, nil
	}
	run = f.turn[0]
	f.turn = append(f.turn[1:], run)
	at = f.behind[run]
	at.again = false
	return nil, run, at, nil
}

// hasMore says whether there is something to be told.
func (f *follower) hasMore() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.turn) > 0 || f.scan != nil || len(f.loose) > 0
}

// took notes what was read of a run, and gives what of it is to be told. Nothing is told when the
// follower was put elsewhere meanwhile.
func (f *follower) took(run string, at *position, all []entry, more bool) (out []entry) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.behind[run] != at {
		return nil
	}
	for _, e := range all {
		at.seq = e.seq
		if f.quiet != nil && e.typ == protocol.RunOutput {
			out = append(out, f.quiet.note(e, f.srv.clock, f.kick)...)
			continue
		}
		out = append(out, e)
	}
	for _, g := range f.goals {
		g.reached(run, at.seq, !more)
	}
	if !more && !at.again {
		f.read[run] = at.seq
		f.leave(run)
	}
	return out
}

// leave says that there is no more of a run.
func (f *follower) leave(run string) {
	delete(f.behind, run)
	f.turn = slices.DeleteFunc(f.turn, func(r string) bool { return r == run })
	for _, g := range f.goals {
		delete(g.ends, run)
	}
}

// look finds more runs of those that are followed from their beginning.
func (f *follower) look(ctx context.Context) (found bool, err error) {
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
		return true, nil // somebody has subscribed anew
	}
	if len(ids) == 0 {
		for id := range f.missed {
			f.place(id, 0)
		}
		f.scan, f.missed = nil, nil
		for _, g := range f.goals {
			g.scan = false
		}
		return true, nil
	}
	last := ids[len(ids)-1]
	for id := range f.missed { // those that were made since the store was asked
		if id <= last {
			ids = append(ids, id)
			delete(f.missed, id)
		}
	}
	for _, id := range ids {
		if _, named := f.named[id]; !named && f.sees(id) && f.behind[id] == nil {
			f.place(id, 0)
			for _, g := range f.goals {
				if g.scan {
					g.ends[id] = protocol.MaxSeq // until all was read
				}
			}
		}
	}
	f.scan = &last
	return true, nil
}

// caughtUp gives the ends of backlogs that were told.
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

// page returns a run's events after a seq. Beside other servers a backlog is read from the store:
// the events in memory may end before it does.
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

// quiet is a follower's that wants no output: it hears that there is some.
type quiet struct {
	tells bool // run.progress, which only who said hello knows
	runs  map[string]*progress
}

type progress struct {
	seq, bytes int64
	told       time.Time
	timer      bool
}

const progressEach = time.Second

// note counts an output; a run's first is told at once, the others once a second.
func (q *quiet) note(e entry, clock Clock, kick func()) []entry {
	if !q.tells {
		return nil
	}
	p := q.runs[e.run]
	if p == nil {
		p = &progress{}
		q.runs[e.run] = p
	}
	p.seq, p.bytes = e.seq, p.bytes+outputBytes(e.frame)
	now := clock.Now()
	if now.Sub(p.told) >= progressEach {
		return q.tell(e.run, p, now)
	}
	if !p.timer {
		p.timer = true
		clock.After(p.told.Add(progressEach).Sub(now), kick)
	}
	return nil
}

// due are the runs whose second is over.
func (q *quiet) due(now time.Time) (out []entry) {
	for _, run := range slices.Sorted(maps.Keys(q.runs)) {
		p := q.runs[run]
		switch {
		case now.Sub(p.told) < progressEach:
		case p.bytes > 0:
			out = append(out, q.tell(run, p, now)...)
		default:
			delete(q.runs, run)
		}
	}
	return out
}

func (q *quiet) tell(run string, p *progress, now time.Time) []entry {
	e := protocol.New(protocol.Progress, now, protocol.ProgressData{Seq: p.seq, Bytes: p.bytes})
	e.RunID = run
	p.bytes, p.told, p.timer = 0, now, false
	return []entry{{frame: e.Append(nil)}}
}

// outputBytes is how long the text of a run.output is.
func outputBytes(frame []byte) int64 {
	var e struct{ Data struct{ Text string } }
	if json.Unmarshal(frame, &e) != nil {
		return 0
	}
	return int64(len(e.Data.Text))
}
