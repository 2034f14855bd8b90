package runs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/engine/timetravel/view"
)

// screen is a view that fills the terminal.
type screen interface {
	// Draw returns the rows, at most height of them.
	Draw(width, height int) []string
	// Type handles typed input. leave means that the user quits.
	Type(keys []byte) (leave bool, err error)
}

// Control sequences that switch to the terminal's alternate screen and back.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
)

// resizeInterval is the interval at which the terminal's size is checked, on systems that do not
// report its changes.
const resizeInterval = time.Second

// suspendKey is the byte of Ctrl-Z.
const suspendKey = 0x1a

// interact draws a view and handles keys until the user quits. It restores the terminal before it
// returns. updated, which may be nil, receives a value when the view has changed by itself.
func interact(ctx context.Context, a *console.Console, b screen, updated <-chan struct{}, signals *interrupt.Handler) error {
	restore, err := a.TTY.Raw()
	if err != nil {
		return fmt.Errorf("read keys from the terminal: %w", err)
	}
	restoreView := func() {
		_, _ = io.WriteString(a.Stdout, leaveScreen) // an error of the terminal cannot be reported on the terminal
		restore()
	}
	signals.OnForcedExit(func() { restoreView() })
	defer func() { restoreView() }()
	<-signals.Ready // do not change the terminal before signals are caught, because the handler restores the terminal
	if _, err := io.WriteString(a.Stdout, enterScreen); err != nil {
		return err
	}
	keys := readKeys(ctx, a.Stdin)
	ticker := time.NewTicker(resizeInterval)
	defer ticker.Stop()
	resized := make(chan os.Signal, 1)
	notifyResize(resized)
	defer signal.Stop(resized)
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
			if len(k) == 1 && k[0] == suspendKey {
				restoreView()
				suspend()
				if restore, err = a.TTY.Raw(); err != nil {
					return fmt.Errorf("read keys from the terminal: %w", err)
				}
				if _, err := io.WriteString(a.Stdout, enterScreen); err != nil {
					return err
				}
				drawn = canvas{}
				continue
			}
			leave, err := b.Type(k)
			if errors.Is(err, view.ErrInterrupted) {
				err = console.ErrInterrupted
			}
			if leave || err != nil {
				return err
			}
		case <-updated:
			drawn.stale = true
		case <-resized:
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
func (c *canvas) show(to io.Writer, b screen, width, height int) error {
	whole := width != c.width || height != c.height
	if !whole && !c.stale {
		return nil
	}
	rows := b.Draw(width, height)
	var out bytes.Buffer
	if whole {
		out.WriteString("\x1b[H\x1b[J")
	}
	for i := range max(len(rows), len(c.rows)) {
		r := ""
		if i < len(rows) {
			r = rows[i]
		}
		if whole || i >= len(c.rows) || r != c.rows[i] {
			fmt.Fprintf(&out, "\x1b[%d;1H%s\x1b[K", i+1, r)
		}
	}
	c.rows, c.width, c.height, c.stale = rows, width, height, false
	_, err := to.Write(out.Bytes())
	return err
}
