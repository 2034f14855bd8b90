package transcript

import (
	"fmt"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/effect"
	"github.com/concerto-lang/concerto/internal/record/event"
	"github.com/concerto-lang/concerto/runtime/budget"
)

// logLine logs a line. It begins with the task, unless that is a root task, and with the stage.
func (r *Recorder) logLine(e *event.Event, format string, args ...any) {
	if r.options.Log == nil {
		return
	}
	where := ""
	if t := r.tasks[e.Task]; t == nil && e.Task != 0 || t != nil && !t.root {
		where = fmt.Sprintf("task %d: ", e.Task)
	}
	if e.Stage != "" {
		where += e.Stage + ": "
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

func (r *Recorder) logRequest(e *event.Event) {
	a, q := e.Attempt, e.Attempt.Call
	what := counted(len(q.Messages), "message")
	if len(q.Tools) > 0 {
		what += ", " + counted(len(q.Tools), "tool")
	}
	if q.Schema != nil {
		what += ", a schema"
	}
	repeated := ""
	if a.Number > 1 {
		repeated = fmt.Sprintf(", attempt %d of %d", a.Number, a.Of)
	}
	r.logLine(e, "agent %s asks %s of connection %s%s: %s", q.Agent, a.Model, a.Connection, repeated, what)
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

func (r *Recorder) logReply(e *event.Event) {
	x, u := e.Attempt.Reply, e.Attempt.Used
	what := fmt.Sprintf("%d tokens in, %d out", x.TokensIn, x.TokensOut)
	if x.Cached > 0 {
		what = fmt.Sprintf("%d tokens in, %d of them cached, %d out", x.TokensIn, x.Cached, x.TokensOut)
	}
	if x.Estimated {
		what += " (an estimate)"
	}
	if u.Unpriced == 0 && u.Cost > 0 {
		what += ", $" + budget.Money(u.Cost).String()
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
	model := e.Attempt.Model
	if x.Model != "" {
		model = x.Model
	}
	r.logLine(e, "agent %s: %s answers in %.3f s: %s", e.Name, model, e.Attempt.Took.Seconds(), what)
	r.body("assistant", x.Text)
}

// logStep logs a step, unless the library already logs it.
func (r *Recorder) logStep(e *event.Event, x *step) {
	switch x.Kind {
	case effect.StepToolCall:
		r.logLine(e, "%s calls %s", x.Agent, x.Tool)
		r.body(x.Tool, *x.Arguments)
	case effect.StepToolResult:
		took := ""
		if x.Seconds != nil {
			took = fmt.Sprintf(" in %.3f s", *x.Seconds)
		}
		if x.Failed {
			r.logLine(e, "%s: %s fails%s", x.Agent, x.Tool, took)
		} else {
			r.logLine(e, "%s: %s returns %s%s", x.Agent, x.Tool, counted(len(*x.Result), "byte"), took)
		}
		r.body(x.Tool, *x.Result)
	case effect.StepRepair:
		r.logLine(e, "agent %s: the reply does not fit the schema, attempt %d of %d follows", x.Agent, x.Attempt, x.Of)
		r.body("wrong", x.Message)
	}
}

func counted(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
