//go:build !js

package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// claudeForbidden lists the tools of Claude Code that it is started without, by the value of
// background. Turns that a schedule begins are in no list of tasks, so that an exchange cannot wait
// for them.
var claudeForbidden = map[string][]string{
	BackgroundWait:   {"CronCreate", "ScheduleWakeup"},
	BackgroundForbid: {"CronCreate", "ScheduleWakeup", "Workflow", "Monitor"},
}

// Variables of Claude Code.
const (
	claudeForeground = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1"  // subagents and commands run in the foreground
	claudeStates     = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1" // it reports when it is idle
)

func claudeEnviron(v *Vendor) []string {
	if v.Background == BackgroundForbid {
		return []string{claudeForeground, claudeStates}
	}
	return []string{claudeStates}
}

// claudeWork is what Claude Code works on. Its list of background tasks decides which tasks have
// not ended. It may begin a turn when one ends; until it does, or is idle, the exchange continues.
type claudeWork struct {
	work
	Busy     bool                       // an exchange is running
	Worked   bool                       // it has had a task
	Turn     bool                       // a turn is running
	Idle     bool                       // it was idle since its last turn and task have ended
	Received bool                       // it has sent a line since the last poll
	Ping     string                     // ID of the request that checks whether it is still silent; "" for none
	Control  int64                      // number of requests to stop a task, and of pings
	Asked    map[string]bool            // tasks that it was asked to stop, by ID
	Ends     map[string]claudeTaskEnd   // how tasks have ended that are still in its list, by ID
	Runs     map[string]bool            // runs of the exchange's tasks: they name the turns that a task begins
	Front    map[string]effect.HostTask // tasks for which the turn waits, by ID
	Watches  map[string]bool            // calls of the tool that watches a command
	Agents   map[string]json.RawMessage // HostAgents of its subagents, by ID
}

type claudeTaskEnd struct{ State, Summary string }

func newClaudeWork() claudeWork {
	return claudeWork{work: newWork(), Asked: map[string]bool{}, Ends: map[string]claudeTaskEnd{}, Runs: map[string]bool{}, Front: map[string]effect.HostTask{}, Watches: map[string]bool{}, Agents: map[string]json.RawMessage{}}
}

// claudeTask is a task in a message of Claude Code.
type claudeTask struct {
	ID          string `json:"task_id"`
	Run         string `json:"run_id"`
	Call        string `json:"tool_use_id"`
	Type        string `json:"task_type"`
	Description string `json:"description"`
	Status      string `json:"status"`
	Summary     string `json:"summary"`
	Ambient     bool   `json:"ambient"` // the task is no activity
	Hidden      bool   `json:"skip_transcript"`
	Patch       struct {
		Status string `json:"status"`
	} `json:"patch"`
}

// claudeTaskKinds maps Claude Code's types of tasks to kinds. Another type is used as it is.
var claudeTaskKinds = map[string]string{"local_agent": taskAgent, "remote_agent": taskAgent, "local_bash": taskCommand, "local_workflow": taskWorkflow}

// claudeTaskStates maps Claude Code's states of a task that has ended. Another one means that it
// has completed.
var claudeTaskStates = map[string]string{"failed": effect.TaskFailed, "stopped": effect.TaskStopped, "killed": effect.TaskStopped}

func (t *claudeTask) isCounted() bool { return t.ID != "" && !t.Ambient && !t.Hidden }

// begin prepares for a new exchange. It forgets ended tasks.
func (w *claudeWork) begin() {
	w.work.begin()
	w.Worked = false
	clear(w.Watches)
	for id := range w.Agents {
		if _, live := w.Live[id]; !live {
			delete(w.Agents, id)
		}
	}
}

// task returns the task in the form of the host protocol, and notes which subagent works on it.
func (c *claude) task(t *claudeTask) effect.HostTask {
	kind := cmp.Or(claudeTaskKinds[t.Type], short(t.Type), "task")
	if kind == taskCommand && c.Tasks.Watches[t.Call] {
		kind = taskWatcher
	}
	name := short(t.Description)
	if kind == taskAgent {
		c.Tasks.Agents[t.ID] = hostAgent(t.ID, name, "")
	}
	return effect.HostTask{ID: t.ID, Kind: kind, Name: name}
}

