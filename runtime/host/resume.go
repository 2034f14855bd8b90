package host

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// Open describes an exchange that was open when the run's process ended, according to the journal.
type Open struct {
	ID      int64                // number of the exchange in the program
	Request *effect.ExchangeOpen // request that opened the exchange
	Key     string               // key of the exchange's prompt
	// Opened is the journaled result of the opening. nil means that the opening is performed again;
	// the host may already have the prompt.
	Opened *effect.ExchangeOpened
	Line   int64 // number of the last journaled line of the exchange (effect.HostLines.Last); 0 means none
	Over   bool  // the terminal message is journaled
	// Replies are the journaled replies in order. The program performs later replies again; they
	// are sent only if the host has not received them.
	Replies []*effect.ExchangeReply
	// Steered are the journaled messages to the host, of the program and of other processes, in
	// order.
	Steered []Steered
	// Since is the wall-clock time of the opening. It is used if the keeper does not know that
	// time.
	Since time.Time
	// Used is what the host has used according to the journaled messages.
	Used effect.HostUsage
	// History is the exchange's history; nil means that the exchange fails if its process is lost.
	// Hosts works on a copy: it records a message when it delivers the message, whereas the caller
	// records a message when the journal contains it.
	History *continuity.History
}

// Resume continues a run with the processes that the keeper holds. It must be called once, before
// any request. If the process of an exchange was lost together with its keeper or machine, another
// process continues the exchange if the host can continue its session; otherwise the exchange fails
// with the code "lost". The error is keeper.ErrFenced or explains why the keeper cannot be reached.
func (h *Hosts) Resume(ctx context.Context, open []Open) error {
	k := h.opts.Keeper
	all, err := k.Attach()
	absent := errors.Is(err, keeper.ErrNone)
	if err != nil && !absent {
		return err
	}
	reachable := slices.Clone(all)
	open = slices.Clone(open)
	for i := range open {
		open[i].History = open[i].History.Clone()
	}
	h.mu.Lock()
	for name := range h.pools {
		h.processCounts[name] = int(k.Last(name))
	}
	for _, o := range open {
		h.lastID = max(h.lastID, o.ID)
	}
	h.mu.Unlock()
	slices.SortFunc(all, func(a, b keeper.Process) int { return int(a.K - b.K) })
	for i := range open {
		if o := &open[i]; o.Opened != nil && !hasLaterExchange(o, all) {
			all = h.restoreExchange(o, all)
		}
	}
	for i := range all {
		if !h.adoptProcess(&all[i], open) { // its keeper was lost after Attach
			absent = true
			reachable = slices.DeleteFunc(reachable, func(p keeper.Process) bool { return p.ID == all[i].ID })
		}
	}
	for i := range open {
		if o := &open[i]; absent && o.Opened == nil && !h.isClaimed(o) && h.mayHaveBeenPrompted(o, reachable) {
			h.fenced = append(h.fenced, digestRequest(o.Request))
		}
	}
	if h.opts.Budget != nil {
		return h.opts.Budget.Resumed()
	}
	return nil
}

// hasLaterExchange reports whether the exchange's process has begun a later exchange. In that case
// the exchange o was closed, and the run was killed before it journaled the close.
func hasLaterExchange(o *Open, all []keeper.Process) bool {
	return slices.ContainsFunc(all, func(p keeper.Process) bool {
		return p.ID == keeper.ID{Host: o.Request.Host, K: o.Opened.Process} && exchangeCount(&p) > o.Opened.Turn
	})
}

// exchangeCount returns how many exchanges a process has begun.
func exchangeCount(p *keeper.Process) (turn int64) {
	for _, e := range p.Script {
		var n lineNote
		if json.Unmarshal(e.Note, &n) == nil && n.Begun != nil { // written by this package
			turn = max(turn, n.Begun.Turn)
		}
	}
	return turn
}

