package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/process/sandbox"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/continuity"
	"github.com/concerto-lang/concerto/runtime/keeper"
)

// keeperSpec is the configuration with which the keeper starts a new process.
type keeperSpec struct {
	client *keeper.Client
	number int64 // number of the process among the processes of its host
	whole  bool  // the keeper must store all output lines, because the adapter's state depends on them
	// path of the process's bridge to the tools; "" without a bridge
	bridge      string
	confinement *sandbox.Confinement // nil without a sandbox
	note        []byte
}

// newKeeperSpec returns the keeperSpec for the process of an exchange. It returns nil if the run
// has no keeper.
func (p *process) newKeeperSpec(w acquireSpec) *keeperSpec {
	if inPage || p.hosts.opts.Keeper == nil {
		return nil
	}
	n := spawnNote{Session: w.session, Seed: p.seed, Tools: w.start.tools, Schema: w.start.schema, Of: w.predecessor, Bridge: p.bridgeEntry.Path(), Box: p.box}
	if p.workDir != nil {
		n.Work = &workNote{Named: p.workspace != ""}
		n.Work.Name, n.Work.Path, n.Work.Branch = p.workDir.Names()
	}
	return &keeperSpec{client: p.hosts.opts.Keeper, number: int64(p.number), whole: p.translation != nil || w.predecessor != nil, bridge: n.Bridge, confinement: p.box.confinement(), note: jsonwrite.MustEncode(n)}
}

// spawnNote is the note that the keeper stores when a process starts.
type spawnNote struct {
	Session string        `json:"session,omitempty"`
	Seed    string        `json:"seed,omitempty"` // of the adapter
	Tools   adapter.Tools `json:"tools,omitempty"`
	// Schema is that of the results, if it is fixed when the process starts.
	Schema json.RawMessage `json:"schema,omitempty"`
	Work   *workNote       `json:"work,omitempty"`
	Bridge string          `json:"bridge,omitempty"`
	Box    *box            `json:"sandbox,omitempty"`
	// Of is the exchange of a lost process that the new process continues, or nil.
	Of *continuity.Predecessor `json:"of,omitempty"`
}

type workNote struct {
	Name   string `json:"name"`
	Path   string `json:"path"`
	Branch string `json:"branch,omitempty"`
	Named  bool   `json:"named,omitempty"` // a workspace of the program
}

// start starts a process through the keeper.
func (k *keeperSpec) start(c *Config, s *Surroundings, path string) (Conn, error) {
	conn, err := k.client.Start(keeper.Spec{ID: keeper.ID{Host: c.Name, K: k.number}, Path: path, Args: c.Args, Env: s.Env, Dir: c.Dir, Limits: c.Bounds.process(),
		LongLine: c.MaxLine, Bridge: k.bridge, Sandbox: k.confinement, Whole: k.whole, Note: k.note}, s.Stderr)
	switch {
	case errors.Is(err, keeper.ErrLost):
		return nil, c.lostError()
	case err != nil:
		return nil, c.spawnError(err)
	}
	return keeperConn{conn}, nil
}

// keeperConn is the connection to a process that a keeper runs.
type keeperConn struct{ *keeper.Conn }

func (c keeperConn) Exit() Exit {
	e := c.Conn.Exit()
	return Exit{Code: e.Code, Stderr: e.Stderr, Limit: e.Limit}
}

// lineFrame is the header of a line that is sent to a process through the keeper.
type lineFrame struct {
	kind     keeper.Kind // 0 means KindSay
	lastLine int64       // number of the last host line that the adapter had received
	note     *lineNote
	sides    []keeper.Side
}

// lineNote is the note that the keeper stores with a line. A Concerto process that resumes the run
// reads it.
type lineNote struct {
	Ours  string     `json:"ours,omitempty"` // the line in our protocol, if it was translated
	Sum   string     `json:"sum,omitempty"`  // digest of the line in our protocol, or the key of a prompt
	Begun *beginNote `json:"begun,omitempty"`
	// Ack, Session and Rest are stored without a line. Ack is the line with which the process
	// acknowledged its initialisation. Session is the session that the process reported. Rest is
	// set when the process's exchange has ended.
	Ack     string    `json:"ack,omitempty"`
	Session string    `json:"session,omitempty"`
	Rest    *restNote `json:"rest,omitempty"`
	Request int64     `json:"errand,omitempty"` // number of the agent's request that the line answers
	// Steer is the message to the running exchange that the line sends or, without a line, a queued
	// message or the outcome of one.
	Steer *steerNote `json:"steer,omitempty"`
}

// beginNote is the note that is stored with the prompt of an exchange.
type beginNote struct {
	Turn  int64     `json:"turn"`  // number of the process's exchanges, including this one
	Open  string    `json:"open"`  // digest of the opening request
	At    time.Time `json:"at"`    // wall-clock time
	Since int64     `json:"since"` // see segment.offset
	// Revived describes the exchange of a lost process that this exchange continues; nil for none.
	Revived *continuity.HandoverNote `json:"revived,omitempty"`
	// Steered are the messages to the exchange before this process began it: those that wait for
	// a later turn are last, in order.
	Steered []steerNote `json:"steered,omitempty"`
}

// predecessor returns the exchange of a lost process that this exchange continues, or nil.
func (n *beginNote) predecessor() *continuity.Predecessor {
	if n.Revived == nil {
		return nil
	}
	return &n.Revived.Predecessor
}

