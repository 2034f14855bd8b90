package keeper

import (
	"github.com/concerto-lang/concerto/internal/process/holder"
	"github.com/concerto-lang/concerto/runtime/terminalhost"
)

// Terminals are the commands that run for a process of the keeper. It has the methods of
// terminalhost.Set; each may also return ErrLost or ErrLeft.
type Terminals struct{ c *Conn }

// Terminals returns the commands that run for the process. They end with the process.
func (c *Conn) Terminals() *Terminals { return &Terminals{c} }

func (t *Terminals) request(a request) (reply, error) {
	if t.c.link == nil {
		return reply{}, ErrLost
	}
	a.ID = t.c.id
	return t.c.link.request(a)
}

// Open is like terminalhost.Set.Open.
func (t *Terminals) Open(number int64, spec *terminalhost.Spec) (id string, err error) {
	s, err := t.request(request{Op: opOpen, Number: number, Run: spec})
	return s.Text, err
}

// Output is like terminalhost.Set.Output.
func (t *Terminals) Output(id string) (terminalhost.Output, error) {
	s, err := t.request(request{Op: opOutput, Command: id})
	if err != nil {
		return terminalhost.Output{}, err
	}
	return *s.Output, nil
}

// Await is like terminalhost.Set.Await.
func (t *Terminals) Await(id string) (terminalhost.Exit, error) {
	s, err := t.request(request{Op: opAwait, Command: id})
	if err != nil {
		return terminalhost.Exit{}, err
	}
	return *s.Output.Exit, nil
}

// Kill is like terminalhost.Set.Kill.
func (t *Terminals) Kill(id string) error {
	_, err := t.request(request{Op: opStop, Command: id})
	return err
}

// Release is like terminalhost.Set.Release.
func (t *Terminals) Release(number int64, id string) error {
	_, err := t.request(request{Op: opRelease, Number: number, Command: id})
	return err
}

// End does nothing, because Conn.End ends the commands.
func (t *Terminals) End() {}

// handleCommand handles a request that concerns a terminal.
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
