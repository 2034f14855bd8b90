package serve

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/relaycli/daemon"
	"github.com/concerto-lang/concerto/relay/server/httpguard"
	"github.com/concerto-lang/concerto/relay/web"
	built "github.com/concerto-lang/concerto/web"
)

// pageFlags are the flags of the command page.
type pageFlags struct {
	daemon.HostdSettings
	listen, out, export, verify string
}

// NewPage returns the command page.
func NewPage(a *console.Console) *cobra.Command {
	var s pageFlags
	c := &cobra.Command{
		Use:   "page",
		Short: "Serve the page on this machine, export it, or verify a server's",
		Long: `Serves the page of this program on this machine, for the server of its pairing. A browser that is
enrolled there does not depend on the page that the server serves: it has the class "pinned", which
'concerto-relay seal policy' can require. The server must accept the page's origin: --allow-origin.

--export writes the page as the files of a static site, and --output as one file. --verify compares
the files of a server, or of an exported site, with those in this program. Exit code 76: they
differ. It finds a page that was changed for everybody, not one that was changed for you.`,
		Example: `  concerto-relay page
  concerto-relay devices add --page http://127.0.0.1:8788/
  concerto-relay page --export site --server https://relay.example
  concerto-relay page --verify https://relay.example`,
		Args: console.ArgsBetween(0, 0, "concerto-relay page"),
		RunE: func(c *cobra.Command, _ []string) error { return page(a, c, &s) },
	}
	f := c.Flags()
	daemon.ServerFlags(a, f, &s.HostdSettings)
	f.StringVar(&s.listen, "listen", "127.0.0.1:8788", "listen on `ADDRESS` (default 127.0.0.1:8788)")
	f.StringVar(&s.out, "output", "", "write the page to the new `FILE` instead of serving it")
	f.StringVar(&s.export, "export", "", "write the page's files to the new `DIR` instead of serving it")
	f.StringVar(&s.verify, "verify", "", "compare the page at `URL` with that of this program")
	return c
}

func page(a *console.Console, c *cobra.Command, s *pageFlags) error {
	ctx, stop := a.SignalContext()
	defer stop()
	var chosen []string
	for _, name := range []string{"listen", "output", "export", "verify"} {
		if c.Flags().Changed(name) && a.SourceOf(name) == "--"+name {
			chosen = append(chosen, "--"+name)
		}
	}
	if len(chosen) > 1 {
		return console.Usage("use one of them", "%s exclude each other", strings.Join(chosen, " and "))
	}
	if s.verify != "" {
		return verifyPage(ctx, a, s, c.Flags().Changed("server") && a.SourceOf("server") == "--server")
	}
	server, err := s.PageServer(ctx, a)
	if err != nil {
		return err
	}
	d := web.Apart(server)
	switch {
	case s.out != "":
		return writePage(a, "output", s.out, map[string][]byte{"": web.OneFile(d)})
	case s.export != "":
		return writePage(a, "export", s.export, d.Files())
	}
	return servePage(ctx, a, s, d, server)
}

// servePage serves the page until ctx is cancelled.
func servePage(ctx context.Context, a *console.Console, s *pageFlags, d *built.Dist, server string) error {
	const forms = "write an address of this machine, such as 127.0.0.1:8788"
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return a.InvalidSetting("listen", forms, "invalid value %q", s.listen)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return a.InvalidSetting("listen", forms+"; for other devices, put `concerto-relay page --export DIR` on a site with https", "%s is not only on this machine: over plain http, browsers on other machines create no keys (WebCrypto)", s.listen)
	}
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		return a.InvalidSetting("listen", forms, "%v", err)
	}
	origin := "http://" + l.Addr().String()
	fmt.Fprintf(a.Stdout, "the page for %s is at %s/\nthe server must accept it: concerto-relay serve --allow-origin %s\nenrol a browser there: concerto-relay devices add --page %s/\n", server, origin, origin, origin)
	return daemon.ServePage(ctx, l, origin, d, log.New(console.RedactingWriter{To: a.Stderr}, "", log.LstdFlags))
}

// writePage writes files by their paths to a new place, which the value of a flag names: to a
// directory, or, for the path "", to a file.
func writePage(a *console.Console, flag, value string, files map[string][]byte) error {
	to := a.Abs(value)
	if _, err := os.Lstat(to); err == nil {
		return a.InvalidSetting(flag, "delete it, or name another one", "%s exists", to)
	}
	for path, text := range files {
		name := filepath.Join(to, path)
		err := os.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = os.WriteFile(name, text, 0o644)
		}
		if err != nil {
			return a.InvalidSetting(flag, "name another place", "%v", err)
		}
	}
	_, err := fmt.Fprintf(a.Stdout, "wrote %s\n", to)
	return err
}

// verifyPage compares the page at a URL with that of this program: with the page of a server, or
// with an exported page for the server that the command line names.
func verifyPage(ctx context.Context, a *console.Console, s *pageFlags, exported bool) error {
	at, ok := web.PageURL(s.verify)
	if !ok {
		return a.InvalidSetting("verify", "for example https://relay.example", "%q is not the URL of a page", httpguard.Clean(s.verify))
	}
	server := ""
	if exported {
		var err error
		if server, err = s.PageServer(ctx, a); err != nil {
			return err
		}
	}
	d := web.Apart(server)
	differences, err := web.Compare(ctx, at, d)
	if err != nil {
		return err
	}
	if len(differences) == 0 {
		_, err := fmt.Fprintf(a.Stdout, "%s is the page of this program: %d files, build %s\n", at, len(d.Files()), d.Build())
		return err
	}
	for _, text := range differences {
		fmt.Fprintln(a.Stdout, text)
	}
	fmt.Fprintf(a.Stderr, "concerto-relay: %s is not the page of concerto-relay %s\n  hint: compare it with the program of the server's release; if that differs, too, do not use the page\n", at, a.Release)
	return console.ExitError(console.ExitBroken)
}
