package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/keeper"
	"github.com/concerto-lang/concerto/runtime/workspace"
)

// keeping says how a new process is kept by the run's keeper.
type keeping struct {
	by    *keeper.Client
	k     int64 // the how-manieth of its host it is
	whole bool  // all that it says makes its state here
	// bridge is the path of its bridge to the tools; "": it has none.
	bridge string
	note   []byte
}

// keeping is what the process of an exchange is kept by; nil: by nobody.
func (p *process) keeping(w wish) *keeping {
	if p.hosts.opts.Keeper == nil {
		return nil
	}
	n := spawned{Session: w.session, Tools: w.tools, Of: w.of, Bridge: p.entry.Path()}
	if p.work != nil {
		n.Work = &workNote{p.work.Name, p.work.Path, p.work.Branch}
	}
	return &keeping{by: p.hosts.opts.Keeper, k: int64(p.number), whole: p.words != nil || w.of != nil, bridge: n.Bridge, note: jsonwrite.MustEncode(n)}
}

// spawned is what is noted of a process when it is started.
type spawned struct {
	Session string        `json:"session,omitempty"`
	Tools   adapter.Tools `json:"tools,omitempty"`
	Work    *workNote     `json:"work,omitempty"`
	Bridge  string        `json:"bridge,omitempty"`
	// Of is the exchange that it is to go on with; nil: it begins one of its own.
	Of *predecessor `json:"of,omitempty"`
}

type workNote struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"`
}

// dir is the directory that the process works in; nil without one of its own.
func (w *workNote) dir(at workspace.Place) *workspace.Dir {
	return workspace.Kept(w.Name, w.Path, w.Branch, at)
}

// start starts a process that is kept.
func (k *keeping) start(c *Config, s *Surroundings, path string) (Conn, error) {
	conn, err := k.by.Start(keeper.Spec{ID: keeper.ID{Host: c.Name, K: k.k}, Path: path, Args: c.Args, Env: s.Env, Dir: c.Dir, Limits: c.Limits,
		LongLine: c.MaxLine, Bridge: k.bridge, Whole: k.whole, Note: k.note}, s.Stderr)
	switch {
	case errors.Is(err, keeper.ErrLost):
		return nil, c.lost()
	case err != nil:
		return nil, c.spawnFailure(err)
	}
	return keptConn{conn}, nil
}

// keptConn is the connection to a process that is kept.
type keptConn struct{ *keeper.Conn }

// Exit says how the process ended.
func (c keptConn) Exit() Exit {
	e := c.Conn.Exit()
	return Exit{Code: e.Code, Stderr: e.Stderr, Limit: e.Limit}
}

// framing is what stands before a line that is sent to a process which is kept.
type framing struct {
	kind  keeper.Kind // 0: KindSay
	heard int64       // the line that the adapter had heard last
	note  *lineNote
	sides []keeper.Side
}

// lineNote is what is noted of a line that was sent, for whoever goes on with the process.
type lineNote struct {
	Ours    string     `json:"ours,omitempty"` // the line in our words, where the process has others
	Sum     string     `json:"sum,omitempty"`  // of the line in our words
	Begun   *begunNote `json:"begun,omitempty"`
	Ack     string     `json:"ack,omitempty"`     // nothing was sent: it has acknowledged its initialisation by this line,
	Session string     `json:"session,omitempty"` // or has named its conversation,
	Rest    *restNote  `json:"rest,omitempty"`    // or its exchange is over
	Errand  int64      `json:"errand,omitempty"`  // it answers this one
}

// begunNote is of the prompt of an exchange.
type begunNote struct {
	Turn  int64     `json:"turn"`  // how many exchanges the process has had, with this one
	Open  string    `json:"open"`  // the sum of what was asked for
	At    time.Time `json:"at"`    // by the clock on the wall
	Since int64     `json:"since"` // see turn
	// Revived is of an exchange that another process had, which is lost.
	Revived *revivalNote `json:"revived,omitempty"`
}

// predecessor is the exchange that the turn goes on with; nil: it began one.
func (n *begunNote) predecessor() *predecessor {
	if n.Revived == nil {
		return nil
	}
	return &n.Revived.predecessor
}

type restNote struct {
	Served bool `json:"served"`
	Spoken bool `json:"spoken"` // it has sent a message
}

// keptExchange is what an exchange has where processes are kept.
type keptExchange struct {
	given   atomic.Int64 // the last line that the program has had
	opening *Open        // as which it was begun before this process, and is yet to be opened
	began   time.Time    // when that was
	course  *Course      // nil: no other process can go on with it
	again   *revival     // nil: it is with its first process; under the exchange's lock
}

// custody is what a process has because it is kept.
type custody struct {
	conn   *keeper.Conn // nil: it is not
	begun  atomic.Int64 // exchanges
	repeat repeats
}

