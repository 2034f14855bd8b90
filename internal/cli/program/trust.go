package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/term/terminal"
	"github.com/concerto-lang/concerto/internal/text/hexsum"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// Compiled programs may come from another machine. A program that requires commands, hosts, files
// or network hosts runs only if one of these conditions is met: this user built the program; the
// flags decide every kind of permission that the program requires; --trust is set; the user agreed
// after seeing the requirements. Trust is stored as one file per program in concerto/trusted below
// XDG_STATE_HOME. The file's name is the program's hash.

// maxTrusted is the maximum number of stored trust files. The oldest files are removed.
const maxTrusted = 1000

// requireConsent returns an error unless a compiled program may run. Relative paths in the program
// are relative to root.
func requireConsent(ctx context.Context, a *console.Console, path, root string, data []byte, p *engine.Program, f *WorldFlags, g *permit.Grants) error {
	asks := p.Asks()
	if f.trust || !slices.ContainsFunc(asks, func(x engine.Ask) bool { return !g.Decides(x.Kind) }) || isTrusted(a, data) {
		return nil
	}
	listing := listRequirements(asks)
	ask := a.Prompter()
	if ask == nil {
		return console.Usage("allow it with "+strings.Join(allowFlags(a, asks, root), " ")+", or everything with --trust; on a terminal `concerto run` asks once",
			"%s was built elsewhere and is not trusted; it requires these permissions:\n%s", path, strings.TrimRight(listing, "\n"))
	}
	fmt.Fprintf(a.Stderr, "%s was built elsewhere and has not run here before. It may:\n%s", path, listing)
	answer, err := ask.Ask(ctx, "Run it? [y/N]")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return console.Usage("`concerto run --help` lists flags that restrict its permissions", "%s was not run", path)
	}
	if err := storeTrust(a, data); err != nil {
		fmt.Fprintf(a.Stderr, "concerto: could not store the answer, so the next run asks again: %v\n", err)
	}
	return nil
}

// listRequirements returns the requirements of a program, one per line.
func listRequirements(asks []engine.Ask) string {
	width := 0
	var lines [][2]string
	for _, x := range asks {
		what := permit.Kinds[x.Kind].Any
		if x.Name != "" {
			what = strings.Replace(permit.Kinds[x.Kind].May, "%s", singleLine(x.Name), 1)
		}
		lines = append(lines, [2]string{what, singleLine(x.Detail)})
		width = max(width, len(what))
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, l[0], l[1])
	}
	return b.String()
}

// singleLine returns a text from a program in a form that is safe to print: on one line, with
// control characters escaped.
func singleLine(s string) string { return terminal.Escape(escapeLines.Replace(s)) }

var escapeLines = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// allowFlags returns the flags that permit the requirements asks, one flag for each kind. Relative
// paths in the program are relative to root.
func allowFlags(a *console.Console, asks []engine.Ask, root string) []string {
	var out []string
	for _, k := range permit.Kinds {
		var names []string
		whole, asked := false, false
		for _, x := range asks {
			if x.Kind == k.Kind {
				asked = true
				whole = whole || x.Name == ""
				names = append(names, singleLine(flagValue(a, x, root)))
			}
		}
		switch {
		case whole:
			out = append(out, k.Kind.GrantHint())
		case asked:
			out = append(out, k.Kind.GrantHint(names...))
		}
	}
	return out
}

// flagValue returns a requirement as the value of a flag. A path becomes relative to the working
// directory.
func flagValue(a *console.Console, x engine.Ask, root string) string {
	if x.Kind != permit.Read && x.Kind != permit.Write || filepath.IsAbs(x.Name) {
		return x.Name
	}
	return a.Relative(filepath.Join(root, x.Name))
}

// trustedDir returns the directory of the trust files, or "" if neither XDG_STATE_HOME nor HOME is
// set.
func trustedDir(a *console.Console) string { return a.StateFile("trusted") }

// isTrusted reports whether a trust file exists for the program data.
func isTrusted(a *console.Console, data []byte) bool {
	dir := trustedDir(a)
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, hexsum.SHA256(data)))
	return err == nil
}

// storeTrust creates a trust file for the program data.
func storeTrust(a *console.Console, data []byte) error {
	dir := trustedDir(a)
	if dir == "" {
		return errors.New("neither XDG_STATE_HOME nor HOME is set")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, hexsum.SHA256(data)), nil, 0o600); err != nil {
		return err
	}
	return removeOldest(dir)
}

// TrustBuilt creates a trust file for a program that was just compiled and requires permissions.
// Errors are ignored: running the program then requires the user's consent.
func TrustBuilt(a *console.Console, data []byte) {
	p, err := engine.Load(data)
	if err != nil || len(p.Asks()) == 0 {
		return
	}
	if err := storeTrust(a, data); err != nil {
		a.Verbosef("could not store the program as trusted, so it requires --trust: %v", err)
	}
}

// removeOldest removes the oldest trust files beyond maxTrusted.
func removeOldest(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) <= maxTrusted {
		return err
	}
	var all []fs.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			all = append(all, info)
		}
	}
	slices.SortFunc(all, func(x, y fs.FileInfo) int {
		return cmp.Or(x.ModTime().Compare(y.ModTime()), strings.Compare(x.Name(), y.Name()))
	})
	for _, info := range all[:max(len(all)-maxTrusted, 0)] {
		if err := os.Remove(filepath.Join(dir, info.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
