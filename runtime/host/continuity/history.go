// Package continuity contains what an exchange of a host needs to continue in another process: its
// history, which a journal can rebuild, the totals of its turns, and the handover of requests that
// the lost process had sent. It knows no processes and no keeper.
package continuity

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"sync"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/data/hostmsg"
	"github.com/concerto-lang/concerto/internal/data/value"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
	"github.com/concerto-lang/concerto/runtime/host/adapter"
	"github.com/concerto-lang/concerto/runtime/host/jsonobject"
)

// History records an exchange of a host that a keeper runs. It holds the data that a new process
// needs to continue the exchange if the current process is lost together with the keeper. The data
// depends only on the messages that the program received and sent, so a journal can rebuild it. A
// History is safe for concurrent use. The methods of a nil History do nothing.
type History struct {
	mu sync.Mutex
	historyState
}

// historyState is the state of a History.
type historyState struct {
	opened   effect.ExchangeOpened // result of the first opening
	process  int64                 // number of the host's process that runs the exchange
	session  string                // session name that the host reported last; "" before the first report
	pending  []hostRequest         // requests of the host that have no reply
	answered adapter.Resumption    // the newest reply in the turn, in the form that a new process gets
	replies  int                   // number of the program's replies
	lastLine []byte                // line of the newest reply
	last     string                // digest of lastLine; "" before the first reply, or until addSums computes it
	turns    *TurnHistory          // nil if no turn but the last one has ended
	result   *TurnSums             // what the newest result reports; nil if there is none
	tasks    []effect.HostTask     // background tasks that have not ended
}

// TurnHistory describes the turns of an exchange that have ended.
type TurnHistory struct {
	Sums TurnSums `json:"sums"`
	Ends int      `json:"ends"`
	// Prompts are the IDs of the messages that were prompts of later turns, in order.
	Prompts []string `json:"prompts,omitempty"`
}

// hostRequest is a message of the host that waits for a reply.
type hostRequest struct {
	ID   string `json:"id,omitempty"` // in JSON
	Type string `json:"type"`
	Sum  string `json:"sum"` // digest of the message without its id; "" until withSum computes it

	text json.RawMessage
}

// Clone returns a copy. Recording in the copy does not change the original.
func (c *History) Clone() *History {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	out := &History{historyState: c.historyState}
	out.pending, out.tasks = slices.Clone(c.pending), slices.Clone(c.tasks)
	return out
}

// RecordOpened records the result of the opening.
func (c *History) RecordOpened(o *effect.ExchangeOpened) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened, c.process, c.session = *o, o.Process, o.Session
}

// RecordMessages records messages of the host.
func (c *History) RecordMessages(m *effect.ExchangeMessages) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if l := m.Lines; l != nil {
		if l.Session != "" {
			c.session = l.Session
		}
		if l.Process != 0 {
			c.process = l.Process
		}
	}
	for i := range m.Messages {
		switch x, row := &m.Messages[i], hostmsg.Lookup(m.Messages[i].Type); {
		case x.Decided:
		case row.Waits():
			c.pending = append(c.pending, newHostRequest(x))
		case row.Role == hostmsg.Succeeds:
			c.result = new(TurnSums)
			c.result.update(x.Payload.Map(), true)
		case row.Role == hostmsg.Withdraws:
			c.pending = slices.DeleteFunc(c.pending, func(w hostRequest) bool { return w.ID == x.ID })
		case x.Type == hostmsg.Progress:
			c.recordTurnEnd(ParseTurnEnd(x))
			c.recordTask(x)
		}
	}
}

// recordTask records that a background task has started or ended.
func (c *History) recordTask(m *effect.HostMessage) {
	v, _ := m.Payload.Map().GetString("task")
	var t effect.HostTask
	if v.Map() == nil || json.Unmarshal(value.AppendJSON(nil, v), &t) != nil {
		return
	}
	c.tasks = slices.DeleteFunc(c.tasks, func(x effect.HostTask) bool { return x.ID == t.ID })
	if t.State == effect.TaskRunning {
		c.tasks = append(c.tasks, t)
	}
}

// RecordContinued records that the program continues an exchange whose newest turn has ended with a
// result. id is the ID of the message that is the prompt of the next turn.
func (c *History) RecordContinued(id string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	e := &EndedTurn{Next: id}
	if c.result != nil {
		e.TurnSums = *c.result
	}
	c.recordTurnEnd(e)
	c.pending = nil // the requests of a turn end with it
}

func (c *History) recordTurnEnd(e *EndedTurn) {
	if e == nil {
		return
	}
	now := TurnHistory{Sums: e.TurnSums, Ends: 1}
	if c.turns != nil { // copies of the History share the value
		now.Ends += c.turns.Ends
		now.Prompts = slices.Clone(c.turns.Prompts)
	}
	if e.Next != "" {
		now.Prompts = append(now.Prompts, e.Next)
	}
	c.turns = &now
	c.answered = adapter.Resumption{} // the conversation contains the whole turn
}