// taskStarted adds what the list of tasks does not contain. It also reports subagents for which the
// turn waits, which are in no list.
func (c *claude) taskStarted(s *Output, m *claudeLine) {
	var t claudeTask
	s.Quiet = typeName(m.Type, m.Subtype)
	if json.Unmarshal(m.line, &t) != nil || !t.isCounted() {
		return
	}
	is := c.task(&t)
	if _, known := c.Tasks.Live[t.ID]; known {
		c.Tasks.start(s, is, m.line)
	} else if c.Tasks.Busy && !c.isForeign() {
		s.Quiet = ""
		is.State = effect.TaskRunning
		c.Tasks.Front[t.ID] = is
		s.task(&is, title(&is)+" has started", m.line)
	}
}

// hostAgent returns a HostAgent. name and parent may be "".
func hostAgent(id, name, parent string) json.RawMessage {
	return jsonwrite.MustEncode(struct {
		ID     string `json:"id"`
		Name   string `json:"name,omitempty"`
		Parent string `json:"parent,omitempty"`
	}{id, name, parent})
}

// setAgent sets the subagent from which a line comes; id may be "".
func (c *claude) setAgent(s *Output, id string) {
	if id == "" {
		return
	}
	if s.agent = c.Tasks.Agents[id]; s.agent == nil {
		s.agent = hostAgent(id, "", "")
	}
}

// taskEnded notes how a task has ended.
func (c *claude) taskEnded(s *Output, m *claudeLine) {
	var t claudeTask
	s.Quiet = typeName(m.Type, m.Subtype)
	if json.Unmarshal(m.line, &t) != nil {
		return
	}
	status := cmp.Or(t.Status, t.Patch.Status)
	if status == "" || status == "running" || status == "pending" {
		return
	}
	state := cmp.Or(claudeTaskStates[status], effect.TaskCompleted)
	if _, known := c.Tasks.Live[t.ID]; known {
		c.Tasks.Ends[t.ID] = claudeTaskEnd{state, cmp.Or(t.Summary, c.Tasks.Ends[t.ID].Summary)}
	} else if is, known := c.Tasks.Front[t.ID]; known && !c.isForeign() {
		s.Quiet = ""
		delete(c.Tasks.Front, t.ID)
		is.State, is.Summary = state, t.Summary
		s.task(&is, endText(&is), m.line)
	}
}

// tasksChanged handles the list of background tasks.
func (c *claude) tasksChanged(s *Output, m *claudeLine) {
	var list struct {
		Tasks []json.RawMessage `json:"tasks"`
	}
	s.Quiet = typeName(m.Type, m.Subtype)
	if json.Unmarshal(m.line, &list) != nil {
		return
	}
	mine := c.Tasks.Busy && !c.isForeign()
	listed := map[string]bool{}
	for _, text := range list.Tasks {
		var t claudeTask
		if json.Unmarshal(text, &t) != nil || !t.isCounted() {
			continue
		}
		listed[t.ID] = true
		if _, known := c.Tasks.Live[t.ID]; known {
			continue
		}
		is := c.task(&t)
		c.Tasks.start(s, is, text)
		c.Tasks.Worked = c.Tasks.Worked || mine
		if mine && t.Run != "" {
			c.Tasks.Runs[t.Run] = true
		}
	}
	for _, t := range c.Tasks.live() {
		if !listed[t.ID] {
			end := c.Tasks.Ends[t.ID]
			if end.State == "" {
				end.State = effect.TaskCompleted
				if c.Tasks.Asked[t.ID] {
					end.State = effect.TaskStopped
				}
			}
			c.Tasks.end(s, t.ID, end.State, end.Summary, nil)
			delete(c.Tasks.Ends, t.ID)
			delete(c.Tasks.Asked, t.ID)
			c.Tasks.Idle = false
		}
	}
	if c.cfg.Background == BackgroundForbid || c.Tasks.Stopping {
		c.stopTasks(s)
	}
	if !mine { // they are no part of the exchange
		s.Messages = nil
	}
	if len(s.Messages) > 0 {
		s.Quiet = ""
	}
}

