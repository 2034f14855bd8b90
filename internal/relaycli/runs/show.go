package runs

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	tell "github.com/concerto-lang/concerto/relay/client"
	"github.com/concerto-lang/concerto/relay/protocol"
)

// show displays an event of the run. If the run has a terminal, it writes only the run's output,
// because that shows everything else. Otherwise it also describes requests, emits and messages.
func (x *attachment) show(env *protocol.Envelope) error {
	x.clearNote()
	if x.asJSON {
		_, err := x.Stdout.Write(append(env.Append(nil), '\n'))
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
			x.note("events %d to %d of the run will never come: %s", g.From, g.To, console.DisplayText(g.Reason, 40))
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
	to := x.Stdout
	if x.spoken.Load() {
		out.Text = x.terminalLines(out.Text)
		if out.Stream == tell.Stderr {
			to = x.Stderr
		}
	}
	_, err := io.WriteString(to, out.Text)
	return err
}

// terminalLines converts the line ends of a text for the current mode of the terminal.
func (x *attachment) terminalLines(text string) string {
	return strings.ReplaceAll(text, "\n", x.t.LineEnd())
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
	return x.printf(x.Stdout, "[%s] %s", console.DisplayText(e.Channel, 64), terminal.Escape(console.TextOf(e.Payload)))
}

// showRequest displays a request and the command that answers it.
func (x *attachment) showRequest(q *protocol.PermissionRequested) error {
	asks, command := requestLines(q, x.run, x.flags, console.MostPrompt)
	where := ""
	if q.From != nil && q.From.Channel != "" {
		where = "[" + console.DisplayText(q.From.Channel, 64) + "] "
	} else if q.From != nil && q.From.Host != "" {
		where = console.DisplayText(q.From.Host, 64) + " "
	}
	if q.OpTool != "" {
		asks += "\n  " + console.RequestText(q.OpTool+" "+string(q.OpArgs), console.MostArgs)
	}
	return x.printf(x.Stderr, "%sasks: %s\n  %s", where, asks, command)
}

func (x *attachment) showResolved(r *protocol.PermissionResolved) error {
	text := console.DisplayText(r.RequestID, 64) + ": " + console.DecisionText(r.Decision, r.Answer)
	if by := r.By + r.Actor; by != "" {
		if by = r.By; by == "" {
			by = r.Actor
		}
		text += " by " + console.DisplayText(by, 64)
	}
	if r.Reason != "" {
		text += ": " + console.DisplayText(r.Reason, console.MostValue)
	}
	return x.printf(x.Stderr, "%s", text)
}

// showListen displays a message between the program and a host or an agent.
func (x *attachment) showListen(l *protocol.Listen) error {
	what := ""
	switch l.Phase {
	case protocol.PhaseStart:
		what = "begins"
	case protocol.PhaseMessage:
		what = console.DisplayText(l.MessageType+" "+console.TextOf(l.Value), console.MostValue)
	case protocol.PhaseReply:
		what = "is answered: " + console.DisplayText(console.TextOf(l.Value), console.MostValue)
		if l.Error != "" {
			what = "is answered: error: " + console.DisplayText(l.Error, console.MostValue)
		}
	case protocol.PhaseComplete:
		what = "is done"
	case protocol.PhaseError:
		what = "failed: " + console.DisplayText(l.Error, console.MostValue)
	}
	if l.DurationMS != nil {
		what += " (" + (time.Duration(*l.DurationMS) * time.Millisecond).String() + ")"
	}
	return x.printf(x.Stderr, "%s %s", console.DisplayText(l.Host, 64), what)
}
