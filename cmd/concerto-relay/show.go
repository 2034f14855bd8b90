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

// show displays an event of the run. If the run has a terminal, it writes only the run's output,
// because that shows everything else. Otherwise it also describes requests, emits and messages.
func (x *attachment) show(env *protocol.Envelope) error {
	x.clearNote()
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
		return showAs(env, x.showOutput)
	case protocol.RunGap:
		return showAs(env, func(g *protocol.Gap) error {
			x.note("events %d to %d of the run will never come: %s", g.From, g.To, displayText(g.Reason, 40))
			return nil
		})
	}
	if !x.spoken.Load() {
		return nil
	}
	switch env.Type {
	case protocol.RunPermissionRequested:
		return showAs(env, x.showRequest)
	case protocol.RunPermissionResolved:
		return showAs(env, x.showResolved)
	case protocol.RunEmit:
		return showAs(env, x.showEmit)
	case protocol.RunListen:
		return showAs(env, x.showListen)
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

func (x *attachment) showOutput(out *protocol.Output) error {
	to := x.stdout
	if x.spoken.Load() {
		out.Text = x.terminalLines(out.Text)
		if out.Stream == tell.Stderr {
			to = x.stderr
		}
	}
	_, err := io.WriteString(to, out.Text)
	return err
}

// terminalLines converts the line ends of a text for the current mode of the terminal.
func (x *attachment) terminalLines(text string) string {
	return strings.ReplaceAll(text, "\n", x.t.lineEnd())
}

// printf prints a line that describes an event of the run.
func (x *attachment) printf(to io.Writer, format string, args ...any) error {
	_, err := io.WriteString(to, x.terminalLines(fmt.Sprintf(format, args...)+"\n"))
	return err
}

// showEmit prints an emit in the form in which the program prints it on a terminal. It skips an
// emit that waits for an answer, because showRequest displays its request.
func (x *attachment) showEmit(e *protocol.Emit) error {
	if e.Awaited && e.RequestID != "" {
		return nil
	}
	return x.printf(x.stdout, "[%s] %s", displayText(e.Channel, 64), terminal.Escape(textOf(e.Payload)))
}

// textOf returns the content of a JSON string, and the JSON text of any other value.
func textOf(v json.RawMessage) string {
	var text string
	if json.Unmarshal(v, &text) == nil {
		return text
	}
	return string(v)
}

const (
	mostPrompt = 500  // maximum width of a prompt, in cells
	mostArgs   = 2000 // maximum width of arguments, in cells
	mostValue  = 200  // maximum width of an answer or message, in cells
)

// showRequest displays a request and the command that answers it.
func (x *attachment) showRequest(q *protocol.PermissionRequested) error {
	asks, command := requestLines(q, x.run, x.flags, mostPrompt)
	where := ""
	if q.From != nil && q.From.Channel != "" {
		where = "[" + displayText(q.From.Channel, 64) + "] "
	} else if q.From != nil && q.From.Host != "" {
		where = displayText(q.From.Host, 64) + " "
	}
	if q.OpTool != "" {
		asks += "\n  " + requestText(q.OpTool+" "+string(q.OpArgs), mostArgs)
	}
	return x.printf(x.stderr, "%sasks: %s\n  %s", where, asks, command)
}

func (x *attachment) showResolved(r *protocol.PermissionResolved) error {
	text := displayText(r.RequestID, 64) + ": " + decisionText(r.Decision, r.Answer)
	if by := r.By + r.Actor; by != "" {
		if by = r.By; by == "" {
			by = r.Actor
		}
		text += " by " + displayText(by, 64)
	}
	if r.Reason != "" {
		text += ": " + displayText(r.Reason, mostValue)
	}
	return x.printf(x.stderr, "%s", text)
}

// decisionText returns a decision as text, followed by the value of an answer.
func decisionText(decision string, answer json.RawMessage) string {
	switch decision {
	case protocol.DecisionApprove:
		return "approved"
	case protocol.DecisionDeny:
		return "denied"
	case protocol.DecisionAnswer:
		if answer == nil {
			return "answered"
		}
		return "answered " + requestText(string(answer), mostValue)
	}
	return displayText(decision, 20) // such as withdrawn or expired
}

// showListen displays a message between the program and a host or an agent.
func (x *attachment) showListen(l *protocol.Listen) error {
	what := ""
	switch l.Phase {
	case protocol.PhaseStart:
		what = "begins"
	case protocol.PhaseMessage:
		what = displayText(l.MessageType+" "+textOf(l.Value), mostValue)
	case protocol.PhaseReply:
		what = "is answered: " + displayText(textOf(l.Value), mostValue)
		if l.Error != "" {
			what = "is answered: error: " + displayText(l.Error, mostValue)
		}
	case protocol.PhaseComplete:
		what = "is done"
	case protocol.PhaseError:
		what = "failed: " + displayText(l.Error, mostValue)
	}
	if l.DurationMS != nil {
		what += " (" + (time.Duration(*l.DurationMS) * time.Millisecond).String() + ")"
	}
	return x.printf(x.stderr, "%s %s", displayText(l.Host, 64), what)
}
