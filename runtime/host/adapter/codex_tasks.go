//go:build !js

package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// codexWork is what Codex works on beside the turn of its main thread: the threads of subagents,
// and commands that run on when the turn that has started them has ended.
type codexWork struct {
	work
	Threads     map[string]codexThread  // threads of subagents, by ID
	Commands    map[string]codexCommand // commands that have not ended, by the ID of their item
	Lists       map[string]codexList    // requests for the list of a thread's commands, by ID
	Used        usage                   // what the threads have used
	Before      int                     // number of tasks that had ended when the exchange began to wait
	Interrupted bool                    // the program has ended the turn, and the exchange does not wait for tasks
}

// codexThread is the thread of a subagent.
type codexThread struct {
	Agent json.RawMessage // its HostAgent
	Name  string
	Turn  string // ID of the turn that is running; "" for none
	Ends  string // ID of the turn that Codex was asked to end; "" for none
	Text  string // its newest message
	Model string // "" if unknown
	Used  usage
}

type codexCommand struct {
	Thread, Text string
	Sent         int64 // number of requests that Codex had been sent when it started
}

// codexList is a request for the list of a thread's commands, which may have several pages.
type codexList struct {
	Thread string
	Quiet  bool              // no turn of the thread was running: commands that it does not contain have ended
	Sent   int64             // number of the request for the first page
	Listed map[string]string // the commands on the earlier pages: names of their processes, by the ID of their item
}

func newCodexWork() codexWork {
	return codexWork{work: newWork(), Threads: map[string]codexThread{}, Commands: map[string]codexCommand{}, Lists: map[string]codexList{}}
}

// endsCommand reports whether an event is the end of a command, which an earlier turn may have
// started.
func (w *codexWork) endsCommand(e *codexEvent) bool {
	var item codexItem
	if e.method != "item/completed" || json.Unmarshal(e.Item, &item) != nil {
		return false
	}
	_, known := w.Commands[item.ID]
	return known
}

// Methods for commands that run in the background.
const (
	codexLists = "thread/backgroundTerminals/list"
	codexEnds  = "thread/backgroundTerminals/terminate"
)

// begin prepares for a new exchange. A thread may work in it again, but what it has written before
// is no summary.
func (w *codexWork) begin() {
	w.work.begin()
	for id, t := range w.Threads {
		if _, live := w.Live[id]; !live {
			t.Text = ""
			w.Threads[id] = t
		}
	}
}

// addThread adds the thread of a subagent, or completes what is known about it. parent is the
// thread that has started it.
func (c *codex) addThread(id, name, parent, model string) codexThread {
	t := c.Tasks.Threads[id]
	t.Name, t.Model = cmp.Or(name, t.Name), cmp.Or(model, t.Model)
	if parent == c.Session {
		parent = ""
	}
	if t.Agent == nil || name != "" {
		t.Agent = hostAgent(id, t.Name, parent)
	}
	c.Tasks.Threads[id] = t
	return t
}

// threadStarted handles the report about a new thread.
func (c *codex) threadStarted(s *Output, e *codexEvent) {
	s.Quiet = e.method
	t := e.Thread
	if _, known := c.Tasks.Threads[t.Parent]; t.Parent != "" && (known || t.Parent == c.Session) {
		c.addThread(t.ID, cmp.Or(t.Nickname, t.Role), t.Parent, t.Model)
	}
}

// threadChanged handles the report about the state of a subagent's thread. The end of its turn is
// reported separately.
func (c *codex) threadChanged(s *Output, e *codexEvent) {
	s.Quiet = e.method
	t, known := c.Tasks.Threads[e.ThreadID]
	switch {
	case !known:
	case e.Status.Type == "active":
		c.startAgent(s, e, t)
	case e.Status.Type == "systemError":
		t.Turn = ""
		c.Tasks.Threads[e.ThreadID] = t
		c.Tasks.end(s, e.ThreadID, effect.TaskFailed, t.Text, e.line)
	case t.Turn == "":
		c.Tasks.end(s, e.ThreadID, effect.TaskCompleted, t.Text, e.line)
	}
	c.showInExchange(s, e.method)
}

// showInExchange drops the messages about tasks while no exchange is running. name is that of the
// agent's message.
func (c *codex) showInExchange(s *Output, name string) {
	if !c.Busy {
		s.Messages = nil
	}
	s.Quiet = ""
	if len(s.Messages) == 0 {
		s.Quiet = name
	}
}

func (c *codex) startAgent(s *Output, e *codexEvent, t codexThread) {
	s.agent = nil
	c.Tasks.start(s, effect.HostTask{ID: e.ThreadID, Kind: taskAgent, Name: short(t.Name)}, e.line)
	if c.Tasks.Stopping {
		c.stopThread(s, e.ThreadID)
	}
}

