package cli

import (
	"bytes"
	"io"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/engine"
)

// The names of programs that are in no file, where a file's name would stand.
const (
	stdinName = "<stdin>"
	codeName  = "<code>"
)

// codeFlag is the value of -e, which may be empty.
type codeFlag struct {
	text  string
	given bool
}

// Set takes the code; a second one is a further line of it.
func (c *codeFlag) Set(text string) error {
	if c.given {
		text = c.text + "\n" + text
	}
	c.text, c.given = text, true
	return nil
}

func (c *codeFlag) String() string { return c.text }

// Type is what the flag's value is in the help.
func (c *codeFlag) Type() string { return "string" }

// onStdin is the PATH that stands for standard input.
const onStdin = "-"

// programSource is the program to run: what path names, or code when it is not nil, or
// the text on standard input. Code and standard input are read once.
func programSource(a *console.Console, path string, code *string) (engine.Source, error) {
	s := engine.Source{Path: path, Dir: a.Dir, Overlay: a.Overlay}
	switch {
	case code != nil && path != "":
		return s, console.Usage("leave out one of them; arguments for the program stand behind `--`", "both a path and -e are given")
	case code != nil:
		s.Given = &engine.Given{Name: codeName, Text: []byte(*code), Body: true}
	case path == onStdin:
		text, err := io.ReadAll(a.Stdin)
		if err != nil {
			return s, console.Usage("", "read standard input: %v", console.Cause(err))
		}
		s.Given = &engine.Given{Name: stdinName, Text: text}
	}
	return s, nil
}

// isCompiled says whether a text is a compiled program: no source begins as one.
func isCompiled(text []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) }
