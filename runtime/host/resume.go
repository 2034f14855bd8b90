package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// Open is an exchange that was open when the run's process ended, as its journal knows it.
type Open struct {
	ID      int64                // by which the program knows it
	Request *effect.ExchangeOpen // by which it was opened
	Key     string               // of its prompt
	// Opened is what that gave, as it is in the journal; nil when its end is not there: it is performed
	// again, and then finds the prompt that was sent.
	Opened *effect.ExchangeOpened
	Line   int64 // the last line that the journal has of it (effect.HostLines.Last); 0: none
	Over   bool  // the journal has its terminal message
	// Replies are those whose ends are in the journal, in their order. Others are performed again, and sent
	// unless the host has them.
	Replies []*effect.ExchangeReply
	// Since is when it was opened, by the clock on the wall, where the keeper cannot say it.
	Since time.Time
	// Course is how it has gone so far; nil: it is lost with its process.
	Course *Course
}

// Resume goes on with a run: what its keeper has kept is as it was when the run's process before this one ended. It is
// called once, before anything is performed. An exchange whose process is lost, with its keeper or the machine, is gone on with by
// another one where that can go on with its conversation; else it fails with the code "lost". The error is keeper.ErrFenced, or says why the keeper cannot be reached.
func (h *Hosts) Resume(ctx context.Context, open []Open) error {
	k := h.opts.Keeper
	all, err := k.Attach()
	gone := errors.Is(err, keeper.ErrNone)
	if err != nil && !gone {
		return err
	}
	known := slices.Clone(all)
	h.mu.Lock()
	for name := range h.pools {
		h.started[name] = int(k.Last(name))
	}
	for _, o := range open {
		h.lastID = max(h.lastID, o.ID)
	}
	h.mu.Unlock()
	slices.SortFunc(all, func(a, b keeper.Process) int { return int(a.K - b.K) })
	for i := range open {
		if o := &open[i]; o.Opened != nil && !givenBack(o, all) {
			all = h.takeUp(o, all)
		}
	}
	for i := range all {
		h.adopt(&all[i], open)
	}
	for i := range open {
		if o := &open[i]; gone && o.Opened == nil && !h.claimed(o) && h.dubious(o, known) {
			h.doubted = append(h.doubted, sumOf(o.Request))
		}
	}
	return nil
}

// givenBack says that an exchange's process has had another one since: it was closed, which the journal
// had not heard of. Who closes it again hears that it is closed.
func givenBack(o *Open, all []keeper.Process) bool {
	return slices.ContainsFunc(all, func(p keeper.Process) bool {
		return p.ID == keeper.ID{Host: o.Request.Host, K: o.Opened.Process} && turnOf(&p) > o.Opened.Turn
	})
}

// turnOf is how many exchanges a process has had.
func turnOf(p *keeper.Process) (turn int64) {
	for _, e := range p.Script {
		var n lineNote
		if json.Unmarshal(e.Note, &n) == nil && n.Begun != nil { // it was written here
			turn = max(turn, n.Begun.Turn)
		}
	}
	return turn
}

// takeUp makes an open exchange as it was, and gives the processes but for its own.
func (h *Hosts) takeUp(o *Open, all []keeper.Process) []keeper.Process {
	pool := h.pools[o.Request.Host]
	if pool == nil {
		return all // the program has changed: who asks for the exchange hears that it is not open
	}
	ex := pool.exchange(o.Request, o.Key)
	at := slices.IndexFunc(all, func(p keeper.Process) bool {
		return p.ID == keeper.ID{Host: o.Request.Host, K: o.Opened.Process}
	})
	next := successor(all, o)
	if next >= 0 {
		at = next
	}
	var r *resumed
	if at >= 0 {
		r = pool.resumed(&all[at], o.Course.line(o.Line, all[at].K))
		all = slices.Delete(all, at, at+1)
	}
	began := o.Since
	switch {
	case r == nil:
		h.lose(ex, o)
	case next >= 0 && (r.turn == nil || !o.Course.is(r.turn.predecessor())):
		r.p.retire(0) // it was on its way
		r.rested()
		r.p.start()
		h.lose(ex, o)
	case next < 0 && (r.turn == nil || r.turn.Turn != o.Opened.Turn):
		ex.follow(o.Course)
		// The prompt was still here when this ended.
		ex.slot.p, ex.proc = r.p, r.p
		r.rested()
		r.p.kept.begun.Store(o.Opened.Turn - 1)
		r.p.start()
		r.p.begin(ex.in, sumOf(o.Request), ex.promptFor(r.p))
	default:
		began = r.turn.At
		r.goOn(ex, o)
	}
	h.reopen(ex, o.ID, began)
	return all
}

