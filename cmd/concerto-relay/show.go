package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/term/terminal"

	tell "github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// show shows an event of the run. A run on a terminal produces its own display; others are
// described.
func (x *attachment) show(env *protocol.Envelope) error {
	x.goesOn()
	if x.asJSON {
		_, err := x.stdout.Write(append(env.Append(nil), '\n'))
		return err
	}
	switch env.Type {
	case protocol.RunStarted:
		of, err := protocol.Decode[protocol.Started](env)
		x.spoken.Store(err == nil && of.Source != "" && of.Source != "pty")
		return err
	case protocol.RunOutput:
		return showAs(env, x.output)
	case protocol.RunGap:
		return showAs(env, func(g *protocol.Gap) error {
			x.note("events %d to %d of the run will never come: %s", g.From, g.To, shown(g.Reason, 40))
			return nil
		})
	}
	if !x.spoken.Load() {
		return nil
	}
	switch env.Type {
	case protocol.RunPermissionRequested:
		return showAs(env, x.asks)
	case protocol.RunPermissionResolved:
		return showAs(env, x.resolved)
	case protocol.RunEmit:
		return showAs(env, x.emit)
	case protocol.RunListen:
		return showAs(env, x.listen)
	}
	return nil
}

func showAs[T any](env *protocol.Envelope, show func(*T) error) error {
	data, err := protocol.Decode[T](env)
	if err != nil {
		return err
	}
	return show(&data)
}

func (x *attachment) output(out *protocol.Output) error {
	to := x.stdout
	if x.spoken.Load() {
		out.Text = x.lines(out.Text)
		if out.Stream == tell.Stderr {
			to = x.stderr
		}
	}
	_, err := io.WriteString(to, out.Text)
	return err
}

// lines are lines of a text as our terminal takes them.
func (x *attachment) lines(text string) string {
	return strings.ReplaceAll(text, "\n", x.t.lineEnd())
}

// said prints a line about a run, separate from its output.
func (x *attachment) said(to io.Writer, format string, args ...any) error {
	_, err := io.WriteString(to, x.lines(fmt.Sprintf(format, args...)+"\n"))
	return err
}

// emit shows an emit as the program's own terminal does. One that waits for an answer is shown as
// what it asks.
func (x *attachment) emit(e *protocol.Emit) error {
	if e.Awaited && e.RequestID != "" {
		return nil
	}
	return x.said(x.stdout, "[%s] %s", shown(e.Channel, 64), terminal.Escape(textOf(e.Payload)))
}

// textOf is a value as it is read: a text as it is, another as JSON.
func textOf(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

const (
	mostPrompt = 500  // cells of what is asked
	mostArgs   = 2000 // of what would be done
	mostValue  = 200  // of a host's text
)

// asks shows a request, and the command that answers it.
func (x *attachment) asks(q *protocol.PermissionRequested) error {
	asks, command := requestLines(q, x.run, x.again, mostPrompt)
	where := ""
	if q.From != nil && q.From.Channel != "" {
		where = "[" + shown(q.From.Channel, 64) + "] "
	} else if q.From != nil && q.From.Host != "" {
		where = shown(q.From.Host, 64) + " "
	}
	if q.OpTool != "" {
		asks += "\n  " + asked(q.OpTool+" "+string(q.OpArgs), mostArgs)
	}
	return x.said(x.stderr, "%sasks: %s\n  %s", where, asks, command)
}

func (x *attachment) resolved(r *protocol.PermissionResolved) error {
	text := shown(r.RequestID, 64) + ": " + decided(r.Decision, r.Answer)
	if by := r.By + r.Actor; by != "" {
		if by = r.By; by == "" {
			by = r.Actor
		}
		text += " by " + shown(by, 64)
	}
	if r.Reason != "" {
		text += ": " + shown(r.Reason, mostValue)
	}
	return x.said(x.stderr, "%s", text)
}

// decided returns a decision in words, an answer with its value.
func decided(decision string, answer json.RawMessage) string {
	switch decision {
	case protocol.DecisionApprove:
		return "approved"
	case protocol.DecisionDeny:
		return "denied"
	case protocol.DecisionAnswer:
		if answer == nil {
			return "answered"
		}
		return "answered " + asked(string(answer), mostValue)
	}
	return shown(decision, 20) // withdrawn, expired
}

// listen shows what passes between the program and a host or an agent.
func (x *attachment) listen(l *protocol.Listen) error {
	what := ""
	switch l.Phase {
	case "start":
		what = "begins"
	case "message":
		what = shown(l.MessageType+" "+textOf(l.Value), mostValue)
	case "reply":
		what = "is answered: " + shown(textOf(l.Value), mostValue)
		if l.Error != "" {
			what = "is answered: error: " + shown(l.Error, mostValue)
		}
	case "complete":
		what = "is done"
	case "error":
		what = "failed: " + shown(l.Error, mostValue)
	}
	if l.DurationMS != nil {
		what += " (" + (time.Duration(*l.DurationMS) * time.Millisecond).String() + ")"
	}
	return x.said(x.stderr, "%s %s", shown(l.Host, 64), what)
}
