package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	tell "github.com/concerto-lang/concerto/internal/relay"
	"github.com/concerto-lang/concerto/relay/protocol"
)

func (a *app) attachCommand() *cobra.Command {
	var r reach
	var asJSON bool
	c := &cobra.Command{
		Use:   "attach RUN",
		Short: "Show a run, and type into it",
		Long: `Shows the end of what a run wrote and what it writes, and types into it what is typed here.

  concerto-relay attach RUN
  concerto-relay attach RUN --json        its events, from its beginning

A run of Concerto, of an NDJSON host or an ACP agent reads no keys: Ctrl-C stops it.

Ctrl-] d detaches. The exit code is the run's.` + reachHelp + ` There it is shown only.`,
		Args: takes(1, 1, "concerto-relay attach RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			e, err := a.reachEnd(&r)
			if err != nil {
				return err
			}
			off := "-16384"
			if asJSON {
				off = "0"
			}
			return a.attach(ctxOf(c), e, args[0], a.ours(), asJSON, off)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print envelopes, a line each")
	a.reachFlags(c, &r, true)
	return c
}

// errDetached ends an attachment.
var errDetached = errors.New("detached")

// attach shows a run until its end, whose exit code becomes ours.
func (a *app) attach(ctx context.Context, e *end, run string, t *tty, asJSON bool, off string) error {
	ctx, detach := context.WithCancelCause(ctx)
	defer detach(nil)
	if !e.remote() && !asJSON {
		restore, err := t.raw()
		if err != nil {
			return err
		}
		defer restore()
		go a.typed(ctx, e, run, t, func() { detach(errDetached) })
		stop := t.resized(func(cols, rows int64) {
			_ = e.call(ctx, http.MethodPost, runPath(run)+"/resize", protocol.Resize{Cols: cols, Rows: rows}, nil) // the run may have ended
		})
		defer stop()
	}
	var exit *protocol.Exited
	err := e.follow(ctx, run, off, func(env protocol.Envelope) error {
		if env.Type == protocol.RunExited {
			x, err := protocol.Decode[protocol.Exited](&env)
			if err != nil {
				return err
			}
			exit = &x
		}
		return a.showEvent(&env, t, asJSON)
	})
	switch {
	case errors.Is(context.Cause(ctx), errDetached):
		fmt.Fprintf(a.stderr, "\r\ndetached: the run goes on, `concerto-relay attach %s` comes back\r\n", run)
		return nil
	case err != nil:
		return err
	case exit == nil:
		return fmt.Errorf("nobody knows how run %s ended", run)
	}
	return a.ended(run, exit)
}

func runPath(run string) string { return "/runs/" + url.PathEscape(run) }

// ended gives the run's exit code.
func (a *app) ended(run string, x *protocol.Exited) error {
	switch {
	case x.ExitCode == 0:
		return nil
	case x.ExitCode < 0 || x.ExitCode > 255:
		fmt.Fprintf(a.stderr, "concerto-relay: run %s is lost: nobody knows how it ended\n", run)
		return exitError(exitFailed)
	}
	return exitError(int(x.ExitCode))
}

func (a *app) showEvent(env *protocol.Envelope, t *tty, asJSON bool) error {
	if asJSON {
		_, err := a.stdout.Write(append(env.Append(nil), '\n'))
		return err
	}
	switch env.Type {
	case protocol.RunStarted:
		of, err := protocol.Decode[protocol.Started](env)
		t.spoken.Store(err == nil && of.Source != "" && of.Source != "pty")
		return err
	case protocol.RunPermissionRequested:
		q, err := protocol.Decode[protocol.PermissionRequested](env)
		if err == nil && t.spoken.Load() { // nothing else shows it
			fmt.Fprintf(a.stderr, "%s%s asks: %s%[1]sconcerto-relay approve %[2]s %[4]s%[1]s", t.lineEnd(), env.RunID, q.Prompt, q.RequestID)
		}
		return err
	case protocol.RunOutput:
		out, err := protocol.Decode[protocol.Output](env)
		if err != nil {
			return err
		}
		to := a.stdout
		if t.spoken.Load() {
			out.Text = strings.ReplaceAll(out.Text, "\n", t.lineEnd())
			if out.Stream == tell.Stderr {
				to = a.stderr
			}
		}
		_, err = io.WriteString(to, out.Text)
		return err
	}
	return nil
}

// detachKey begins what detaches: then d. Twice it is typed itself.
const detachKey = 0x1d // Ctrl-]

// stopKey stops a run that reads no keys.
const stopKey = 0x03 // Ctrl-C

// typed sends what is typed to the run, until its end.
func (a *app) typed(ctx context.Context, e *end, run string, t *tty, detach func()) {
	b := make([]byte, 4<<10)
	var rest []byte // of a character
	for held := false; ; {
		n, err := a.stdin.Read(b)
		if err != nil {
			return
		}
		var keys []byte
		for _, c := range b[:n] {
			switch {
			case held && c == 'd':
				detach()
				return
			case t.keys && !held && c == detachKey:
				held = true
				continue
			case held && c != detachKey:
				keys = append(keys, detachKey)
			}
			held = false
			keys = append(keys, c)
		}
		text, left := wholeText(append(rest, keys...))
		if rest = left; text == "" {
			continue
		}
		if t.spoken.Load() { // it reads no keys
			if strings.ContainsRune(text, stopKey) {
				if err := e.call(ctx, http.MethodPost, runPath(run)+"/stop", protocol.Stop{}, nil); err != nil && ctx.Err() == nil {
					fmt.Fprintf(a.stderr, "\r\nconcerto-relay: it is not stopped: %v\r\n", err)
				}
			}
			continue
		}
		if err := e.call(ctx, http.MethodPost, runPath(run)+"/keys", protocol.SendKeys{Keys: text}, nil); err != nil && ctx.Err() == nil {
			fmt.Fprintf(a.stderr, "\r\nconcerto-relay: what was typed is not written: %v\r\n", err)
		}
	}
}