// exchange is one that was opened before, with a slot of its own.
func (pl *pool) exchange(r *effect.ExchangeOpen, key string) *exchange {
	pl.mu.Lock()
	s := &slot{pool: pl} // there are fewer of them than there were
	if at := slices.IndexFunc(pl.free, func(s *slot) bool { return s.p == nil }); at >= 0 {
		s = pl.free[at]
		pl.free = slices.Delete(pl.free, at, at+1)
	}
	pl.mu.Unlock()
	return &exchange{pool: pl, slot: s, in: newInbox(), asked: r, prompt: pl.cfg.promptOf(r, pl.cfg.SendTools, key, nil), key: key, wish: wishOf(r), life: make(chan struct{}), unheed: func() bool { return false }}
}

// reopen gives an exchange its number, and what is left of its time.
func (h *Hosts) reopen(ex *exchange, id int64, began time.Time) {
	left := ex.pool.cfg.timeout()
	if !began.IsZero() {
		left = max(0, left-max(0, time.Since(began)))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	ex.id = id
	h.exchanges[id] = ex
	ex.begin(left)
}

// adopt takes in a process with whom no exchange is open: it rests, or has one that is opened yet, or
// that was given up.
func (h *Hosts) adopt(known *keeper.Process, open []Open) {
	pool := h.pools[known.Host]
	if pool == nil {
		h.endUnknown(known)
		return
	}
	r := pool.resumed(known, 0)
	if r == nil {
		return
	}
	if r.turn != nil && !r.resting && r.turn.Revived == nil {
		for i := range open {
			o := &open[i]
			if o.Opened == nil && o.Request.Host == known.Host && sumOf(o.Request) == r.turn.Open && !h.claimed(o) {
				ex := pool.exchange(o.Request, o.Key)
				ex.opening = o
				ex.began = r.turn.At
				r.goOn(ex, &Open{Request: o.Request, Course: o.Course})
				h.mu.Lock()
				h.begun = append(h.begun, ex)
				h.mu.Unlock()
				return
			}
		}
	}
	r.rested()
	r.p.start()
	if !r.ready || r.turn != nil && !r.resting || known.Exit != nil || !pool.give(r.p) {
		r.p.retire(0)
	}
}

// claimed says that an exchange which is opened yet has its process.
func (h *Hosts) claimed(o *Open) bool {
	return slices.ContainsFunc(h.begun, func(ex *exchange) bool { return ex.opening == o })
}

// give gives a process that rests a free slot; false when there is none.
func (pl *pool) give(p *process) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	at := slices.IndexFunc(pl.free, func(s *slot) bool { return s.p == nil })
	if at < 0 {
		return false
	}
	pl.free[at].p = p
	pl.free[at].rest()
	return true
}

// endUnknown ends a process of a host that the program has no more.
func (h *Hosts) endUnknown(known *keeper.Process) {
	if conn, err := h.opts.Keeper.Connect(known.ID, 0, 0, nil); err == nil {
		conn.End(0, nil)
	}
}

// goOn gives the exchange that a process before this one has begun by the same request; nil when
// there is none.
func (h *Hosts) goOn(r *effect.ExchangeOpen) *exchange {
	h.mu.Lock()
	var ex *exchange
	if at := slices.IndexFunc(h.begun, func(ex *exchange) bool { return sumOf(ex.asked) == sumOf(r) }); at >= 0 {
		ex = h.begun[at]
		h.begun = slices.Delete(h.begun, at, at+1)
		h.lastID++
		ex.id = h.lastID
	}
	h.mu.Unlock()
	if ex != nil {
		h.reopen(ex, ex.id, ex.began)
	}
	return ex
}

// resumed is a process that was kept, as it is made up again.
type resumed struct {
	p       *process
	script  []keeper.Entry
	notes   []lineNote
	turn    *begunNote   // its last exchange; nil: it has had none
	at      int          // that one's place in the script
	lines   int64        // that it has said
	of      *predecessor // it goes on with an exchange of a lost process
	resting bool         // it is over
	ready   bool         // it is initialised, or need not be
	ended   bool
}

