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

// Compiled programs come from anywhere. A program that requires commands, hosts, files or network
// hosts runs if one of these holds: this user built it; the flags decide every kind of permission
// that it requires; --trust is set; the user was shown the requirements and has agreed. Builds and
// agreements are remembered as files named by the program's hash, in concerto/trusted below
// XDG_STATE_HOME.

// maxTrusted bounds how many programs are remembered; the oldest go.
const maxTrusted = 1000

// consent returns an error unless the user permits a compiled program to run. root is the
// directory at which the program's relative paths start.
func consent(ctx context.Context, a *console.Console, path, root string, data []byte, p *engine.Program, f *WorldFlags, g *permit.Grants) error {
	asks := p.Asks()
	if f.trust || !slices.ContainsFunc(asks, func(x engine.Ask) bool { return !g.Decides(x.Kind) }) || trusts(a, data) {
		return nil
	}
	listing := listed(asks)
	ask := a.Prompter()
	if ask == nil {
		return console.Usage("allow it with "+strings.Join(flagsOf(a, asks, root), " ")+", or all of it with --trust; on a terminal `concerto run` asks once",
			"%s was built elsewhere, and nobody has agreed to what it may do:\n%s", path, strings.TrimRight(listing, "\n"))
	}
	fmt.Fprintf(a.Stderr, "%s was built elsewhere, and has not run here before. It may:\n%s", path, listing)
	answer, err := ask.Ask(ctx, "Run it? [y/N]")
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); err != nil || answer != "y" && answer != "yes" {
		return console.Usage("the flags of `concerto run --help` let it run with less", "%s was not run", path)
	}
	if err := trusting(a, data); err != nil {
		fmt.Fprintf(a.Stderr, "concerto: this will be asked again: %v\n", err)
	}
	return nil
}

// listed returns a program's requirements, a line each.
func listed(asks []engine.Ask) string {
	width := 0
	var lines [][2]string
	for _, x := range asks {
		what := permit.Kinds[x.Kind].Any
		if x.Name != "" {
			what = strings.Replace(permit.Kinds[x.Kind].May, "%s", plain(x.Name), 1)
		}
		lines = append(lines, [2]string{what, plain(x.Detail)})
		width = max(width, len(what))
	}
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, l[0], l[1])
	}
	return b.String()
}

// plain is a program's own text for output: on one line, with control characters
// escaped.
func plain(s string) string { return terminal.Escape(oneLine.Replace(s)) }

var oneLine = strings.NewReplacer("\n", `\n`, "\t", `\t`)

// flagsOf returns the flags that permit a program's requirements, one for each kind. root is the
// start of the program's relative paths.
func flagsOf(a *console.Console, asks []engine.Ask, root string) []string {
	var out []string
	for _, k := range permit.Kinds {
		var names []string
		whole, asked := false, false
		for _, x := range asks {
			if x.Kind == k.Kind {
				asked = true
				whole = whole || x.Name == ""
				names = append(names, plain(flagValue(a, x, root)))
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

// flagValue returns a requirement as the value of a flag: a path is relative to the working
// directory.
func flagValue(a *console.Console, x engine.Ask, root string) string {
	if x.Kind != permit.Read && x.Kind != permit.Write || filepath.IsAbs(x.Name) {
		return x.Name
	}
	return a.Relative(filepath.Join(root, x.Name))
}

// trustedDir is the directory in which trusted programs are remembered; "" when
// neither XDG_STATE_HOME nor HOME names one.
func trustedDir(a *console.Console) string { return a.StateFile("trusted") }

// trusts reports whether a program is remembered.
func trusts(a *console.Console, data []byte) bool {
	dir := trustedDir(a)
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, hexsum.SHA256(data)))
	return err == nil
}

// trusting remembers a program.
func trusting(a *console.Console, data []byte) error {
	dir := trustedDir(a)
	if dir == "" {
		return errors.New("neither XDG_STATE_HOME nor HOME says where to keep it")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, hexsum.SHA256(data)), nil, 0o600); err != nil {
		return err
	}
	return forgetOldest(dir)
}

// TrustBuilt remembers a program that was compiled here and would need the user's consent. If that
// fails, running the program requires consent.
func TrustBuilt(a *console.Console, data []byte) {
	p, err := engine.Load(data)
	if err != nil || len(p.Asks()) == 0 {
		return
	}
	if err := trusting(a, data); err != nil {
		a.Verbosef("it will need --trust to run: %v", err)
	}
}

// forgetOldest removes what was remembered first beyond maxTrusted.
func forgetOldest(dir string) error {
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
