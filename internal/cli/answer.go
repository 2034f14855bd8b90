package cli

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/term/prompt"
	"github.com/concerto-lang/concerto/internal/term/screen"
)

// piped returns standard input if it is no terminal and can hold lines: not a
// device such as /dev/null.
func (a *app) piped() io.Reader {
	if f, ok := a.stdin.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return nil
		}
	}
	return a.stdin
}

// person are the parts of a command that somebody at a terminal sees and types
// into. They are made when they are first needed, once: one reads what is typed.
type person struct {
	noInput bool // nobody is asked
	asked   engine.Prompter
	drawn   *screen.Screen
	// interrupt is what Ctrl-C does while a prompt takes each key.
	interrupt func()
}

// prompter asks on the terminal, when there is one. Hosts' questions are put
// there when it can also be seen what is asked.
func (a *app) prompter() engine.Prompter {
	switch {
	case a.debugged != nil && a.debugged.Launched():
		return a.debugged
	case !a.terminal || a.noInput:
		return nil
	case a.asked != nil:
	case a.errScreen:
		a.asked = &prompt.Person{Terminal: a.bottom(), Now: time.Now}
	case a.errTerminal:
		a.asked = &prompt.Person{Terminal: prompt.NewLines(engine.NewTerminal(a.stdin, a.stderr)), Now: time.Now}
	default:
		a.asked = engine.NewTerminal(a.stdin, a.stderr)
	}
	return a.asked
}

// editing says of which hosts what they ask to do can be edited: who speaks
// another protocol does what it asked for, or nothing.
func (a *app) editing(p *engine.Program) {
	asked, ok := a.asked.(*prompt.Person)
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

// bottom is the bottom of the terminal, where prompts and what a run does are
// drawn.
func (a *app) bottom() *screen.Screen {
	if a.drawn == nil {
		a.drawn = screen.New(screen.Options{
			Out: a.stderr, Size: a.size, Color: a.color, Keys: a.stdin, Raw: a.raw, Now: time.Now,
			Interrupt: func() {
				if a.interrupt != nil {
					a.interrupt()
				}
			},
		})
	}
	return a.drawn
}

// redrawEvery is how often what has changed is drawn.
const redrawEvery = time.Second / 8

// drawing has what is written from now on stand above what is drawn at the bottom
// of the terminal, if there is one, until end is called.
func (a *app) drawing() (end func()) {
	if !a.errScreen {
		return func() {}
	}
	s, stderr, stdout := a.bottom(), a.stderr, a.stdout
	a.stderr = s.Writer(stderr)
	if a.outTerminal {
		a.stdout = s.Writer(stdout)
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
		a.stderr, a.stdout = stderr, stdout
	})
}