// stopTasks asks Claude Code to stop its tasks.
func (c *claude) stopTasks(s *Output) {
	for _, t := range c.Tasks.live() {
		if !c.Tasks.Asked[t.ID] {
			c.Tasks.Asked[t.ID] = true
			s.addLines(c.control("t", obj{"subtype": "stop_task", "task_id": t.ID}))
		}
	}
}

// control returns the line of a request to Claude Code whose ID begins with prefix.
func (c *claude) control(prefix string, request obj) []byte {
	c.Tasks.Control++
	return jsonwrite.MustEncode(obj{"type": "control_request", "request_id": fmt.Sprintf("%s%d", prefix, c.Tasks.Control), "request": request})
}

// changesState handles a report about the state of the session.
func (c *claude) changesState(s *Output, m *claudeLine) {
	var e struct {
		State string `json:"state"`
	}
	_ = json.Unmarshal(m.line, &e) // another state is that of a turn that is running
	s.Quiet = typeName(m.Type, m.Subtype)
	c.Tasks.Idle = e.State == "idle"
	c.Tasks.Turn = !c.Tasks.Idle
}

// poll checks whether Claude Code has been silent since the last poll, if nothing shows that it is
// idle: it may be a version that does not report its state.
func (c *claude) poll(s *Output) {
	if !c.Polls() {
		return
	}
	if c.Tasks.Received {
		c.Tasks.Received = false
		return
	}
	s.addLines(c.control("p", obj{"subtype": "mcp_status"}))
	c.Tasks.Ping = fmt.Sprintf("p%d", c.Tasks.Control)
}

// stop asks Claude Code to stop everything that it does for the exchange that waits. why is
// described at expire; "" for none.
func (c *claude) stop(s *Output, why string) {
	if why != "" {
		c.Tasks.expire(c.cfg.Host, why, c.Tasks.Turn)
		if c.Tasks.Turn {
			c.interrupt(s, false)
		}
	}
	c.Tasks.Stopping = true
	c.stopTasks(s)
}

// settle ends the exchange if it has waited for all tasks and turns.
func (c *claude) settle(s *Output) {
	if c.Tasks.Held == nil {
		return
	}
	if len(c.Tasks.Live) > 0 || c.Tasks.Turn || !c.Tasks.Idle || len(c.Unread) > 0 {
		c.Tasks.showWait(s)
		return
	}
	c.finishExchange(s, c.Tasks.settled())
}

// finishExchange ends the exchange.
func (c *claude) finishExchange(s *Output, r outcome) {
	r.Accepted = r.Code != "" && c.Plan.isReached()
	r.Unasked = maps.Clone(c.Calls.Unasked)
	c.endTurn(s)
	c.endRequests(s)
	clear(c.Tasks.Runs)
	clear(c.Tasks.Front)
	c.Pieces = claudePieces{}
	c.Base, c.Spent, c.Tasks.Busy, c.Interrupted = c.Total, claudeTotals{}, false, false
	c.Tasks.finish(s, r)
	c.Tasks.moveRequests(s)
}

// forbiddenError returns the message of an exchange that has started background tasks although
// that is forbidden.
func (c *claude) forbiddenError() string {
	return fmt.Sprintf("host '%s' started background work, which was stopped: %s", c.cfg.Host, Titles(append(c.Tasks.Past, c.Tasks.live()...)))
}

// Count implements Worker.
func (c *claude) Count() int64 { return c.Tasks.Changes }

// Settles implements Worker.
func (c *claude) Settles() (waits, stops bool) { return c.Tasks.settles() }

// Polls implements Worker.
func (c *claude) Polls() bool { return c.Tasks.Held != nil && len(c.Tasks.Live) == 0 && !c.Tasks.Turn }

// Work returns what Claude Code works on.
func (c *claude) Work() Work {
	w := c.Tasks.report(c.Tasks.Turn)
	for _, id := range sortedKeys(c.Open) {
		if q := c.Open[id]; q.Message != nil {
			w.Requests = append(w.Requests, q.Message)
		}
	}
	return w
}
