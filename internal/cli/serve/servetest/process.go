package servetest

import (
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
)

// Process starts a server and plays a conversation over the server's stdin and stdout. At the line
// End it closes stdin. It returns an error if the server then sends messages that are not in the
// text, or does not exit successfully.
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
	err = Whole(Lines(out, in), text, func() { _ = in.Close() }) // an error of closing shows up as a missing message
	_, _ = io.Copy(io.Discard, out)                              // read the rest so that the server can exit
	if werr := c.Wait(); err == nil && werr != nil {
		return fmt.Errorf("wait for the server: %w", werr)
	}
	return err
}

// Whole plays a complete conversation. The server must send nothing afterwards. Whole calls end at
// the line End, to close the input.
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
