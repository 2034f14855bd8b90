package servetest

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Process plays a conversation with a server over its stdin and stdout. It closes the input at the
// line End. The server must then send no more than the text contains, and exit successfully.
func Process(c *exec.Cmd, text string) error {
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
	err = Whole(Lines(out, in), text, func() { _ = in.Close() }) // the output shows an error of the input
	_, _ = io.Copy(io.Discard, out)                              // so that the server can exit
	if werr := c.Wait(); err == nil && werr != nil {
		return fmt.Errorf("wait for the server: %w", werr)
	}
	return err
}

// Whole plays a whole conversation, after which the server must send nothing. end closes the input.
func Whole(wire Wire, text string, end func()) error {
	play := New()
	before, after, _ := strings.Cut(text, End)
	err := play.Play(wire, before)
	end()
	if err == nil {
		err = play.Play(wire, after)
	}
	if err != nil {
		return err
	}
	if rest, rerr := wire.Receive(); rerr == nil {
		return fmt.Errorf("the server sent more: %s", rest)
	} else if !errors.Is(rerr, io.EOF) {
		return rerr
	}
	return nil
}
