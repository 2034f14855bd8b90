package cli

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/concerto-lang/concerto/internal/cli/serve/servetest"
)

// converse plays a conversation with a server: `converse FILE COMMAND ARGS…` over its stdin and
// stdout, or, with `-over http` or `-over ws`, at the address in its stderr. Where the file ends
// the input, it closes the input, or sends SIGTERM. The server must then send no more than the file
// contains, and exit successfully.
func converse(args []string) int {
	f := flag.NewFlagSet("converse", flag.ExitOnError)
	over := f.String("over", "stdio", "")
	_ = f.Parse(args) // it exits
	c := exec.Command(f.Arg(1), f.Args()[2:]...)
	text, err := os.ReadFile(f.Arg(0))
	if err == nil && *over == "stdio" {
		c.Stderr = os.Stderr
		err = servetest.Process(c, string(text))
	} else if err == nil {
		err = webConversation(string(text), c, *over)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "converse:", err)
		return 1
	}
	return 0
}

// ends waits for the command's exit and returns err or its error.
func ends(err error, c *exec.Cmd) error {
	if werr := c.Wait(); err == nil && werr != nil {
		return fmt.Errorf("wait for the server: %w", werr)
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
		err = servetest.Whole(wire, text, stop)
	}
	stop()
	_, _ = io.Copy(os.Stderr, lines)
	return ends(err, c)
}
