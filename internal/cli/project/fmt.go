package project

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/internal/text/source"
)

// fmtCommand is the command fmt with its options.
type fmtCommand struct {
	console *console.Console

	check bool
	stdin bool
	width int
}

// The line widths that fmt accepts. A narrower width would separate words from their commas. A
// wider width is probably a typing error.
const minWidth, maxWidth = 40, 400

func NewFmt(a *console.Console) *cobra.Command {
	cmd := fmtCommand{console: a}
	c := &cobra.Command{
		Use:   "fmt [PATH…]",
		Short: "Format source files",
		Long: `Rewrites .conc files in the standard format. PATH is a file, or a directory with all files below
it; without PATH, fmt formats the project in this directory or above. A file with syntax errors is
not changed.

Exit codes: 0 success, 1 --check found a file to format, 2 a file has errors.`,
		Example: `  concerto fmt                  format the project
  concerto fmt triage.conc      format one file
  concerto fmt --check          list the files that would change
  concerto fmt --stdin          format standard input to standard output`,
		RunE: func(c *cobra.Command, args []string) error { return cmd.formatPaths(args) },
	}
	c.Flags().BoolVar(&cmd.check, "check", false, "list the files that would change, and exit with code 1 if there are any")
	c.Flags().BoolVar(&cmd.stdin, "stdin", false, "format stdin to stdout")
	c.Flags().IntVar(&cmd.width, "width", format.DefaultWidth, "limit lines to `N` characters (default 100)")
	c.ValidArgsFunction = console.CompleteFiles("conc")
	return c
}

func (cmd *fmtCommand) formatPaths(paths []string) error {
	if cmd.width < minWidth || cmd.width > maxWidth {
		return console.Usage(fmt.Sprintf("use a width from %d to %d", minWidth, maxWidth), "invalid value %d for --width", cmd.width)
	}
	if cmd.stdin {
		if len(paths) > 0 {
			return console.Usage("leave out the path or --stdin", "fmt --stdin takes no path: %s", paths[0])
		}
		return cmd.fmtStdin()
	}
	files, err := sources(cmd.console, paths)
	if err != nil {
		return err
	}
	broken, changed := false, 0
	for _, name := range files {
		switch differs, err := cmd.fmtFile(name); {
		case err == errSyntax:
			broken = true
		case err != nil:
			return err
		case differs:
			changed++
		}
	}
	cmd.console.Verbosef("%s, %d not formatted", console.Count(len(files), "file"), changed)
	switch {
	case broken:
		return console.ExitError(console.ExitRefused)
	case cmd.check && changed > 0:
		return console.ExitError(console.ExitFailed)
	}
	return nil
}

// errSyntax is the error of a file that does not parse. Its diagnostics were already printed.
var errSyntax = errors.New("the file has syntax errors")

func (cmd *fmtCommand) fmtStdin() error {
	text, err := io.ReadAll(cmd.console.Stdin)
	if err != nil {
		return console.Usage("", "read stdin: %v", err)
	}
	out, err := formatText(cmd.console, "<stdin>", text, cmd.width)
	switch {
	case err != nil:
		return console.ExitError(console.ExitRefused)
	case !cmd.check:
		_, err = cmd.console.Stdout.Write(out)
		return err
	case !bytes.Equal(text, out):
		fmt.Fprintln(cmd.console.Stdout, "<stdin>")
		return console.ExitError(console.ExitFailed)
	}
	return nil
}

// formatText formats a text, or prints its errors.
func formatText(a *console.Console, name string, text []byte, width int) ([]byte, error) {
	out, found := format.Source(source.NewFile(name, text), width)
	if !found.HasErrors() {
		return out, nil
	}
	if err := diag.Text(a.Stderr, found.Sorted(), diag.TextOptions{Color: a.TTY.Color}); err != nil {
		return nil, err
	}
	return nil, errSyntax
}

// fmtFile formats one file. It reports whether the formatted text differs from the file.
func (cmd *fmtCommand) fmtFile(name string) (differs bool, err error) {
	path := cmd.console.Abs(name)
	text, err := userfile.Read(path, userfile.MaxText)
	if err != nil {
		return false, console.Usage("", "read %s: %v", name, console.Cause(err))
	}
	out, err := formatText(cmd.console, filepath.ToSlash(name), text, cmd.width)
	if err != nil || bytes.Equal(text, out) {
		return false, err
	}
	if cmd.check {
		fmt.Fprintln(cmd.console.Stdout, filepath.ToSlash(name))
		return true, nil
	}
	if err := console.WriteFile(path, out); err != nil {
		return true, console.Usage("the file is unchanged", "write %s: %v", name, err)
	}
	cmd.console.Verbosef("rewrote %s", name)
	return true, nil
}

// sources returns the source files that paths name or contain. Each file occurs once, with a path
// relative to the working directory as the user would write it.
func sources(a *console.Console, paths []string) ([]string, error) {
	if len(paths) == 0 {
		root, err := projectDir(a)
		if err != nil {
			return nil, err
		}
		paths = []string{root}
	}
	var files []string
	for _, path := range paths {
		info, err := os.Stat(a.Abs(path))
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, console.Usage("name a .conc file, or a directory", "%s: no such file or directory", path)
		case err != nil:
			return nil, console.Usage("", "read %s: %v", path, console.Cause(err))
		case info.IsDir():
			below, err := sourcesBelow(a, path)
			if err != nil {
				return nil, err
			}
			files = append(files, below...)
		case filepath.Ext(path) != driver.SourceExt:
			return nil, console.Usage("the name of a source file ends in .conc", "%s is not a Concerto source file", path)
		default:
			files = append(files, path)
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(files, func(name string) bool {
		full := filepath.Clean(a.Abs(name))
		twice := seen[full]
		seen[full] = true
		return twice
	}), nil
}

// projectDir searches the working directory and its parents for a manifest. It returns the nearest
// directory that contains one, relative to the working directory.
func projectDir(a *console.Console) (string, error) {
	found, ok := manifest.Locate(a.Dir, func(p string) bool { _, err := os.Stat(p); return err == nil })
	if !ok {
		return "", console.Usage("name a file or directory: `concerto fmt .`", "no %s in this directory or above", manifest.FileName)
	}
	dir, err := filepath.Rel(a.Dir, filepath.Dir(found))
	if err != nil {
		dir = filepath.Dir(found)
	}
	return dir, nil
}

// sourcesBelow returns the sources in a directory and its subdirectories, in order. It skips hidden
// directories and node_modules.
func sourcesBelow(a *console.Console, dir string) (files []string, err error) {
	root := a.Abs(dir)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		switch {
		case d.IsDir() && path != root && (strings.HasPrefix(name, ".") || name == "node_modules"):
			return fs.SkipDir
		case !d.IsDir() && filepath.Ext(name) == driver.SourceExt:
			if rel, err := filepath.Rel(a.Dir, path); err == nil && !filepath.IsAbs(dir) {
				path = rel
			}
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return nil, console.Usage("", "read %s: %v", dir, console.Cause(err))
	}
	return files, nil
}
