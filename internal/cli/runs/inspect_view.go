package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/runs/locate"
	"github.com/concerto-lang/concerto/internal/engine/durable"
	"github.com/concerto-lang/concerto/internal/engine/runs"
	"github.com/concerto-lang/concerto/internal/engine/timetravel"
	"github.com/concerto-lang/concerto/internal/engine/timetravel/view"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/record/journal/rundir"
)

// view shows a recorded run on the terminal, until the user quits or the context is cancelled.
func (cmd *inspectCommand) view(ctx context.Context, s *timetravel.Source, tape bool, signals *interrupt.Handler) (err error) {
	if !cmd.console.TTY.In || !cmd.console.TTY.Screen || cmd.console.TTY.Raw == nil {
		return console.Usage(fmt.Sprintf("print the effects with `concerto runs inspect %s --format ndjson`", cmd.name), "inspect requires a terminal")
	}
	r, problem := s.Play(ctx, 0)
	if r == nil {
		return problem
	}
	if cmd.at > int64(len(r.Effects)) {
		return cmd.noSuchEffect(r)
	}
	session, err := r.Look()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	b, err := view.New(r, session, cmd.at, problem)
	if err != nil {
		return err
	}
	b.Name, b.Color = cmd.name, cmd.console.TTY.OutColor
	if !tape {
		b.Fork = func(effect int64, result json.RawMessage) string { return cmd.fork(r, effect, result) }
	}
	return interact(ctx, cmd.console, b, signals)
}

// Control sequences that switch to the terminal's alternate screen and back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
)

// resizeInterval is the interval at which the terminal's size is checked.
const resizeInterval = 100 * time.Millisecond

// interact draws the view and handles keys until the user quits. It restores the terminal before it
// returns.
func interact(ctx context.Context, a *console.Console, b *view.View, signals *interrupt.Handler) error {
	restore, err := a.TTY.Raw()
	if err != nil {
		return fmt.Errorf("read keys from the terminal: %w", err)
	}
	restoreView := func() {
		_, _ = io.WriteString(a.Stdout, leaveScreen) // an error of the terminal cannot be reported on the terminal
		restore()
	}
	signals.OnForcedExit(restoreView)
	defer restoreView()
	<-signals.Ready // do not change the terminal before signals are caught, because the handler restores the terminal
	if _, err := io.WriteString(a.Stdout, enterScreen); err != nil {
		return err
	}
	keys := readKeys(ctx, a.Stdin)
	ticker := time.NewTicker(resizeInterval)
	defer ticker.Stop()
	var drawn canvas
	for {
		width, height := a.TTY.Size()
		if err := drawn.show(a.Stdout, b, width, height); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case k, ok := <-keys:
			if !ok { // end of input
				return nil
			}
			drawn.stale = true
			leave, err := b.Type(k)
			if errors.Is(err, view.ErrInterrupted) {
				err = console.ErrInterrupted
			}
			if leave || err != nil {
				return err
			}
		case <-ticker.C:
		}
	}
}

// readKeys returns a channel that receives the typed input. Reading from a terminal cannot be
// cancelled: the goroutine exits when the input ends or the process exits.
func readKeys(ctx context.Context, in io.Reader) <-chan []byte {
	keys := make(chan []byte)
	go func() {
		defer close(keys)
		for {
			b := make([]byte, 256)
			n, err := in.Read(b)
			if n > 0 {
				select {
				case keys <- b[:n]:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return keys
}

// canvas stores the rows that the terminal currently shows.
type canvas struct {
	rows          []string
	width, height int
	stale         bool
}

// show draws the rows that differ from what the terminal shows.
func (c *canvas) show(to io.Writer, b *view.View, width, height int) error {
	whole := width != c.width || height != c.height
	if !whole && !c.stale {
		return nil
	}
	rows := b.Draw(width, height)
	var out bytes.Buffer
	if whole {
		out.WriteString("\x1b[H\x1b[J")
	}
	for i, r := range rows {
		if whole || i >= len(c.rows) || r != c.rows[i] {
			fmt.Fprintf(&out, "\x1b[%d;1H%s\x1b[K", i+1, r)
		}
	}
	c.rows, c.width, c.height, c.stale = rows, width, height, false
	_, err := to.Write(out.Bytes())
	return err
}

// fork forks the run and returns a message that contains the fork's directory. Without a new
// result, the run is forked at the preceding effect, because the journal does not contain what the
// program printed.
func (cmd *inspectCommand) fork(r *timetravel.Recording, effect int64, result json.RawMessage) string {
	dir, err := locate.Directory(cmd.console, cmd.name)
	if err != nil {
		return fmt.Sprintf("use concerto runs fork %s --at %d", cmd.name, effect) // the run is in an engine
	}
	if len(result) == 0 {
		effect = r.LastStored(effect)
	}
	id := procgroup.NewID()
	to := filepath.Join(filepath.Dir(dir), id)
	change := durable.Change{Effect: effect}
	if len(result) > 0 {
		change.Result = result
	}
	if _, err := runs.Fork(rundir.At(dir), rundir.At(to), id, change); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("created the fork %s; resume with: concerto runs resume %s --as-started", cmd.console.Relative(to), cmd.console.Relative(to))
}
