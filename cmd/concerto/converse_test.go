package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/concerto-lang/concerto/internal/serve/servetest"
)

// converse holds a conversation with a server: `converse FILE COMMAND ARGS…` over its stdin
// and stdout, with `-over http` or `-over ws` where its stderr says. Where the file says
// that the input ends, it does, or the server gets SIGTERM. It must then say no more than
// the file has, and end well.
func converse(args []string) int {
	f := flag.NewFlagSet("converse", flag.ExitOnError)
	over := f.String("over", "stdio", "")
	_ = f.Parse(args) // it exits
	c := exec.Command(f.Arg(1), f.Args()[2:]...)
	text, err := os.ReadFile(f.Arg(0))
	if err == nil && *over == "stdio" {
		err = conversation(string(text), c)
	} else if err == nil {
		err = webConversation(string(text), c, *over)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "converse:", err)
		return 1
	}
	return 0
}

func conversation(text string, c *exec.Cmd) error {
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
	err = plays(servetest.Lines(out, in), text, func() { _ = in.Close() }) // it is seen in what comes
	_, _ = io.Copy(io.Discard, out)                                        // so that it can end
	return ends(err, c)
}

// plays plays a conversation; nothing must come after it.
func plays(wire servetest.Wire, text string, end func()) error {
	play := servetest.New()
	before, after, _ := strings.Cut(text, servetest.End)
	err := play.Play(wire, before)
	end()
	if err == nil {
		err = play.Play(wire, after)
	}
	if err != nil {
		return err
	}
	if rest, rerr := wire.Receive(); rerr == nil {
		return fmt.Errorf("the server says more: %s", rest)
	} else if !errors.Is(rerr, io.EOF) {
		return rerr
	}
	return nil
}

// ends waits for the command's end, after err.
func ends(err error, c *exec.Cmd) error {
	if werr := c.Wait(); err == nil && werr != nil {
		return fmt.Errorf("the server's end: %w", werr)
	}
	return err
}

func webConversation(text string, c *exec.Cmd, over string) error {
	stderr, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	stop := func() { _ = c.Process.Signal(syscall.SIGTERM) }
	lines := bufio.NewReader(stderr)
	var url, token string
	for url == "" {
		line, err := lines.ReadString('\n')
		if err != nil {
			return ends(err, c)
		}
		if _, err := fmt.Sscanf(line, "serving %s token %s", &url, &token); err != nil {
			fmt.Fprint(os.Stderr, line)
			_, _ = fmt.Sscanf(line, "serving %s", &url)
		}
	}
	if token == "" {
		token = os.Getenv("SERVE_TOKEN")
	}
	ctx := context.Background()
	var wire servetest.Wire = servetest.NewHTTP(ctx, url, token)
	if over == "ws" {
		wire, _, err = servetest.WebSocket(ctx, url, token)
	}
	if err == nil {
		err = plays(wire, text, stop)
	}
	stop()
	_, _ = io.Copy(os.Stderr, lines)
	return ends(err, c)
}
