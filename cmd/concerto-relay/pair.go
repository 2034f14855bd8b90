package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/hostd/pair"
)

// Maximum widths of a name and a link that the server sent, in terminal columns.
const mostName, mostLink = 64, 2048

func (a *app) pairCommand() *cobra.Command {
	var s hostdSettings
	var name string
	var noQR bool
	var format *cmdline.Format
	c := a.group(&cobra.Command{
		Use:   "pair",
		Short: "Pair this machine with a server",
		Long: `Prints a code of eight letters and waits until an owner of the server confirms it, at the link or by
'concerto-relay pair confirm'. From then on the server identifies this machine by a key, which is
stored in hostd's state, and accepts no token for it. A machine that the server already knows
retains its id. pair uses the settings of hostd. Exit code 1: not confirmed within 10 minutes.`,
		Example: `  concerto-relay pair --server https://relay.example
  concerto-relay hostd                       connect to the paired server
  concerto-relay pair confirm ABCD-EFGH --server https://relay.example --token-file owner-token`,
	}, a.pairConfirmCommand())
	c.RunE = func(*cobra.Command, []string) error {
		s.complete(a)
		return a.pair(&s, name, !format.IsText(), noQR)
	}
	a.hostdPathFlags(c.Flags(), &s)
	c.Flags().StringVar(&name, "name", "", "set the machine's `NAME` at the server (default: its hostname)")
	noQRFlag(c.Flags(), &noQR)
	format = cmdline.AddFormat(c, "text", "ndjson")
	return c
}

func (a *app) pair(s *hostdSettings, name string, asJSON, noQR bool) error {
	if s.server == "" {
		return usage("add --server URL", "no server is set")
	}
	if err := a.checkServerURL(s.server); err != nil {
		return err
	}
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			return a.invalidSetting("name", "add --name NAME", "could not read the machine's name: %v", err)
		}
	}
	o := pair.Options{Server: s.server, Dir: s.state, Name: fmt.Sprintf("%.64s", name), MachineID: s.machineID, Token: a.env("HOST_TOKEN")}
	if err := a.loadCredentials(s, &o); err != nil {
		return err
	}
	ctx, stop := a.signalContext()
	defer stop()
	b, err := pair.Begin(ctx, o)
	if err != nil {
		return err
	}
	if err := a.showPairing(b, s.server, asJSON); err != nil {
		return err
	}
	if !asJSON && !noQR && displayText(b.Link, mostLink) == b.Link { // the code contains the link that is shown
		printQR(a, a.stdout, b.Link)
	}
	pairing, err := b.Wait(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("stopped before the pairing was confirmed")
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(a.stdout).Encode(map[string]string{"host_id": pairing.MachineID})
	}
	fmt.Fprintf(a.stdout, "paired as %s: hostd connects by its key from now on\n", pairing.MachineID)
	return nil
}

// loadCredentials adds this machine's id and access token to the options, if it already has
// them.
func (a *app) loadCredentials(s *hostdSettings, o *pair.Options) error {
	if s.tokenFile != "" {
		text, err := userfile.ReadStream(s.tokenFile, userfile.MaxSecret)
		if err != nil {
			return a.invalidSetting("token-file", "", "%v", err)
		}
		o.Token = strings.TrimSpace(string(text))
	}
	for file, into := range map[string]*string{"host-id": &o.MachineID, "host-token": &o.Token} {
		if *into != "" {
			continue
		}
		if text, err := os.ReadFile(filepath.Join(s.state, file)); err == nil {
			*into = strings.TrimSpace(string(text))
		} else if !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("read this machine's id: %w", err)
		}
	}
	return nil
}

func (a *app) showPairing(b *pair.Request, server string, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(a.stdout).Encode(map[string]any{"code": b.Code, "link": b.Link, "fingerprint": b.Fingerprint, "expires_in": int64(b.ExpiresIn / time.Second)})
	}
	_, err := fmt.Fprintf(a.stdout, `code         %s
link         %s
fingerprint  %s
An owner opens the link, compares the fingerprint and confirms the code within %v; or
  concerto-relay pair confirm %s --server %s --token-file FILE
`, displayText(b.Code, mostName), displayText(b.Link, mostLink), b.Fingerprint, b.ExpiresIn, displayText(b.Code, mostName), server)
	return err
}

func (a *app) pairConfirmCommand() *cobra.Command {
	w := &managerFlags{}
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "confirm CODE",
		Short: "Confirm the machine that shows a code",
		Long: `On a terminal, shows the machine's fingerprint and asks before it confirms the machine. Answer yes
only if that machine shows the same fingerprint. Without a terminal, confirms without asking.` + whereHelp,
		Example: `  concerto-relay pair confirm ABCD-EFGH
  concerto-relay pair confirm ABCD-EFGH --server https://relay.example --token-file token`,
		Args: argsBetween(1, 1, "concerto-relay pair confirm ABCD-EFGH"),
	}
	yes := false
	c.RunE = func(_ *cobra.Command, args []string) error {
		return a.withManager(w, false, func(ctx context.Context, p manager) error {
			name, print, err := p.lookPairing(ctx, args[0])
			if err != nil {
				return err
			}
			name = displayText(name, mostName) // the name comes from the server, which is not trusted
			if !yes && format.IsText() && a.terminal().keys {
				fmt.Fprintf(a.stderr, "%s shows %s; is it the fingerprint on that machine? [y/N] ", name, print)
				if answer, err := firstLine(a.stdin); err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
					return errors.New("the pairing was not confirmed")
				}
			}
			machine, err := p.confirmPairing(ctx, args[0])
			switch {
			case err != nil:
				return err
			case !format.IsText():
				return json.NewEncoder(a.stdout).Encode(map[string]string{"host_id": machine, "name": name, "fingerprint": print})
			}
			_, err = fmt.Fprintf(a.stdout, "%s (%s) is paired as %s\n", name, print, machine)
			return err
		})
	}
	f := c.Flags()
	a.addManagerFlags(c, w)
	format = cmdline.AddFormat(c, "text", "json")
	f.BoolVar(&yes, "yes", false, "confirm without asking")
	return c
}
