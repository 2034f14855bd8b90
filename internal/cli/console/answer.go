package console

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/term/prompt"
	"github.com/concerto-lang/concerto/internal/term/screen"
	"github.com/concerto-lang/concerto/runtime/world/emit"
)

// PipedInput returns standard input if it is a pipe or a file. It returns nil for a terminal and
// for a device such as /dev/null.
func (a *Console) PipedInput() io.Reader {
	if f, ok := a.Stdin.(*os.File); ok {
		if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice != 0 {
			return nil
		}
	}
	return a.Stdin
}

// interaction holds the prompts and the screen of the terminal. They are created on first use, and
// only once, because only one reader may read the keys.
type interaction struct {
	NoInput    bool // prompts are disabled
	Questioner emit.Prompter
	drawn      *screen.Screen
	// Interrupt handles Ctrl-C while a prompt reads single keys.
	Interrupt func()
}

// Prompter returns the prompter of the terminal, or nil if stdin is no terminal. Hosts' questions
// are shown only if stderr is a terminal, too.
func (a *Console) Prompter() emit.Prompter {
	switch {
	case a.Debugging.Debugger != nil && a.Debugging.Debugger.Launched():
		return a.Debugging.Debugger
	case !a.TTY.In || a.NoInput:
		return nil
	case a.Questioner != nil:
	case a.TTY.ErrScreen:
		a.Questioner = &prompt.Person{Terminal: a.Bottom(), Read: userfile.ReadCompared, Now: time.Now}
	case a.TTY.Err:
		a.Questioner = &prompt.Person{Terminal: prompt.NewLines(emit.NewTerminal(a.Stdin, a.Stderr)), Read: userfile.ReadCompared, Now: time.Now}
	default:
		a.Questioner = emit.NewTerminal(a.Stdin, a.Stderr)
	}
	return a.Questioner
}

// MarkEditable sets which hosts accept edited arguments of an approval. Hosts with the codex and
// acp protocols do not.
func (a *Console) MarkEditable(p *engine.Program) {
	asked, ok := a.Questioner.(*prompt.Person)
	if !ok {
		return
	}
	fixed := map[string]bool{}
	configs, _ := p.HostConfigs() // the run reports errors of the hosts' configuration
	for _, c := range configs {
		fixed[c.Name] = c.Transport == "codex" || c.Transport == "acp"
	}
	asked.Edits = func(host string) bool { return !fixed[host] }
}

// Bottom returns the screen at the bottom of the terminal, which shows prompts and progress.
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

// redrawEvery is the interval between redraws.
const redrawEvery = time.Second / 8

// BeginDrawing starts to redraw the bottom of the terminal if stderr is a terminal. Until end is
// called, all output appears above the bottom.
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