// EndedTurns returns the turns that have ended.
func (c *History) EndedTurns() TurnHistory {
	if c == nil {
		return TurnHistory{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turns == nil {
		return TurnHistory{}
	}
	return *c.turns
}

// OpenRequests returns the IDs of the host's requests that have no answer.
func (c *History) OpenRequests() (ids []string) {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.pending {
		if w.ID != "" {
			ids = append(ids, w.ID)
		}
	}
	return ids
}

// RecordReply records a reply to the host.
func (c *History) RecordReply(r *effect.ExchangeReply) {
	if c == nil {
		return
	}
	line := AppendReply(nil, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.replies++
	c.lastLine, c.last = line, ""
	at := slices.IndexFunc(c.pending, func(w hostRequest) bool { return w.ID == r.AnswerTo && w.Type == r.InReplyTo })
	if at >= 0 {
		c.answered = adapter.Resumption{Answered: c.pending[at].text, Response: bytes.TrimSuffix(line, []byte{'\n'})}
		c.pending = slices.Delete(c.pending, at, at+1)
	}
}

// newHostRequest returns the hostRequest for a message, without its digest, which only a handover
// and the JSON of a History need.
func newHostRequest(m *effect.HostMessage) hostRequest {
	return hostRequest{ID: m.ID, Type: m.Type, text: MessageLine(m.Type, value.AppendJSON(nil, m.Payload))}
}

// withSum returns the request with its digest.
func (w hostRequest) withSum() hostRequest {
	if w.Sum != "" {
		return w
	}
	sum := sha256.New()
	sum.Write([]byte(w.Type))
	for _, member := range jsonobject.MembersOf(w.text) {
		switch member.Name {
		case "id", "call", "session", "agent", "payload": // these differ in another process
			continue
		}
		sum.Write([]byte(member.Name))
		sum.Write(member.Value)
	}
	w.Sum = hex.EncodeToString(sum.Sum(nil)[:16])
	return w
}

// addSums computes the digests that are missing. The caller must hold mu.
func (c *History) addSums() {
	for i, w := range c.pending {
		c.pending[i] = w.withSum()
	}
	if c.last == "" && len(c.lastLine) > 0 {
		c.last = Digest(c.lastLine)
	}
}

// SessionName returns the session that another process can continue, or "" if there is none.
func (c *History) SessionName() string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Matches reports whether the exchange was opened as exchange number Turn of the given process.
func (c *History) Matches(of *Predecessor) bool {
	return c != nil && of != nil && of.Process == c.opened.Process && of.Turn == c.opened.Turn
}

// LastLineOf returns last if the journal's last line of the exchange came from the given process,
// and 0 otherwise.
func (c *History) LastLineOf(last, process int64) int64 {
	if c != nil && c.process != 0 && c.process != process {
		return 0
	}
	return last
}

// AnnotateLines stores the session and the number of the process in l if they have changed since
// the previous lines. A process is 0 if it is lost, and then the lines are empty.
func (c *History) AnnotateLines(l *effect.HostLines, process int64, session string) {
	if c == nil || l == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if process == 0 {
		process, session = c.process, c.session
	}
	if session != c.session {
		l.Session = session
	}
	if process != c.opened.Process {
		l.Process = process
	}
}

// historyJSON is the JSON form of a History.
type historyJSON struct {
	Opened   effect.ExchangeOpened `json:"opened"`
	Process  int64                 `json:"process,omitempty"`
	Session  string                `json:"session,omitempty"`
	Asked    []hostRequestJSON     `json:"asked,omitempty"`
	Answered adapter.Resumption    `json:"answered"`
	Replies  int                   `json:"replies,omitempty"`
	Last     string                `json:"last,omitempty"`
	Turns    *TurnHistory          `json:"turns,omitempty"`
	Tasks    []effect.HostTask     `json:"tasks,omitempty"`
	Result   *TurnSums             `json:"result,omitempty"`
}

type hostRequestJSON struct {
	hostRequest
	Line json.RawMessage `json:"line"`
}

// MarshalJSON returns the JSON form that UnmarshalJSON reads.
func (c *History) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.addSums()
	text := historyJSON{c.opened, c.process, c.session, nil, c.answered, c.replies, c.last, c.turns, c.tasks, c.result}
	for _, w := range c.pending {
		text.Asked = append(text.Asked, hostRequestJSON{w, w.text})
	}
	return jsonwrite.Encode(text) // the digests were computed from lines in this encoding
}

// UnmarshalJSON restores a History from the output of MarshalJSON.
func (c *History) UnmarshalJSON(b []byte) error {
	var text historyJSON
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened, c.process, c.session, c.answered, c.replies, c.last = text.Opened, text.Process, text.Session, text.Answered, text.Replies, text.Last
	c.pending, c.turns, c.tasks, c.result = nil, text.Turns, text.Tasks, text.Result
	for _, w := range text.Asked {
		w.hostRequest.text = w.Line
		c.pending = append(c.pending, w.hostRequest)
	}
	return nil
}
