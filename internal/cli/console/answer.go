package console

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/term/prompt"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// PipedInput returns standard input if it is no terminal and can hold lines: not a
// device such as /dev/null.
func (a *Console) PipedInput() io.Reader {
	if f, ok := a.Stdin.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return nil
		}
	}
	return a.Stdin
}

// person are the parts of a command that somebody at a terminal sees and types
// into. They are made when they are first needed, once: one reads what is typed.
type person struct {
	NoInput bool // nobody is asked
	Asked   emit.Prompter
	drawn   *screen.Screen
	// Interrupt is what Ctrl-C does while a prompt takes each key.
	Interrupt func()
}

// Prompter asks on the terminal, when there is one. Hosts' questions are put
// there when it can also be seen what is asked.
func (a *Console) Prompter() emit.Prompter {
	switch {
	case a.Debugging.Debugger != nil && a.Debugging.Debugger.Launched():
		return a.Debugging.Debugger
	case !a.TTY.In || a.NoInput:
		return nil
	case a.Asked != nil:
	case a.TTY.ErrScreen:
		a.Asked = &prompt.Person{Terminal: a.Bottom(), Now: time.Now}
	case a.TTY.Err:
		a.Asked = &prompt.Person{Terminal: prompt.NewLines(emit.NewTerminal(a.Stdin, a.Stderr)), Now: time.Now}
	default:
		a.Asked = emit.NewTerminal(a.Stdin, a.Stderr)
	}
	return a.Asked
}

// MarkEditable says of which hosts what they ask to do can be edited: who speaks
// another protocol does what it asked for, or nothing.
func (a *Console) MarkEditable(p *engine.Program) {
	asked, ok := a.Asked.(*prompt.Person)
	if !ok {
		return
	}
	fixed := map[string]bool{}
	configs, _ := p.HostConfigs() // the run says what is wrong with them
	for _, c := range configs {
		fixed[c.Name] = c.Transport == "codex" || c.Transport == "acp"
	}
	asked.Edits = func(host string) bool { return !fixed[host] }
}

// Bottom is the bottom of the terminal, where prompts and what a run does are
// drawn.
func (a *Console) Bottom() *screen.Screen {
	if a.drawn == nil {
		a.drawn = screen.New(screen.Options{
			Out: a.Stderr, Size: a.TTY.Size, Color: a.TTY.Color, Keys: a.Stdin, Raw: a.TTY.Raw, Now: time.Now,
			Interrupt: func() {
				if a.Interrupt != nil {
					a.Interrupt()
				}
			},
		})
	}
	return a.drawn
}

// redrawEvery is how often what has changed is drawn.
const redrawEvery = time.Second / 8

// BeginDrawing has what is written from now on stand above what is drawn at the bottom
// of the terminal, if there is one, until end is called.
func (a *Console) BeginDrawing() (end func()) {
	if !a.TTY.ErrScreen {
		return func() {}
	}
	s, stderr, stdout := a.Bottom(), a.Stderr, a.Stdout
	a.Stderr = s.Writer(stderr)
	if a.TTY.Out {
		a.Stdout = s.Writer(stdout)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(redrawEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				s.Refresh()
			case <-ctx.Done():
				return
			}
		}
	}()
	return sync.OnceFunc(func() {
		stop()
		<-ended
		s.Clear()
		a.Stderr, a.Stdout = stderr, stdout
	})
}
