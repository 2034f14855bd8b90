package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/concerto-lang/concerto/internal/serve/servetest"
)

// converse plays a conversation with a server over its stdin and stdout: `converse FILE COMMAND
// ARGS…`. The server's input ends where the file says so; it must then say no more than
// the file has, and end well.
func converse(args []string) int {
	if err := conversation(args[0], exec.Command(args[1], args[2:]...)); err != nil {
		fmt.Fprintln(os.Stderr, "converse:", err)
		return 1
	}
	return 0
}

func conversation(file string, c *exec.Cmd) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	wire, play := servetest.Lines(out, in), servetest.New()
	before, after, ends := strings.Cut(string(text), servetest.End)
	err = play.Play(wire, before)
	if ends || err != nil {
		_ = in.Close() // it is seen in what comes
	}
	if err == nil {
		err = play.Play(wire, after)
	}
	rest, rerr := io.ReadAll(out)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("the server says more: %s", rest)
	}
	for _, e := range []error{rerr, c.Wait()} {
		if err == nil && e != nil {
			err = fmt.Errorf("the server's end: %w", e)
		}
	}
	return err
}
