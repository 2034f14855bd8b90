package adapter

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/text/jsonwrite"
)

// claudeForbidden lists Claude Code's tools that only start background work. Claude Code is started
// without them.
var claudeForbidden = []string{"Workflow", "Monitor", "CronCreate", "ScheduleWakeup"}

// claudeEnviron makes Claude Code run its subagents and commands in the foreground, and report when
// it is idle.
var claudeEnviron = []string{"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS=1", "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS=1"}

// claudeTask is a task of Claude Code: a subagent, or a command that it does not wait for.
type claudeTask struct {
	ID          string `json:"task_id"`
	Type        string `json:"task_type"`
	Description string `json:"description"`
	Status      string `json:"status"`
	Ambient     bool   `json:"ambient"` // the task is no activity
	Hidden      bool   `json:"skip_transcript"`
}

// claudeTaskKinds maps Claude Code's types of tasks to words. Another type is used as it is.
var claudeTaskKinds = map[string]string{"local_agent": "agent", "remote_agent": "agent", "local_bash": "command", "local_workflow": "workflow"}

// title returns a name such as `agent "review"`.
func (t *claudeTask) title() string {
	kind := cmp.Or(claudeTaskKinds[t.Type], t.Type, "task")
	if t.Description == "" {
		return kind
	}
	return fmt.Sprintf("%s %q", kind, short(t.Description))
}

func (c *claude) taskStarted(s *Output, m *claudeLine) {
	var t claudeTask
	if json.Unmarshal(m.line, &t) != nil || t.ID == "" || t.Ambient || t.Hidden || c.isForeign() {
		s.Quiet = typeName(m.Type, m.Subtype)
		return
	}
	c.Tasks[t.ID] = t.title()
	s.progress("task", t.title()+" has started", m.line)
}

func (c *claude) taskEnded(s *Output, m *claudeLine) {
	var t claudeTask
	title := ""
	if json.Unmarshal(m.line, &t) == nil {
		title = c.Tasks[t.ID]
		delete(c.Tasks, t.ID)
	}
	if title == "" || c.isForeign() {
		s.Quiet = typeName(m.Type, m.Subtype)
		return
	}
	s.progress("task", title+" "+cmp.Or(t.Status, "has ended"), m.line)
}

// tasksChanged stops each background task, because the exchange does not wait for its end. The
// exchange then fails.
func (c *claude) tasksChanged(s *Output, m *claudeLine) {
	var list struct {
		Tasks []claudeTask `json:"tasks"`
	}
	s.Quiet = typeName(m.Type, m.Subtype)
	if json.Unmarshal(m.line, &list) != nil {
		return
	}
	for _, t := range list.Tasks {
		if t.Ambient || t.Hidden || t.ID == "" || c.Stopped[t.ID] {
			continue
		}
		c.Stopped[t.ID] = true
		c.Control++
		s.addLines(jsonwrite.MustEncode(obj{"type": "control_request", "request_id": fmt.Sprintf("t%d", c.Control), "request": obj{"subtype": "stop_task", "task_id": t.ID}}))
		if !c.isForeign() {
			c.Background = append(c.Background, t.title())
		}
	}
}

// maxTitles is the number of tasks that an error names.
const maxTitles = 5

// backgroundError returns the message of an exchange that has started background tasks.
func (c *claude) backgroundError() string {
	titles := c.Background[:min(len(c.Background), maxTitles)]
	text := fmt.Sprintf("host '%s' started background work, which was stopped: %s", c.cfg.Host, strings.Join(titles, ", "))
	if more := len(c.Background) - len(titles); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
