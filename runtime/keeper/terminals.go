package keeper

import (
	"github.com/concerto-lang/concerto/internal/process/holder"
	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// Terminals are the commands that a process has had started, as a capture.Set.
type Terminals struct{ c *Conn }

// Terminals gives the commands that the process has had started. They end with it.
func (c *Conn) Terminals() *Terminals { return &Terminals{c} }

func (t *Terminals) request(a request) (reply, error) {
	if t.c.link == nil {
		return reply{}, ErrLost
	}
	a.ID = t.c.id
	return t.c.link.request(a)
}

// Open is as of a capture.Set. The error may be ErrLost or ErrLeft, as of all that follow.
func (t *Terminals) Open(number int64, spec *terminalhost.Spec) (id string, err error) {
	s, err := t.request(request{Op: opOpen, Number: number, Run: spec})
	return s.Text, err
}

// Output is as of a capture.Set.
func (t *Terminals) Output(id string) (terminalhost.Output, error) {
	s, err := t.request(request{Op: opOutput, Command: id})
	if err != nil {
		return terminalhost.Output{}, err
	}
	return *s.Output, nil
}

// Await is as of a capture.Set.
func (t *Terminals) Await(id string) (terminalhost.Exit, error) {
	s, err := t.request(request{Op: opAwait, Command: id})
	if err != nil {
		return terminalhost.Exit{}, err
	}
	return *s.Output.Exit, nil
}

// Kill is as of a capture.Set.
func (t *Terminals) Kill(id string) error {
	_, err := t.request(request{Op: opStop, Command: id})
	return err
}

// Release is as of a capture.Set.
func (t *Terminals) Release(number int64, id string) error {
	_, err := t.request(request{Op: opRelease, Number: number, Command: id})
	return err
}

// End does nothing: Conn.End ends them.
func (t *Terminals) End() {}

// handleCommand does what is asked of a command that the process has had started.
func (h *hosted) handleCommand(c *holder.Peer, a *request) {
	answer := reply{I: a.I}
	var err error
	switch a.Op {
	case opOpen:
		answer.Text, err = h.commands.Open(a.Number, a.Run)
	case opOutput:
		var o terminalhost.Output
		o, err = h.commands.Output(a.Command)
		answer.Output = &o
	case opAwait:
		h.keeper.workers.Go(func() {
			exit, err := h.commands.Await(a.Command)
			answer.Output, answer.Error = &terminalhost.Output{Exit: &exit}, refusalOf(err)
			c.Send(answer)
		})
		return
	case opStop:
		err = h.commands.Kill(a.Command)
	case opRelease:
		err = h.commands.Release(a.Number, a.Command)
	}
	answer.Error = refusalOf(err)
	c.Send(answer)
}
