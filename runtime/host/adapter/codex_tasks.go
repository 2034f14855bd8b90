//go:build !js

package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/concerto-lang/concerto/internal/data/effect"
)

// codexWork is what Codex works on beside the turn of its main thread: the threads of subagents,
// and commands that run on when the turn that has started them has ended.
type codexWork struct {
	work
	Threads     map[string]codexThread  // threads of subagents, by ID
	Commands    map[string]codexCommand // commands that have not ended, by the ID of their item
	Lists       map[string]string       // requests for the list of a thread's commands: the thread, by the request's ID
	Before      int                     // number of tasks that had ended when the exchange began to wait
	Interrupted bool                    // the program has ended the turn, and the exchange does not wait for tasks
}

// codexThread is the thread of a subagent.
type codexThread struct {
	Agent json.RawMessage // its HostAgent
	Name  string
	Turn  string // ID of the turn that is running; "" for none
	Text  string // its newest message
	Used  usage
}

type codexCommand struct{ Thread, Text string }

func newCodexWork() codexWork {
	return codexWork{work: newWork(), Threads: map[string]codexThread{}, Commands: map[string]codexCommand{}, Lists: map[string]string{}}
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

// addThread adds the thread of a subagent, or completes what is known about it. parent is the
// thread that has started it.
func (c *codex) addThread(id, name, parent string) codexThread {
	t := c.Tasks.Threads[id]
	t.Name = cmp.Or(name, t.Name)
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
		c.addThread(t.ID, cmp.Or(t.Nickname, t.Role), t.Parent)
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
		c.stopTasks(s)
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
		t, known = c.addThread(e.ThreadID, "", ""), true
	}
	if !known {
		s.Quiet = e.method
		return
	}
	s.agent = t.Agent
	switch e.method {
	case "turn/started":
		t.Turn = e.Turn.ID
		c.startAgent(s, e, t)
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
		c.listCommands(s, e.ThreadID)
	case "item/started":
		c.itemStarted(s, e)
	case "item/completed":
		c.subagentItem(s, e, &t)
	case "thread/tokenUsage/updated":
		t.Used = usage(e.Usage.Total)
		c.Tasks.Threads[e.ThreadID] = t
		c.showUsage(s, e)
	case "error":
		codexRetries(c, s, e)
	}
	c.Tasks.Threads[e.ThreadID] = t
	c.showInExchange(s, e.method)
}

// trackItem notes which subagents and commands an item has started or ended.
func (c *codex) trackItem(s *Output, e *codexEvent, item *codexItem, ended bool) {
	switch {
	case item.Type == "collabAgentToolCall" && item.Tool == "spawnAgent":
		for _, id := range item.Receivers {
			c.addThread(id, short(item.Prompt), e.ThreadID)
		}
	case item.Type == "subAgentActivity" && item.Thread != "":
		c.addThread(item.Thread, item.Path, e.ThreadID)
	case item.Type != "commandExecution":
	case !ended:
		c.Tasks.Commands[item.ID] = codexCommand{cmp.Or(e.ThreadID, c.Session), bareCommand(item.Command)}
	default:
		delete(c.Tasks.Commands, item.ID)
		state := effect.TaskCompleted
		if item.Status == "failed" {
			state = effect.TaskFailed
		}
		c.Tasks.end(s, item.ID, state, "", e.line)
	}
}

// listCommands requests the commands of a thread that run in the background, if some may.
func (c *codex) listCommands(s *Output, thread string) {
	for _, command := range c.Tasks.Commands {
		if command.Thread == thread {
			s.addLines(c.RPC.request(codexLists, obj{"threadId": thread}))
			c.Tasks.Lists[strconv.FormatInt(c.RPC.Sent, 10)] = thread
			return
		}
	}
}

// handleList handles the list of a thread's commands. Those that it does not contain have ended. A
// version that has no list runs no commands in the background.
func (c *codex) handleList(s *Output, m *rpcMessage) {
	var r struct {
		Data []struct {
			Item    string `json:"itemId"`
			Process string `json:"processId"`
		} `json:"data"`
	}
	if m.Error == nil {
		_ = json.Unmarshal(m.Result, &r) // a list that cannot be read contains none of the commands
	}
	thread := c.Tasks.Lists[idText(m.ID)]
	delete(c.Tasks.Lists, idText(m.ID))
	processes := map[string]string{}
	for _, x := range r.Data {
		processes[x.Item] = x.Process
	}
	parent := thread // the task that works in the thread; "" for the main thread
	if thread == c.Session {
		parent = ""
	}
	for _, id := range sortedKeys(c.Tasks.Commands) {
		command := c.Tasks.Commands[id]
		process, listed := processes[id]
		switch {
		case command.Thread != thread:
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

// poll requests the commands that still run.
func (c *codex) poll(s *Output) {
	if len(c.Tasks.Lists) > 0 {
		return
	}
	var threads []string
	for _, id := range sortedKeys(c.Tasks.Commands) {
		if t := c.Tasks.Commands[id].Thread; !slices.Contains(threads, t) {
			threads = append(threads, t)
			c.listCommands(s, t)
		}
	}
}

// stop asks Codex to stop everything that it does for the exchange that waits. why is described at
// expire; "" for none.
func (c *codex) stop(s *Output, why string) {
	if why != "" {
		c.Tasks.expire(c.cfg.Host, why)
	}
	c.Tasks.Stopping = true
	c.stopTasks(s)
	c.poll(s) // the list has the names of the commands' processes
}

// stopTasks interrupts the turns of subagents.
func (c *codex) stopTasks(s *Output) {
	for _, t := range c.Tasks.live() {
		if turn := c.Tasks.Threads[t.ID].Turn; turn != "" {
			s.addLines(c.RPC.request("turn/interrupt", obj{"threadId": t.ID, "turnId": turn}))
		}
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
	if c.Counted {
		r.Usage = new(c.sum().minus(c.Used))
	}
	if c.cfg.Background == BackgroundForbid && r.Code == "" && len(late) > 0 {
		r.Code, r.Message = "background", fmt.Sprintf("host '%s' started background work, which was stopped: %s", c.cfg.Host, Titles(late))
	}
	c.finishExchange(s, r)
}

// finishExchange ends the exchange, unless the answers to messages show that another turn follows.
func (c *codex) finishExchange(s *Output, r outcome) {
	c.Turn, c.Cancel, c.Busy, c.Tasks.Interrupted = "", false, false, false
	c.endTurn(s)
	clear(c.RPC.Open)
	clear(c.Streamed)
	clear(c.Items)
	c.Tasks.finish(s, r)
	c.refuseUnsent(s)
	if len(c.Steering) > 0 {
		c.Result, s.Messages = s.Messages[len(s.Messages)-1], s.Messages[:len(s.Messages)-1]
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
func (c *codex) Settles() bool { return c.Tasks.Held != nil }

// Polls implements Worker.
func (c *codex) Polls() bool { return c.Tasks.Held != nil && len(c.Tasks.Commands) > 0 }

// Work returns what Codex works on.
func (c *codex) Work() Work { return c.Tasks.report(c.Turn != "") }

// sum returns what all threads have used.
func (c *codex) sum() usage {
	all := c.Total
	for _, t := range c.Tasks.Threads {
		all = all.plus(t.Used)
	}
	return all
}