// resumed connects to a process that was kept; nil when that cannot be. line is the last that the
// journal has of it.
func (pl *pool) resumed(known *keeper.Process, line int64) *resumed {
	id, note := known.ID, noteOf(known.Note)
	h := pl.hosts
	p := newProcess(h, pl.cfg)
	attached := make(chan struct{})
	defer close(attached)
	conn, err := h.opts.Keeper.Connect(id, pl.from(line, &note), pl.cfg.MaxLine, p.stderr(attached))
	if err != nil || !h.reserve() {
		return nil
	}
	now := conn.Known()
	p.number = int(id.K)
	r := &resumed{p: p, script: now.Script, lines: now.Lines, of: note.Of, ended: now.Exit != nil}
	if err := r.prepare(pl.cfg, now.Note); err != nil {
		conn.End(0, nil)
		h.running.Done()
		return nil
	}
	p.attach(keptConn{conn})
	h.register(p)
	r.read(pl.cfg)
	return r
}

// prepare makes what stands between the process and the program, as it was when it was started.
func (r *resumed) prepare(c *Config, text []byte) error {
	var note spawned
	if err := json.Unmarshal(text, &note); err != nil {
		return err
	}
	if note.Work != nil {
		at, err := c.placeOf()
		if err != nil {
			return err
		}
		own := *c
		own.Dir = note.Work.Path
		r.p.cfg, r.p.work = &own, note.Work.dir(at)
	}
	return r.p.prepare(wish{session: note.Session, tools: note.Tools, bridge: note.Bridge})
}

// noteOf reads what was noted of a process when it was started.
func noteOf(text []byte) (note spawned) {
	_ = json.Unmarshal(text, &note) // it was written here; who needs all of it sees for itself
	return note
}

// from is the first line that is wanted of a process.
func (pl *pool) from(line int64, note *spawned) int64 {
	switch {
	case pl.cfg.protocol().New != nil, note.Of != nil:
		return 1
	case line > 0:
		return line + 1
	}
	return 0
}

// read learns from the script how the process stands.
func (r *resumed) read(c *Config) {
	first, _ := c.initLine(r.p.hosts.opts.Environ)
	r.ready = first == nil
	r.notes = make([]lineNote, len(r.script))
	for i, e := range r.script {
		n := &r.notes[i]
		_ = json.Unmarshal(e.Note, n) // it was written here
		switch {
		case n.Begun != nil:
			r.turn, r.at, r.resting, r.ready = n.Begun, i, false, true
			r.p.kept.begun.Store(n.Begun.Turn)
		case n.Ack != "":
			r.ready = true
			r.p.announced.read([]byte(n.Ack), r.p.words != nil)
			r.p.read.spoken.Store(true)
		case n.Session != "":
			r.p.talk.Store(&n.Session)
		case n.Rest != nil:
			r.resting, r.ready = true, true
			r.p.life.rest(n.Rest.Served)
			r.p.read.spoken.Store(n.Rest.Spoken)
		}
	}
	if r.p.kept.begun.Load() > 1 {
		r.p.life.rest(true)
	}
}

// goOn makes an exchange as the process has it.
func (r *resumed) goOn(ex *exchange, o *Open) {
	p := r.p
	ex.proc, ex.slot.p = p, p
	sums := map[string]int{}
	for _, n := range r.notes[r.at+1:] {
		if n.Sum != "" {
			sums[n.Sum]++
		}
	}
	missing := r.unsaid(o, sums) // those still here when this ended
	for sum, n := range sums {
		for range n {
			p.kept.repeat.add(sum)
		}
	}
	t := &turn{in: ex.in, since: r.turn.Since, opens: r.turn.Open}
	if v := r.turn.Revived; v != nil {
		t.again = newRevival(*v)
		ex.again = t.again
	}
	p.life.begin(ex.in, func() (promptAt int64) {
		p.life.turn.Store(t)
		p.pulse.begin()
		return -1
	})
	ex.follow(o.Course)
	if t.again != nil {
		p.goesOnWith(o.Course.conversation())
	} else {
		p.goesOnWith(ex.session)
	}
	p.read.spoken.Store(p.read.spoken.Load() || o.Line > 0)
	journaled := o.Course.line(o.Line, int64(p.number))
	r.replay(t, journaled)
	r.skip(t, journaled)
	if t.again != nil {
		t.again.answeredAgain(o.Replies, missing)
	}
	if o.Over {
		t.over, p.read.done = true, true
		ex.in.finish()
	}
	p.start()
	p.stages.wantRead()
	for _, reply := range missing {
		ex.said(reply, appendReply(nil, reply))
	}
}

// rested makes the process one that has had exchanges and has none.
func (r *resumed) rested() {
	in := newInbox()
	in.drain()
	t := &turn{in: in, over: true}
	r.p.life.turn.Store(t)
	r.replay(t, 0)
	r.skip(t, r.lines)
	if r.p.entry != nil {
		r.p.stages.wantRead() // who comes over the bridge is answered
	}
}
