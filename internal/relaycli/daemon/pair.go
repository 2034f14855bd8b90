package daemon

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
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/manage"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/hostd/pair"
)

// NewPair returns the command pair. offerAccount is called on a terminal after the machine was
// paired; it offers the user to create an account.
func NewPair(a *console.Console, offerAccount func(ctx context.Context, s *HostdSettings, noQR bool) error) *cobra.Command {
	var s HostdSettings
	var name, sealed string
	var noQR bool
	var format *cmdline.Format
	c := a.Group(&cobra.Command{
		Use:   "pair",
		Short: "Pair this machine with a server",
		Long: `Prints a code of eight letters and waits until an owner of the server confirms it, at the link or by
'concerto-relay pair confirm'. From then on the server identifies this machine by a key, which is
stored in hostd's state, and accepts no token for it. A machine that the server already knows
retains its id. pair uses the settings of hostd. Exit code 1: not confirmed within 10 minutes.

On a terminal it then offers to create an account for the machine ('concerto-relay seal'), and shows
a QR code that enrols your phone. From then on the machine performs only commands that one of your
devices has signed. --sealed=off omits this.`,
		Example: `  concerto-relay pair --server https://relay.example
  concerto-relay hostd                       connect to the paired server
  concerto-relay pair confirm ABCD-EFGH --server https://relay.example --token-file owner-token`,
	}, manage.NewPairConfirm(a))
	c.RunE = func(*cobra.Command, []string) error {
		if err := a.OneOf("sealed", sealed, "auto", "off"); err != nil {
			return err
		}
		s.Complete(a)
		ctx, stop := a.SignalContext()
		defer stop()
		if err := pairMachine(ctx, a, &s, name, !format.IsText(), noQR); err != nil || sealed == "off" || !format.IsText() {
			return err
		}
		return offerAccount(ctx, &s, noQR)
	}
	hostdPathFlags(a, c.Flags(), &s)
	c.Flags().StringVar(&name, "name", "", "set the machine's `NAME` at the server (default: its hostname)")
	c.Flags().StringVar(&sealed, "sealed", "auto", "offer an account: `MODE` auto, or off (default auto)")
	console.NoQRFlag(c.Flags(), &noQR)
	format = cmdline.AddFormat(c, "text", "ndjson")
	return c
}

func pairMachine(ctx context.Context, a *console.Console, s *HostdSettings, name string, asJSON, noQR bool) error {
	if s.Server == "" {
		return console.Usage("add --server URL", "no server is set")
	}
	if err := checkServerURL(a, s.Server); err != nil {
		return err
	}
	if name == "" {
		var err error
		if name, err = os.Hostname(); err != nil {
			return a.InvalidSetting("name", "add --name NAME", "could not read the machine's name: %v", err)
		}
	}
	o := pair.Options{Server: s.Server, Dir: s.state, Name: fmt.Sprintf("%.64s", name), MachineID: s.machineID, Token: a.Env("HOST_TOKEN")}
	if err := loadCredentials(a, s, &o); err != nil {
		return err
	}
	b, err := pair.Begin(ctx, o)
	if err != nil {
		return err
	}
	if err := showPairing(a, b, s.Server, asJSON); err != nil {
		return err
	}
	if !asJSON && !noQR && console.DisplayText(b.Link, manage.MostLink) == b.Link { // the code contains the link that is shown
		console.PrintQR(a, a.Stdout, b.Link)
	}
	pairing, err := b.Wait(ctx)
	switch {
	case errors.Is(err, context.Canceled):
		return errors.New("stopped before the pairing was confirmed")
	case err != nil:
		return err
	case asJSON:
		return json.NewEncoder(a.Stdout).Encode(map[string]string{"host_id": pairing.MachineID})
	}
	fmt.Fprintf(a.Stdout, "paired as %s: hostd connects by its key from now on\n", pairing.MachineID)
	return nil
}

// loadCredentials adds this machine's id and access token to the options, if it already has
// them.
func loadCredentials(a *console.Console, s *HostdSettings, o *pair.Options) error {
	if s.tokenFile != "" {
		text, err := userfile.ReadStream(s.tokenFile, userfile.MaxSecret)
		if err != nil {
			return a.InvalidSetting("token-file", "", "%v", err)
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

func showPairing(a *console.Console, b *pair.Request, server string, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(a.Stdout).Encode(map[string]any{"code": b.Code, "link": b.Link, "fingerprint": b.Fingerprint, "expires_in": int64(b.ExpiresIn / time.Second)})
	}
	_, err := fmt.Fprintf(a.Stdout, `code         %s
link         %s
fingerprint  %s
An owner opens the link, compares the fingerprint and confirms the code within %v; or
  concerto-relay pair confirm %s --server %s --token-file FILE
`, console.DisplayText(b.Code, manage.MostName), console.DisplayText(b.Link, manage.MostLink), b.Fingerprint, b.ExpiresIn, console.DisplayText(b.Code, manage.MostName), server)
	return err
}
