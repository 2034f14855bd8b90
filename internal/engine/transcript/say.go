package transcript

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/runtime/budget"
	"github.com/concerto-lang/concerto/runtime/llm"
)

// logLine logs a line. It begins with the task, unless that is a root task, and with the stage.
func (r *Recorder) logLine(task int64, stage, format string, args ...any) {
	if r.options.Log == nil {
		return
	}
	where := ""
	if t := r.tasks[task]; t == nil && task != 0 || t != nil && !t.root {
		where = fmt.Sprintf("task %d: ", task)
	}
	if stage != "" {
		where += stage + ": "
	}
	r.options.Log(where + fmt.Sprintf(format, args...))
}

// body logs the lines of a text, if bodies are enabled.
func (r *Recorder) body(who, text string) {
	if r.options.Log == nil || !r.options.Bodies || text == "" {
		return
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		r.options.Log("  " + who + "| " + line)
	}
}

func (r *Recorder) logRequest(e llm.Event, c *call) {
	q := e.Call
	what := counted(len(q.Messages), "message")
	if len(q.Tools) > 0 {
		what += ", " + counted(len(q.Tools), "tool")
	}
	if q.Schema != nil {
		what += ", a schema"
	}
	repeated := ""
	if e.Attempt > 1 {
		repeated = fmt.Sprintf(", attempt %d of %d", e.Attempt, e.Of)
	}
	r.logLine(c.task, c.stage, "agent %s asks %s of connection %s%s: %s", q.Agent, e.Model, e.Connection, repeated, what)
	// Only the messages after the model's last reply are new.
	news := q.Messages
	for i := len(news) - 1; i >= 0; i-- {
		if news[i].Role == "assistant" {
			news = news[i+1:]
			break
		}
	}
	if len(news) == len(q.Messages) {
		r.body("system", q.System)
	}
	for _, m := range news {
		r.body(m.Role, m.Content)
	}
}

func (r *Recorder) logReply(e llm.Event, c *call, u budget.Usage) {
	x := e.Reply
	what := fmt.Sprintf("%d tokens in, %d out", x.TokensIn, x.TokensOut)
	if u.Priced && u.Cost > 0 {
		what += ", $" + u.Cost.String()
	}
	if len(x.ToolCalls) > 0 {
		var names []string
		for _, t := range x.ToolCalls {
			names = append(names, t.Name)
		}
		what += ", it calls " + strings.Join(names, ", ")
	} else if x.StopReason != "end" && x.StopReason != "" {
		what += ", stopped by " + x.StopReason
	}
	model := e.Model
	if x.Model != "" {
		model = x.Model
	}
	r.logLine(c.task, c.stage, "agent %s: %s answers in %.3f s: %s", e.Call.Agent, model, e.Took.Seconds(), what)
	r.body("assistant", x.Text)
}

func (r *Recorder) logFailure(e llm.Event, c *call) {
	r.logLine(c.task, c.stage, "agent %s: %s", e.Call.Agent, e.Err)
}

func (r *Recorder) logRetry(e llm.Event, c *call) {
	r.logLine(c.task, c.stage, "agent %s asks again in %.3f s, attempt %d of %d", e.Call.Agent, e.Wait.Seconds(), e.Attempt, e.Of)
}

// logStep logs a step, unless the library already logs it.
func (r *Recorder) logStep(x *step) {
	switch x.Kind {
	case effect.StepToolCall:
		r.logLine(x.Task, x.Stage, "%s calls %s", x.Agent, x.Tool)
		r.body(x.Tool, *x.Arguments)
	case effect.StepToolResult:
		took := ""
		if x.Seconds != nil {
			took = fmt.Sprintf(" in %.3f s", *x.Seconds)
		}
		if x.Failed {
			r.logLine(x.Task, x.Stage, "%s: %s fails%s", x.Agent, x.Tool, took)
		} else {
			r.logLine(x.Task, x.Stage, "%s: %s returns %s%s", x.Agent, x.Tool, counted(len(*x.Result), "byte"), took)
		}
		r.body(x.Tool, *x.Result)
	case effect.StepRepair:
		r.logLine(x.Task, x.Stage, "agent %s: the reply does not fit the schema, attempt %d of %d follows", x.Agent, x.Attempt, x.Of)
		r.body("wrong", x.Message)
	}
}

func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