// framed is a line as it is sent to a process that is kept.
func (p *process) framed(l line) line {
	f := l.frame
	if f.kind == 0 {
		f.kind = keeper.KindSay
	}
	if f.note == nil {
		f.note = &lineNote{}
	}
	if p.words == nil && l.size() > 0 && f.note.Sum == "" {
		f.note.Sum = l.sum()
	}
	head := p.kept.conn.Frame(f.kind, f.heard, jsonwrite.MustEncode(f.note), f.sides, l.size())
	out := line{short: append(head, l.short...), long: make([]stretch, len(l.long))}
	for i, s := range l.long {
		s.at += len(head)
		out.long[i] = s
	}
	return out
}

// sum is what tells a line from others.
func (l *line) sum() string {
	h := sha256.New()
	_ = l.each(func(piece []byte) error { h.Write(piece); return nil }) // nothing fails
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// opens is the sum of what an exchange is opened with, where the process is kept.
func (c *custody) opens(r *effect.ExchangeOpen) string {
	if c.conn == nil {
		return ""
	}
	return sumOf(r)
}

// sumOf is the sum of what an exchange is opened with.
func sumOf(r *effect.ExchangeOpen) string {
	text, err := json.Marshal(r)
	if err != nil {
		panic("host: what an exchange is opened with is no JSON: " + err.Error())
	}
	l := line{short: text}
	return l.sum()
}

// saying is the framing of what a line of ours became in the words of an adapter. Who calls it has the adapter.
func (p *process) saying(f framing, ours []byte) framing {
	if p.kept.conn == nil {
		return f
	}
	if f.note == nil {
		f.note = &lineNote{}
	}
	l := line{short: ours}
	f.note.Ours, f.heard = string(ours), p.words.heard
	if f.note.Sum == "" {
		f.note.Sum = l.sum()
	}
	return f
}

// beginning is the framing of the first line of a turn.
func (c *custody) beginning(t *turn) framing {
	if t.one {
		return framing{kind: keeper.KindPinned}
	}
	n := &begunNote{Turn: c.begun.Add(1), Open: t.opens, At: time.Now(), Since: t.since}
	if t.again != nil {
		n.Revived = &t.again.note
	}
	return framing{kind: keeper.KindBegin, note: &lineNote{Begun: n}}
}

// keep notes something of a process that is kept.
func (p *process) keep(kind keeper.Kind, n lineNote) {
	if p.kept.conn == nil {
		return
	}
	f := framing{kind: kind, note: &n}
	if t := p.words; t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		f.heard = t.heard
	}
	p.out.put(line{frame: f}, true)
}

// keepAck notes that the process has acknowledged its initialisation. What it has said so far nobody
// else writes down.
func (p *process) keepAck(line []byte) {
	if p.words == nil {
		p.keep(keeper.KindPinned, lineNote{Ack: string(line)})
	}
}

// keepSession notes how the process calls the conversation.
func (p *process) keepSession(name string) {
	if p.words == nil {
		p.keep(keeper.KindPinned, lineNote{Session: name})
	}
}

// keepRest notes that the process's exchange is over.
func (p *process) keepRest(served bool) {
	p.keep(keeper.KindNote, lineNote{Rest: &restNote{served, p.read.spoken.Load()}})
}

// journaled tells the keeper, at times, that the lines up to one are in the run's journal.
func (ex *exchange) journaled(line int64) {
	if p := ex.process(); p != nil && p.kept.conn != nil && line > 0 {
		p.kept.conn.AckSoon(line)
	}
}

// Journaled says that the lines of an exchange up to one are in the run's journal: the keeper holds
// only so much of what is not (durable runs call it after each group that they have written). A reply to an exchange,
// and its end, say that of all that the program has had.
func (h *Hosts) Journaled(exchange, line int64) {
	if ex, err := h.exchange(exchange); err == nil {
		ex.journaled(line)
	}
}

// Suspend leaves the processes to their keeper: what is asked from now on gives ErrClosed, and Close ends none of them. Without
// a keeper it does nothing.
func (h *Hosts) Suspend() {
	if h.opts.Keeper == nil {
		return
	}
	h.left.Store(true)
	h.opts.Keeper.Leave()
}

// dropKept leaves unread what a process that was ended has said and nobody wants: of one that is kept that may be
// much. A trace has it all the same.
func (p *process) dropKept() {
	if p.kept.conn != nil && p.hosts.opts.Wire == nil {
		p.kept.conn.Drop()
	}
}

// repeats are lines that the process has from before: who makes them again does not send them.
type repeats struct {
	mu  sync.Mutex
	all map[string]int // how often, by their sums
}

// add notes that a line was sent.
func (r *repeats) add(sum string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[string]int{}
	}
	r.all[sum]++
}

// take says whether a line was sent, once for each time that it was.
func (r *repeats) take(sum string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all[sum] == 0 {
		return false
	}
	if r.all[sum]--; r.all[sum] == 0 {
		delete(r.all, sum)
	}
	return true
}

// has says whether a line was sent.
func (r *repeats) has(sum string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[sum] > 0
}

func (r *repeats) none() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all) == 0
}

// repeated says that the process has a line already.
func (c *custody) repeated(l *line) bool {
	return c.conn != nil && l.frame.kind == 0 && !c.repeat.none() && c.repeat.take(l.sum())
}
