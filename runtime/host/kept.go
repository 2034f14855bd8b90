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

// keeperSpec is the configuration with which the keeper runs a new process.
type keeperSpec struct {
	client *keeper.Client
	number int64 // number of the process among its host's
	whole  bool  // the keeper must store the whole output, because the adapter's state depends on all of it
	// bridge is the path of the process's bridge to the tools; "" if it has none.
	bridge string
	note   []byte
}

// newKeeperSpec returns the keeperSpec for the process of an exchange, or nil without a keeper.
func (p *process) newKeeperSpec(w acquireSpec) *keeperSpec {
	if p.hosts.opts.Keeper == nil {
		return nil
	}
	n := spawnNote{Session: w.session, Tools: w.tools, Of: w.predecessor, Bridge: p.bridgeEntry.Path()}
	if p.workDir != nil {
		n.Work = &workNote{p.workDir.Name, p.workDir.Path, p.workDir.Branch}
	}
	return &keeperSpec{client: p.hosts.opts.Keeper, number: int64(p.number), whole: p.translation != nil || w.predecessor != nil, bridge: n.Bridge, note: jsonwrite.MustEncode(n)}
}

// spawnNote is the note that the keeper stores when a process starts.
type spawnNote struct {
	Session string        `json:"session,omitempty"`
	Tools   adapter.Tools `json:"tools,omitempty"`
	Work    *workNote     `json:"work,omitempty"`
	Bridge  string        `json:"bridge,omitempty"`
	// Of is the exchange that the process continues; nil if it begins one.
	Of *predecessor `json:"of,omitempty"`
}

type workNote struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"`
}

// workspaceDir returns the directory that the process works in.
func (w *workNote) workspaceDir(at workspace.Place) *workspace.Dir {
	return workspace.Reopen(w.Name, w.Path, w.Branch, at)
}

// start starts a process through the keeper.
func (k *keeperSpec) start(c *Config, s *Surroundings, path string) (Conn, error) {
	conn, err := k.client.Start(keeper.Spec{ID: keeper.ID{Host: c.Name, K: k.number}, Path: path, Args: c.Args, Env: s.Env, Dir: c.Dir, Limits: c.Limits,
		LongLine: c.MaxLine, Bridge: k.bridge, Whole: k.whole, Note: k.note}, s.Stderr)
	switch {
	case errors.Is(err, keeper.ErrLost):
		return nil, c.lostError()
	case err != nil:
		return nil, c.spawnError(err)
	}
	return keeperConn{conn}, nil
}

// keeperConn is the connection to a kept process.
type keeperConn struct{ *keeper.Conn }

func (c keeperConn) Exit() Exit {
	e := c.Conn.Exit()
	return Exit{Code: e.Code, Stderr: e.Stderr, Limit: e.Limit}
}

// lineFrame is the header of a line that is sent to a kept process.
type lineFrame struct {
	kind     keeper.Kind // 0 means KindSay
	lastLine int64       // the last line that the adapter had received
	note     *lineNote
	sides    []keeper.Side
}

// lineNote is stored by the keeper with a line, for a process that resumes the run.
type lineNote struct {
	Ours  string     `json:"ours,omitempty"` // the line in our protocol, if it was translated
	Sum   string     `json:"sum,omitempty"`  // digest of the line in our protocol
	Begun *beginNote `json:"begun,omitempty"`
	// Ack, Session and Rest are notes without a line. Ack is the line with which the process
	// acknowledged its initialisation, Session the session that it reported, and Rest is set if its
	// exchange ended.
	Ack     string    `json:"ack,omitempty"`
	Session string    `json:"session,omitempty"`
	Rest    *restNote `json:"rest,omitempty"`
	Request int64     `json:"errand,omitempty"` // number of the agent's request that the line answers
}

// beginNote is stored with the prompt of an exchange.
type beginNote struct {
	Turn  int64     `json:"turn"`  // number of the process's exchanges, including this one
	Open  string    `json:"open"`  // digest of the opening request
	At    time.Time `json:"at"`    // wall-clock time
	Since int64     `json:"since"` // see segment.offset
	// Revived describes the lost process's exchange that this one continues.
	Revived *handoverNote `json:"revived,omitempty"`
}

// predecessor returns the exchange that this one continues, or nil.
func (n *beginNote) predecessor() *predecessor {
	if n.Revived == nil {
		return nil
	}
	return &n.Revived.predecessor
}

type restNote struct {
	Served bool `json:"served"`
	Spoken bool `json:"spoken"` // the process has sent a message
}

// keeperExchange is the part of an exchange that is used when a keeper runs the process.
type keeperExchange struct {
	deliveredLine atomic.Int64 // number of the last line that the program has received
	resumedFrom   *Open        // set if an earlier process began the exchange and this one has not opened it
	openedAt      time.Time
	history       *History // nil if no other process can continue the exchange
	// nil while the exchange is with its first process; guarded by the exchange's lock
	handover *handover
}

// keeperState is the part of a process that is used when a keeper runs it.
type keeperState struct {
	conn      *keeper.Conn // nil if the process is not kept
	exchanges atomic.Int64 // number of exchanges begun
	sent      sentLines
}

