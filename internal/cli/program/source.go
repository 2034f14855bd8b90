// Package program loads the program that a command line names, and prepares its run: environment,
// answers, permissions, tools and audit log.
package program

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/process/userfile"
	"github.com/concerto-lang/concerto/runtime/world/permit"
)

// Displayed names of programs that have no file.
const (
	stdinName = "<stdin>"
	codeName  = "<code>"
)

// CodeFlag is the value of -e, which may be empty.
type CodeFlag struct {
	Text  string
	IsSet bool
}

// Set appends text as further lines of the code.
func (c *CodeFlag) Set(text string) error {
	if c.IsSet {
		text = c.Text + "\n" + text
	}
	c.Text, c.IsSet = text, true
	return nil
}

func (c *CodeFlag) String() string { return c.Text }

// Type returns the name of the value's type, for help.
func (c *CodeFlag) Type() string { return "string" }

// stdinPath is the PATH argument that selects standard input.
const stdinPath = "-"

// Source returns the program to run. It is code if that is not nil, and otherwise the program at
// path, which may be standard input. Source reads standard input at most once.
func Source(a *console.Console, path string, code *string) (driver.Request, error) {
	s := driver.Request{Path: path, Dir: a.Dir, Overlay: a.Overlay, Packages: a.Packages()}
	switch {
	case code != nil && path != "":
		return s, console.Usage("leave one of them out; write arguments for the program after `--`", "a path and -e cannot be used together")
	case code != nil:
		s.Inline = &driver.Inline{Name: codeName, Text: []byte(*code), Body: true}
	case path == stdinPath:
		text, err := io.ReadAll(a.Stdin)
		if err != nil {
			return s, console.Usage("", "read standard input: %v", console.Cause(err))
		}
		s.Inline = &driver.Inline{Name: stdinName, Text: text}
	}
	return s, nil
}

// isCompiled reports whether text is a compiled program. No source begins with `{`.
func isCompiled(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }

// Open compiles or loads the program s in order to run it. Relative paths in the manifest are
// relative to the returned dir.
func Open(ctx context.Context, a *console.Console, s driver.Request, f *WorldFlags, g *permit.Grants) (p *engine.Program, dir string, err error) {
	c, err := readCompiled(a, s)
	if err != nil {
		return nil, "", err
	}
	if c == nil {
		p, err = a.Compile(s)
		return p, a.Dir, err
	}
	if p, err = c.load(); err != nil {
		return nil, "", err
	}
	dir = c.dir
	if m, ok := manifest.Locate(dir, func(p string) bool { _, err := os.Stat(p); return err == nil }); ok {
		dir = filepath.Dir(m)
	}
	if err := requireConsent(ctx, a, c.name, dir, c.data, p, f, g); err != nil {
		return nil, "", err
	}
	a.Loaded = c.name
	a.Verbosef("loaded %s; relative paths start at %s", c.name, dir)
	return p, dir, nil
}

// Read compiles or loads the program s without preparing a run of it.
func Read(a *console.Console, s driver.Request) (*engine.Program, error) {
	c, err := readCompiled(a, s)
	if err != nil {
		return nil, err
	}
	if c == nil {
		return a.Compile(s)
	}
	return c.load()
}

// compiled is a compiled program and where it comes from.
type compiled struct {
	name, dir string
	data      []byte
}

// readCompiled reads the program s if it is compiled, and returns nil otherwise.
func readCompiled(a *console.Console, s driver.Request) (*compiled, error) {
	if s.Inline != nil && isCompiled(s.Inline.Text) {
		return &compiled{s.Inline.Name, a.Dir, s.Inline.Text}, nil
	}
	if s.Inline != nil || filepath.Ext(s.Path) != driver.IRExt {
		return nil, nil
	}
	full := a.Abs(s.Path)
	if s.Seen != nil {
		s.Seen(full)
	}
	data, err := userfile.Read(full, userfile.MaxRecording)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil, console.Usage("create it with `concerto build -o "+s.Path+"`", "%s: no such file", s.Path)
		}
		return nil, console.Usage("", "read %s: %v", s.Path, console.Cause(err))
	}
	return &compiled{s.Path, filepath.Dir(full), data}, nil
}

func (c *compiled) load() (*engine.Program, error) {
	p, err := engine.Load(c.data)
	if err != nil {
		return nil, console.Usage(console.ReloadHint(err), "%s: %v", c.name, err)
	}
	return p, nil
}