// subagentItem handles an item of a subagent that is complete. Its texts are no part of the result.
func (c *codex) subagentItem(s *Output, e *codexEvent, t *codexThread) {
	var item codexItem
	if json.Unmarshal(e.Item, &item) == nil && item.Type == "agentMessage" {
		t.Text = item.Text
		s.subagentText(item.Text)
		return
	}
	text := c.Text
	c.itemCompleted(s, e)
	c.Text = text
}

// fromSubagent handles a notification about another thread than the main one.
func (c *codex) fromSubagent(s *Output, e *codexEvent) {
	t, known := c.Tasks.Threads[e.ThreadID]
	if !known && e.Turn.Root != "" && e.Turn.Root == c.Own {
		t, known = c.addThread(e.ThreadID, "", "", ""), true
	}
	if !known && c.Tasks.endsCommand(e) { // the thread of an earlier session
		var item codexItem
		_ = json.Unmarshal(e.Item, &item) // endsCommand has read it
		c.trackItem(s, e, &item, true)
		c.showInExchange(s, e.method)
		return
	}
	if !known {
		s.Quiet = e.method
		return
	}
	s.agent = t.Agent
	switch e.method {
	case "turn/started":
		t.Turn = e.Turn.ID
		c.beginTurn(e.ThreadID)
		c.Tasks.Threads[e.ThreadID] = t
		c.startAgent(s, e, t)
		t = c.Tasks.Threads[e.ThreadID]
	case "turn/completed":
		t.Turn = ""
		state := effect.TaskCompleted
		switch e.Turn.Status {
		case "failed":
			state = effect.TaskFailed
		case "interrupted":
			state = effect.TaskStopped
		}
		c.withdrawThread(s, e.ThreadID)
		s.agent = nil
		c.Tasks.end(s, e.ThreadID, state, t.Text, e.line)
		c.Tasks.Threads[e.ThreadID] = t // listCommands reads whether its turn is running
		c.listCommands(s, e.ThreadID)
	case "item/started":
		c.itemStarted(s, e)
	case "item/completed":
		c.subagentItem(s, e, &t)
	case "thread/tokenUsage/updated":
		more := usage(e.Usage.Total).minus(t.Used)
		c.addUse(e.ThreadID, t.Model, more)
		c.Tasks.Used, t.Used = c.Tasks.Used.plus(more), usage(e.Usage.Total)
		c.showUsage(s, e)
	case "model/rerouted":
		codexReroutes(c, s, e)
	case "error":
		codexRetries(c, s, e)
	case "serverRequest/resolved":
		c.withdrawResolved(s, e)
	}
	c.Tasks.Threads[e.ThreadID] = t
	c.showInExchange(s, e.method)
}

// trackItem notes which subagents and commands an item has started or ended.
func (c *codex) trackItem(s *Output, e *codexEvent, item *codexItem, ended bool) {
	switch {
	case item.Type == "collabAgentToolCall" && item.Tool == "spawnAgent":
		for _, id := range item.Receivers {
			c.addThread(id, short(item.Prompt), e.ThreadID, item.Model)
		}
	case item.Type == "subAgentActivity" && item.Thread != "":
		c.addThread(item.Thread, item.Path, e.ThreadID, item.Model)
	case item.Type != "commandExecution":
	case !ended:
		c.Tasks.Commands[item.ID] = codexCommand{cmp.Or(e.ThreadID, c.Session), bareCommand(item.Command), c.RPC.Sent}
	default:
		delete(c.Tasks.Commands, item.ID)
		state := effect.TaskCompleted
		if item.Status == "failed" {
			state = effect.TaskFailed
		}
		c.Tasks.end(s, item.ID, state, "", e.line)
	}
}

// requestList requests a page of a list; cursor is "" for the first one.
func (c *codex) requestList(s *Output, list codexList, cursor string) {
	params := obj{"threadId": list.Thread}
	if cursor != "" {
		params["cursor"] = cursor
	}
	s.addLines(c.RPC.request(codexLists, params))
	c.Tasks.Lists[strconv.FormatInt(c.RPC.Sent, 10)] = list
}