// frameLine adds the keeper's header to a line.
func (p *process) frameLine(l line) line {
	f := l.frame
	if f.kind == 0 {
		f.kind = keeper.KindSent
	}
	if f.note == nil {
		f.note = &lineNote{}
	}
	if p.translation == nil && l.size() > 0 && f.note.Sum == "" {
		f.note.Sum = l.digest()
	}
	head := p.keeper.conn.Frame(f.kind, f.lastLine, jsonwrite.MustEncode(f.note), f.sides, l.size())
	out := line{short: append(head, l.short...), long: make([]longPart, len(l.long))}
	for i, s := range l.long {
		s.offset += len(head)
		out.long[i] = s
	}
	return out
}

// digest returns a hash of the line.
func (l *line) digest() string {
	h := sha256.New()
	_ = l.eachPiece(func(piece []byte) error { h.Write(piece); return nil }) // never fails
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// requestDigest returns the digest of an opening request, or "" if the process is not kept.
func (c *keeperState) requestDigest(r *effect.ExchangeOpen) string {
	if c.conn == nil {
		return ""
	}
	return digestRequest(r)
}

// digestRequest returns the digest of an opening request.
func digestRequest(r *effect.ExchangeOpen) string {
	text, err := json.Marshal(r)
	if err != nil {
		panic("host: an opening request cannot be encoded: " + err.Error())
	}
	l := line{short: text}
	return l.digest()
}

// frameTranslated returns the header of the adapter's translation of our line. The caller must hold
// the adapter's lock.
func (p *process) frameTranslated(f lineFrame, ours []byte) lineFrame {
	if p.keeper.conn == nil {
		return f
	}
	if f.note == nil {
		f.note = &lineNote{}
	}
	l := line{short: ours}
	f.note.Ours, f.lastLine = string(ours), p.translation.lastLine
	if f.note.Sum == "" {
		f.note.Sum = l.digest()
	}
	return f
}

// frameBegin returns the header of the first line of a segment.
func (c *keeperState) frameBegin(t *segment) lineFrame {
	if t.isInit {
		return lineFrame{kind: keeper.KindPinned}
	}
	n := &beginNote{Turn: c.exchanges.Add(1), Open: t.requestDigest, At: time.Now(), Since: t.offset}
	if t.handover != nil {
		n.Revived = &t.handover.note
	}
	return lineFrame{kind: keeper.KindBegin, note: &lineNote{Begun: n}}
}

// writeNote stores a note about the process in the keeper.
func (p *process) writeNote(kind keeper.Kind, n lineNote) {
	if p.keeper.conn == nil {
		return
	}
	f := lineFrame{kind: kind, note: &n}
	if t := p.translation; t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		f.lastLine = t.lastLine
	}
	p.out.enqueueLine(line{frame: f}, true)
}

// noteAck stores the acknowledgement in the keeper, because no journal contains it.
func (p *process) noteAck(line []byte) {
	if p.translation == nil {
		p.writeNote(keeper.KindPinned, lineNote{Ack: string(line)})
	}
}

// noteSession stores the session that the process reported.
func (p *process) noteSession(name string) {
	if p.translation == nil {
		p.writeNote(keeper.KindPinned, lineNote{Session: name})
	}
}

// noteRest stores that the process's exchange ended.
func (p *process) noteRest(served bool) {
	p.writeNote(keeper.KindNote, lineNote{Rest: &restNote{served, p.reader.hasSpoken.Load()}})
}

// ackJournaled notifies the keeper, with some delay, that the lines up to the given one are in the
// run's journal.
func (ex *exchange) ackJournaled(line int64) {
	if p := ex.currentProcess(); p != nil && p.keeper.conn != nil && line > 0 {
		p.keeper.conn.AckSoon(line)
	}
}

// AckJournaled notifies the keeper that the exchange's lines up to the given one are in the run's
// journal. The keeper limits the lines that are not, so durable runs call it after each group that
// they write. A reply to an exchange, and its close, acknowledge all lines that the program has
// received.
func (h *Hosts) AckJournaled(exchange, line int64) {
	if ex, err := h.lookupExchange(exchange); err == nil {
		ex.ackJournaled(line)
	}
}

// Suspend leaves the processes to the keeper: further requests fail with ErrClosed, and Close ends
// no process. Without a keeper it does nothing.
func (h *Hosts) Suspend() {
	if h.opts.Keeper == nil {
		return
	}
	h.suspended.Store(true)
	h.opts.Keeper.Leave()
}

// dropUnread discards the unread output of a process that was ended, which may be large, unless a
// trace needs it.
func (p *process) dropUnread() {
	if p.keeper.conn != nil && p.hosts.opts.Trace == nil {
		p.keeper.conn.Drop()
	}
}

// sentLines counts the lines that a kept process received before a restart. If the run produces
// such a line again, it is not sent again.
type sentLines struct {
	mu     sync.Mutex
	counts map[string]int // by digest
}

func (r *sentLines) addDigest(sum string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[sum]++
}

// takeDigest reports whether a line was sent, and removes it from the counts. For a line that was
// sent twice it returns true twice.
func (r *sentLines) takeDigest(sum string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts[sum] == 0 {
		return false
	}
	if r.counts[sum]--; r.counts[sum] == 0 {
		delete(r.counts, sum)
	}
	return true
}

// hasDigest reports whether a line was sent.
func (r *sentLines) hasDigest(sum string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.counts[sum] > 0
}

func (r *sentLines) isEmpty() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.counts) == 0
}

// alreadySent reports whether the process received the line before the restart.
func (c *keeperState) alreadySent(l *line) bool {
	return c.conn != nil && l.frame.kind == 0 && !c.sent.isEmpty() && c.sent.takeDigest(l.digest())
}