// restoreExchange restores an open exchange, and returns the processes in all that do not belong to
// it.
func (h *Hosts) restoreExchange(o *Open, all []keeper.Process) []keeper.Process {
	pool := h.pools[o.Request.Host]
	if pool == nil {
		return all // the program has changed: its next request for this exchange fails
	}
	ex := pool.newRestoredExchange(o.Request, o.Key)
	ex.resumeMeter(o)
	at := slices.IndexFunc(all, func(p keeper.Process) bool {
		return p.ID == keeper.ID{Host: o.Request.Host, K: o.Opened.Process}
	})
	next := findSuccessor(all, o)
	if next >= 0 {
		at = next
	}
	var r *restoredProcess
	if at >= 0 {
		r = pool.restoreProcess(&all[at], o.History.LastLineOf(o.Line, all[at].K))
		all = slices.Delete(all, at, at+1)
	}
	began := o.Since
	switch {
	case r == nil:
		ex.dir = h.lostDir(pool, o.Key)
		h.restoreLost(ex, o)
	case next >= 0 && (r.lastBegin == nil || !o.History.Matches(r.lastBegin.predecessor())):
		ex.dir = r.process.dir
		r.process.retire(0) // the process was about to continue the exchange
		r.markIdle()
		r.process.startIO()
		h.restoreLost(ex, o)
	case next < 0 && (r.lastBegin == nil || r.lastBegin.Turn != o.Opened.Turn):
		ex.trackHistory(o.History)
		// The keeper has not received the prompt.
		ex.slot.proc, ex.proc, ex.dir = r.process, r.process, r.process.dir
		r.markIdle()
		r.process.keeper.exchanges.Store(o.Opened.Turn - 1)
		r.process.startIO()
		unsent := ex.restoreTurns(o, []lineNote{})
		r.process.beginExchange(ex.inbox, digestRequest(o.Request), ex.promptFor(r.process))
		ex.resendMessages(unsent)
	default:
		began = r.lastBegin.At
		r.continueExchange(ex, o)
	}
	if o.Over || len(o.History.EndedTurns().Prompts) > 0 {
		began = time.Time{} // gates may have run in between, which do not count
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addRestored(ex, o.ID, began)
	return all
}

// newRestoredExchange returns an exchange that an earlier Concerto process opened. The exchange has
// a slot.
func (pl *pool) newRestoredExchange(r *effect.ExchangeOpen, key string) *exchange {
	pl.mu.Lock()
	s := &slot{pool: pl} // the pool has too few slots because fewer instances are configured than before
	if at := slices.IndexFunc(pl.free, func(s *slot) bool { return s.proc == nil }); at >= 0 {
		s = pl.free[at]
		pl.free = slices.Delete(pl.free, at, at+1)
	}
	pl.mu.Unlock()
	ex := &exchange{pool: pl, slot: s, inbox: newInbox(), request: r, prompt: pl.cfg.promptWith(r, promptOptions{withTools: pl.cfg.SendTools, key: key}), key: key, acquireSpec: specOf(r), life: newLifetime(), stopInterrupt: func() bool { return false }}
	ex.inbox.turns.request, ex.inbox.exchange = r, ex
	return ex
}

// addRestored adds an exchange under its number, with the time that remains until its timeout. If
// began is zero, the timeout starts again. The caller must hold the hosts' lock.
func (h *Hosts) addRestored(ex *exchange, id int64, began time.Time) {
	left := ex.pool.cfg.timeout()
	if !began.IsZero() {
		left = max(0, left-max(0, time.Since(began)))
	}
	ex.id = id
	h.exchanges[id] = ex
	ex.startTimers(left)
}

// adoptProcess adopts a process that has no open exchange: the process is idle, or its exchange was
// abandoned, or the program will open its exchange again. It returns false if the process cannot be
// reached.
func (h *Hosts) adoptProcess(remaining *keeper.Process, open []Open) bool {
	pool := h.pools[remaining.Host]
	if pool == nil {
		h.endRemovedHost(remaining)
		return true
	}
	r := pool.restoreProcess(remaining, 0)
	if r == nil {
		return false
	}
	if r.lastBegin != nil && !r.exchangeDone && r.lastBegin.Revived == nil {
		for i := range open {
			o := &open[i]
			if o.Opened == nil && o.Request.Host == remaining.Host && digestRequest(o.Request) == r.lastBegin.Open && !h.isClaimed(o) {
				ex := pool.newRestoredExchange(o.Request, o.Key)
				ex.resumedFrom = o
				ex.resumeMeter(o)
				ex.openedAt = r.lastBegin.At
				r.continueExchange(ex, &Open{Request: o.Request, History: o.History})
				h.mu.Lock()
				h.resumed = append(h.resumed, ex)
				h.mu.Unlock()
				return true
			}
		}
	}
	r.process.dir.endExchange()
	r.markIdle()
	r.process.startIO()
	if !r.ready || r.process.dir != nil || r.lastBegin != nil && !r.exchangeDone || remaining.Exit != nil || !pool.addRestored(r.process) {
		r.process.retire(0)
	}
	return true
}

// isClaimed reports whether a process was found for an exchange that the program will open again.
func (h *Hosts) isClaimed(o *Open) bool {
	return slices.ContainsFunc(h.resumed, func(ex *exchange) bool { return ex.resumedFrom == o })
}

// addRestored puts an idle process into a free slot. It returns false if no slot is free.
func (pl *pool) addRestored(p *process) bool {
	pl.mu.Lock()
	defer pl.mu.Unlock()
	at := slices.IndexFunc(pl.free, func(s *slot) bool { return s.proc == nil })
	if at < 0 {
		return false
	}
	pl.free[at].proc = p
	pl.free[at].startIdleTimer()
	return true
}

// endRemovedHost ends a process whose host the program no longer declares.
func (h *Hosts) endRemovedHost(remaining *keeper.Process) {
	if conn, err := h.opts.Keeper.Connect(remaining.ID, 0, 0, nil); err == nil {
		conn.End(0, nil)
	}
}

// claimResumed returns the exchange that an earlier Concerto process began for the same request, or
// nil.
func (h *Hosts) claimResumed(r *effect.ExchangeOpen) *exchange {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := slices.IndexFunc(h.resumed, func(ex *exchange) bool { return digestRequest(ex.request) == digestRequest(r) })
	if at < 0 {
		return nil
	}
	ex := h.resumed[at]
	h.resumed = slices.Delete(h.resumed, at, at+1)
	h.lastID++
	h.addRestored(ex, h.lastID, ex.openedAt)
	return ex
}

// restoredProcess is a process under a keeper whose state is being restored.
type restoredProcess struct {
	process        *process
	script         []keeper.Entry
	notes          []lineNote
	lastBegin      *beginNote              // the exchange that the process began last; nil if none
	lastBeginIndex int                     // index of lastBegin in the script
	lineCount      int64                   // number of lines in the output
	predecessor    *continuity.Predecessor // exchange of a lost process that this process continues; nil if none
	exchangeDone   bool                    // lastBegin's exchange has ended
	ready          bool                    // the process is initialised, or needs no initialisation
	ended          bool
}

// restoreProcess connects to a process under a keeper. It returns nil if the connection fails. line
// is the number of the last journaled line.
func (pl *pool) restoreProcess(remaining *keeper.Process, line int64) *restoredProcess {
	id, note := remaining.ID, parseSpawnNote(remaining.Note)
	h := pl.hosts
	p := newProcess(h, pl.cfg)
	attached := make(chan struct{})
	defer close(attached)
	conn, err := h.opts.Keeper.Connect(id, pl.firstLine(line, &note), pl.cfg.MaxLine, p.stderrSink(attached))
	if err != nil || !h.trackRunning() {
		return nil
	}
	now := conn.Opened()
	p.number = int(id.K)
	r := &restoredProcess{process: p, script: now.Script, lineCount: now.Lines, predecessor: note.Of, ended: now.Exit != nil}
	if err := r.prepareFromNote(pl.cfg, now.Note); err != nil {
		conn.End(0, nil)
		h.running.Done()
		return nil
	}
	p.setConn(keeperConn{conn})
	h.registerProcess(p)
	r.readScript(pl.cfg)
	return r
}

// prepareFromNote restores the configuration and state with which the process was started.
func (r *restoredProcess) prepareFromNote(c *Config, text []byte) error {
	var note spawnNote
	if err := json.Unmarshal(text, &note); err != nil {
		return err
	}
	if note.Work != nil {
		own := *c
		own.Dir, own.Original = note.Work.Path, c.Dir
		r.process.cfg = &own
		if err := r.restoreWorkDir(c, note.Work); err != nil {
			r.process.hosts.logf("warn", c, "works in a directory that is not available: %v", err)
		}
	}
	r.process.box, r.process.seed = note.Box, note.Seed
	return r.process.prepareAdapter(acquireSpec{session: note.Session, start: startSpec{note.Tools, note.Schema}, bridgePath: note.Bridge})
}

// restoreWorkDir restores the directory in which the process works.
func (r *restoredProcess) restoreWorkDir(c *Config, n *workNote) (err error) {
	p := r.process
	if n.Named {
		p.workspace = n.Name
	}
	switch {
	case p.hosts.opts.Directories == nil:
		return nil
	case n.Named:
		p.workDir, err = p.hosts.opts.Directories.Use(context.Background(), n.Name)
		return err
	}
	p.dir = p.hosts.pools[c.Name].newExchangeDir("")
	if p.dir == nil {
		return nil // the manifest has changed
	}
	p.dir.addProcess(p)
	err = p.dir.adopt(n.Name)
	p.workDir = p.dir.dir
	return err
}

// lostDir returns the directory of an exchange whose process was lost, or nil.
func (h *Hosts) lostDir(pl *pool, key string) *exchangeDir {
	d := pl.newExchangeDir(key)
	if d == nil || h.opts.Directories == nil {
		return d
	}
	if name := pl.workDirs.find(d, ""); name != "" {
		if err := d.adopt(name); err != nil {
			h.logf("warn", pl.cfg, "worked in a directory that is not available: %v", err)
		}
	}
	return d
}

// parseSpawnNote parses the note that was stored when a process started.
func parseSpawnNote(text []byte) (note spawnNote) {
	_ = json.Unmarshal(text, &note) // this package has written the note; prepareFromNote checks it
	return note
}

// firstLine returns the number of the first output line that is needed.
func (pl *pool) firstLine(line int64, note *spawnNote) int64 {
	switch {
	case pl.cfg.protocol().New != nil, note.Of != nil:
		return 1
	case line > 0:
		return line + 1
	}
	return 0
}

// readScript derives the state of the process from the stored script.
func (r *restoredProcess) readScript(c *Config) {
	first, _ := c.initLine(r.process.hosts.opts.Environ, nil)
	r.ready = first == nil
	r.notes = make([]lineNote, len(r.script))
	for i, e := range r.script {
		n := &r.notes[i]
		_ = json.Unmarshal(e.Note, n) // this package has written the note
		switch {
		case n.Begun != nil:
			r.lastBegin, r.lastBeginIndex, r.exchangeDone, r.ready = n.Begun, i, false, true
			r.process.keeper.exchanges.Store(n.Begun.Turn)
		case n.Ack != "":
			r.ready = true
			r.process.announced.parseAck([]byte(n.Ack), r.process.translation != nil)
			r.process.reader.hasSpoken.Store(true)
		case n.Session != "":
			r.process.session.Store(&n.Session)
		case n.Rest != nil:
			r.exchangeDone, r.ready = true, true
			r.process.lifecycle.release(n.Rest.Served)
			r.process.reader.hasSpoken.Store(n.Rest.Spoken)
		}
	}
	if r.process.keeper.exchanges.Load() > 1 {
		r.process.lifecycle.release(true)
	}
}

// continueExchange restores an exchange that the process is serving.
func (r *restoredProcess) continueExchange(ex *exchange, o *Open) {
	p := r.process
	ex.proc, ex.slot.proc, ex.dir = p, p, p.dir
	sums := map[string]int{}
	for _, n := range r.notes[r.lastBeginIndex+1:] {
		if n.Sum != "" && n.Steer == nil { // messages to the running exchange have keys
			sums[n.Sum]++
		}
	}
	missing := r.undeliveredReplies(o, sums) // replies that the process has not received
	for sum, n := range sums {
		for range n {
			p.keeper.sent.addDigest(sum)
		}
	}
	t := &segment{inbox: ex.inbox, offset: r.lastBegin.Since, requestDigest: r.lastBegin.Open}
	if v := r.lastBegin.Revived; v != nil {
		t.handover = continuity.RestoreHandover(*v)
		ex.handover, ex.wasLost = t.handover, true
	}
	p.lifecycle.assign(ex.inbox, func() (promptAt int64) {
		p.lifecycle.segment.Store(t)
		p.silence.resetForExchange()
		return -1
	})
	ex.trackHistory(o.History)
	if t.handover != nil {
		p.setSession(o.History.SessionName())
	} else {
		p.setSession(ex.session)
	}
	p.reader.hasSpoken.Store(p.reader.hasSpoken.Load() || o.Line > 0)
	journaled := o.History.LastLineOf(o.Line, int64(p.number))
	ex.inbox.lastLine = journaled
	unsent := ex.restoreTurns(o, r.notes[r.lastBeginIndex:])
	prompt := ex.inbox.turns.currentPrompt() // before the reader handles the end of the turn
	p.requests.ids = o.History.OpenRequests()
	t.ended = o.Over && p.cfg.background() == adapter.BackgroundDetach // what follows is not handled by the exchange
	r.replayAdapter(t, journaled)
	r.skipJournaled(t, journaled)
	if t.handover != nil {
		t.handover.MarkAnswered(o.Replies, missing)
	}
	if o.Over {
		t.ended, p.reader.sawTerminal = true, true
		ex.inbox.markTerminal()
		ex.inbox.endLastTurn()
	}
	p.startIO()
	p.stages.requestReading()
	if !o.Over {
		ex.resendPrompt(p, prompt, r.notes[r.lastBeginIndex:])
	}
	for _, reply := range missing {
		ex.tryReply(reply, continuity.AppendReply(nil, reply))
	}
	ex.resendMessages(unsent)
}

// resendMessages sends journaled messages that the keeper has not received.
func (ex *exchange) resendMessages(unsent []Steered) {
	for i := range unsent {
		_, _ = ex.addMessage(unsent[i].note(), nil) // fails if the exchange has ended, and then no turn needs the message
	}
}

// markIdle restores a process that serves no exchange.
func (r *restoredProcess) markIdle() {
	in := newInbox()
	in.discardAll()
	t := &segment{inbox: in, ended: true}
	r.process.lifecycle.segment.Store(t)
	r.replayAdapter(t, 0)
	r.skipJournaled(t, r.lineCount)
	if r.process.bridgeEntry != nil || r.process.cfg.background() == adapter.BackgroundDetach {
		r.process.stages.requestReading() // the clients of the tool bridge, and requests of detached work, are answered
	}
}