// handleList handles a page of the list of a thread's commands. Those that no page contains have
// ended. A version that has no list runs no commands in the background.
func (c *codex) handleList(s *Output, m *rpcMessage) {
	var r struct {
		Data []struct {
			Item    string `json:"itemId"`
			Process string `json:"processId"`
		} `json:"data"`
		Next string `json:"nextCursor"`
	}
	switch {
	case m.Error != nil && m.Error.Number() != CodeUnknown && m.Error.Number() != codeNoRequest:
		s.warn(fmt.Sprintf("host '%s' does not list its background commands, which count as ended: %s", c.cfg.Host, m.Error.text()))
	case m.Error == nil:
		if err := json.Unmarshal(m.Result, &r); err != nil {
			s.warn(fmt.Sprintf("host '%s' sends a list of its background commands that cannot be read: %s", c.cfg.Host, problem(err)))
		}
	}
	list := c.Tasks.Lists[idText(m.ID)]
	delete(c.Tasks.Lists, idText(m.ID))
	for _, x := range r.Data {
		if _, known := c.Tasks.Commands[x.Item]; known {
			list.Listed[x.Item] = x.Process
		}
	}
	if r.Next != "" {
		c.requestList(s, list, r.Next)
		return
	}
	thread, parent := list.Thread, list.Thread // the task that works in the thread; "" for the main thread
	if thread == c.Session {
		parent = ""
	}
	for _, id := range sortedKeys(c.Tasks.Commands) {
		command := c.Tasks.Commands[id]
		process, listed := list.Listed[id]
		_, live := c.Tasks.Live[id]
		switch {
		case command.Thread != thread:
		case !listed && !live && (!list.Quiet || command.Sent >= list.Sent): // its turn may wait for it
		case !listed:
			delete(c.Tasks.Commands, id)
			c.Tasks.end(s, id, effect.TaskCompleted, "", nil)
		default:
			c.Tasks.start(s, effect.HostTask{ID: id, Kind: taskCommand, Name: short(command.Text), Parent: parent}, nil)
			if c.Tasks.Stopping {
				s.addLines(c.RPC.request(codexEnds, obj{"threadId": thread, "processId": process}))
			}
		}
	}
	c.showInExchange(s, codexLists)
}

// listCommands requests, for a thread or for each one if it is "", its commands that run in the
// background.
func (c *codex) listCommands(s *Output, thread string) {
	threads := map[string]bool{}
	for _, command := range c.Tasks.Commands {
		if thread == "" || command.Thread == thread {
			threads[command.Thread] = true
		}
	}
	for _, thread := range sortedKeys(threads) {
		isQuiet := c.Tasks.Threads[thread].Turn == ""
		if thread == c.Session {
			isQuiet = c.Turn == "" && !c.RPC.awaits("turn/start")
		}
		c.requestList(s, codexList{Thread: thread, Quiet: isQuiet, Sent: c.RPC.Sent + 1, Listed: map[string]string{}}, "")
	}
}

// stop asks Codex to stop everything that it does for the exchange that waits. why is described at
// expire; "" for none.
func (c *codex) stop(s *Output, why string) {
	if why != "" {
		isTurn := c.Turn != "" || c.RPC.awaits("turn/start")
		c.Tasks.expire(c.cfg.Host, why, isTurn)
		c.Cancel = isTurn
		c.interrupt(s)
	}
	c.Tasks.Stopping = true
	for _, t := range c.Tasks.live() {
		c.stopThread(s, t.ID)
	}
	if len(c.Tasks.Lists) == 0 {
		c.listCommands(s, "") // the list has the names of the commands' processes
	}
}

// stopThread interrupts the turn of a subagent.
func (c *codex) stopThread(s *Output, id string) {
	if t := c.Tasks.Threads[id]; t.Turn != "" && t.Ends != t.Turn {
		t.Ends = t.Turn
		c.Tasks.Threads[id] = t
		s.addLines(c.RPC.request("turn/interrupt", obj{"threadId": id, "turnId": t.Turn}))
	}
}

// settle ends the exchange if it has waited for all tasks and turns.
func (c *codex) settle(s *Output) {
	if c.Tasks.Held == nil {
		return
	}
	isLive := len(c.Tasks.Live) > 0 && (c.cfg.Background != BackgroundDetach || c.Tasks.Stopping)
	if isLive || len(c.Tasks.Lists) > 0 || c.Turn != "" || c.RPC.awaits("turn/start") {
		c.Tasks.showWait(s)
		return
	}
	late := c.Tasks.Past[min(c.Tasks.Before, len(c.Tasks.Past)):]
	r := c.Tasks.settled()
	setTotals(c, &r)
	if c.cfg.Background == BackgroundForbid && r.Code == "" && len(late) > 0 {
		r.Code, r.Message = "background", fmt.Sprintf("host '%s' started background work, which was stopped: %s", c.cfg.Host, Titles(late))
	}
	c.finishExchange(s, r)
}