type restNote struct {
	Served bool `json:"served"`
	Spoken bool `json:"spoken"` // the process has sent a message
}

// keeperExchange holds the fields of an exchange that are used when a keeper runs its process.
type keeperExchange struct {
	deliveredLine atomic.Int64 // number of the last line that the program has received
	resumedFrom   *Open        // set if an earlier Concerto process began the exchange and the program has not opened it again in this one
	openedAt      time.Time
	history       *continuity.History // nil if no other process can continue the exchange
	// A process of the exchange was lost before this Concerto process began: it may have received
	// messages whose effects are repeated.
	wasLost bool
	// nil while the exchange is with its first process; guarded by exchange.mu
	handover *continuity.Handover
}

// keeperState holds the fields of a process that are used when a keeper runs it.
type keeperState struct {
	conn      *keeper.Conn // nil if no keeper runs the process
	exchanges atomic.Int64 // number of exchanges that the process has begun
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
	_ = l.eachPiece(func(piece []byte) error { h.Write(piece); return nil }) // the yield function never fails
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// requestDigest returns the digest of an opening request, or "" if no keeper runs the process.
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

// frameTranslated returns f with the notes for ours, the untranslated form of a line that the
// adapter translated. The caller must hold the adapter's lock.
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

// frameBegin returns the header of the line that begins a segment. sum identifies the line; ""
// means by its digest. If the exchange has begun before, the caller must hold the lock of its
// turns.
func (c *keeperState) frameBegin(t *segment, sum string) lineFrame {
	if t.isInit {
		return lineFrame{kind: keeper.KindPinned}
	}
	n := &beginNote{Turn: c.exchanges.Add(1), Open: t.requestDigest, At: time.Now(), Since: t.offset, Steered: t.inbox.turns.steerNotes()}
	if t.handover != nil {
		n.Revived = &t.handover.Note
	}
	return lineFrame{kind: keeper.KindBegin, note: &lineNote{Sum: sum, Begun: n}}
}

// writeNote sends a note about the process to the keeper, which stores it.
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

// noteAck stores the process's acknowledgement in the keeper. The journal does not contain it.
func (p *process) noteAck(line []byte) {
	if p.translation == nil {
		p.writeNote(keeper.KindPinned, lineNote{Ack: string(line)})
	}
}

// noteSession stores the name of the session that the process reported.
func (p *process) noteSession(name string) {
	if p.translation == nil {
		p.writeNote(keeper.KindPinned, lineNote{Session: name})
	}
}

// noteRest stores that the process's exchange has ended. served reports whether the exchange was
// complete.
func (p *process) noteRest(served bool) {
	p.writeNote(keeper.KindNote, lineNote{Rest: &restNote{served, p.reader.hasSpoken.Load()}})
}

// ackJournaled notifies the keeper, after a short delay, that the journal of the run contains the
// lines up to the given number.
func (ex *exchange) ackJournaled(line int64) {
	if p := ex.currentProcess(); p != nil && p.keeper.conn != nil && line > 0 {
		p.keeper.conn.AckSoon(line)
	}
}

// AckJournaled notifies the keeper that the journal of the run contains the lines of an exchange up
// to the given number. The keeper limits the number of lines that are not yet journaled, so a
// durable run calls AckJournaled after each group of journal records. A reply to an exchange, and
// its close, also acknowledge all lines that the program has received.
func (h *Hosts) AckJournaled(exchange, line int64) {
	if ex, err := h.lookupExchange(exchange); err == nil {
		ex.ackJournaled(line)
	}
}

// Suspend leaves the processes running under the keeper. Later requests fail with ErrClosed, and
// Close does not end the processes. Without a keeper, Close ends the processes. In either case the
// directories of open exchanges remain for the process that resumes the run, and are released.
func (h *Hosts) Suspend() {
	h.left.Store(true)
	for _, pl := range h.pools {
		pl.workDirs.leave()
	}
	if inPage || h.opts.Keeper == nil {
		return
	}
	h.suspended.Store(true)
	h.mu.Lock()
	for p := range h.processes {
		p.outside.endRequests()
	}
	h.mu.Unlock()
	h.opts.Keeper.Leave()
}

// dropUnread discards the unread output of a process that was ended. The output may be large. If a
// trace is configured, the output remains for the trace.
func (p *process) dropUnread() {
	if p.keeper.conn != nil && p.hosts.opts.Trace == nil {
		p.keeper.conn.Drop()
	}
}

// sentLines counts the lines that a process received before the run was resumed. If the resumed run
// produces such a line again, the line is not sent again.
type sentLines struct {
	mu     lock[sentLinesLock]
	counts map[string]int // number of unclaimed lines, by digest
}

func (r *sentLines) addDigest(sum string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[sum]++
}

// takeDigest reports whether a line with the digest was sent, and decrements its count. For a line
// that was sent twice it returns true twice.
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

// hasDigest reports whether a line with the digest was sent and not yet claimed.
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

// alreadySent reports whether the process received the line before the run was resumed.
func (c *keeperState) alreadySent(l *line) bool {
	return c.conn != nil && l.frame.kind == 0 && !c.sent.isEmpty() && c.sent.takeDigest(l.sum())
}

// sum returns what identifies the line among the lines that were sent to a process.
func (l *line) sum() string {
	if n := l.frame.note; n != nil && n.Sum != "" {
		return n.Sum
	}
	return l.digest()
}