// finishExchange ends the exchange, unless the answers to messages show that another turn follows.
func (c *codex) finishExchange(s *Output, r outcome) {
	r.Accepted = r.Code != "" && c.Plan.isReached()
	c.Turn, c.Cancel, c.Busy, c.Tasks.Interrupted = "", false, false, false
	c.endTurn(s)
	c.endRequests(s)
	clear(c.Streamed)
	clear(c.Items)
	c.Tasks.finish(s, r)
	c.refuseUnsent(s)
	if len(c.Steering) > 0 {
		c.Result, s.Messages = s.Messages[len(s.Messages)-1], s.Messages[:len(s.Messages)-1]
		return
	}
	c.Tasks.moveRequests(s)
}

// endRequests withdraws the open requests, because the exchange ends. Those of subagents are
// refused, or stay open with background = "detach": a subagent waits for the answer.
func (c *codex) endRequests(s *Output) {
	for _, id := range sortedKeys(c.RPC.Open) {
		q := c.RPC.Open[id]
		if c.Tasks.leavesOpen(s, id, &q.detached) {
			c.RPC.Open[id] = q
			continue
		}
		delete(c.RPC.Open, id)
		s.withdraw(id)
		if _, subagent := c.Tasks.Threads[q.thread()]; subagent {
			s.addLines(rpcResult(q.ID, codexRequestOf(q.Method).answer(&q, &ours{Error: exchangeEnded})))
		}
	}
}

// withdrawThread withdraws the open requests of a thread whose turn has ended.
func (c *codex) withdrawThread(s *Output, thread string) {
	for _, id := range sortedKeys(c.RPC.Open) {
		if q := c.RPC.Open[id]; q.thread() == thread {
			delete(c.RPC.Open, id)
			s.withdraw(id)
		}
	}
}

// thread returns the ID of the thread that makes the request, or "".
func (q *rpcRequest) thread() string {
	var p struct {
		Thread string `json:"threadId"`
	}
	_ = json.Unmarshal(q.Params, &p) // without a thread, the request is that of the main one
	return p.Thread
}

// Count implements Worker.
func (c *codex) Count() int64 { return c.Tasks.Changes }

// Settles implements Worker.
func (c *codex) Settles() (waits, stops bool) { return c.Tasks.settles() }

// Polls implements Worker.
func (c *codex) Polls() bool {
	isDetached := c.cfg.Background == BackgroundDetach && !c.Tasks.Active && len(c.Tasks.Live) > 0
	return len(c.Tasks.Commands) > 0 && (c.Tasks.Held != nil || isDetached)
}

// Work returns what Codex works on.
func (c *codex) Work() Work {
	w := c.Tasks.report(c.Turn != "")
	for _, id := range sortedKeys(c.RPC.Open) {
		if q := c.RPC.Open[id]; q.Message != nil {
			w.Requests = append(w.Requests, q.Message)
		}
	}
	return w
}

// sum returns what all threads have used.
func (c *codex) sum() usage { return c.Total.plus(c.Tasks.Used) }

// codexModels is what models have used.
type codexModels struct {
	Spent    map[string]usage  // in the exchange, by the name of the model; "" if it is unknown
	Rerouted map[string]string // models of running turns that replace those of their threads, by thread
}

// beginTurn notes that a turn of a thread has begun, with the thread's model.
func (m *codexModels) beginTurn(thread string) { delete(m.Rerouted, thread) }

// reroute notes that another model replaces that of a thread in its running turn.
func (m *codexModels) reroute(thread, model string) {
	if m.Rerouted == nil {
		m.Rerouted = map[string]string{}
	}
	m.Rerouted[thread] = model
}

// addUse adds what a thread with a model has used.
func (m *codexModels) addUse(thread, model string, more usage) {
	if more == (usage{}) {
		return
	}
	if m.Spent == nil {
		m.Spent = map[string]usage{}
	}
	model = cmp.Or(m.Rerouted[thread], model)
	m.Spent[model] = m.Spent[model].plus(more)
}

// beginUsage makes what the threads have used so far the beginning of what the exchange uses.
func beginUsage(c *codex) {
	c.Used = c.sum()
	clear(c.Spent)
}

// setTotals sets what the exchange has used, if Codex has reported it. Without the model of each
// thread, nothing is reported by model.
func setTotals(c *codex, r *outcome) {
	if !c.Counted {
		return
	}
	r.Usage, r.Models = new(c.sum().minus(c.Used)), map[string]modelUse{}
	for name, used := range c.Spent {
		r.Models[name] = modelUse{usage: used}
	}
	if _, unknown := c.Spent[""]; unknown {
		r.Models = nil
	}
}

// beginSession prepares for another session. Subagents of the old one may be detached.
func (w *codexWork) beginSession() {
	for id, t := range w.Threads {
		if _, live := w.Live[id]; !live {
			delete(w.Threads, id)
			w.Used = w.Used.minus(t.Used)
		}
	}
}
