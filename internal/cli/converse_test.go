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

// converse plays a recorded conversation with a server: `converse FILE COMMAND ARGS…`. The
// conversation runs over the server's stdin and stdout or, with `-over http` or `-over ws`, at the
// address that the server prints to stderr. At the end of the file converse closes the input or
// sends SIGTERM. It fails if the server sends messages that are not in the file, or exits with an
// error.
func converse(args []string) int {
	f := flag.NewFlagSet("converse", flag.ExitOnError)
	over := f.String("over", "stdio", "")
	_ = f.Parse(args) // ExitOnError exits the process on an error
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

// ends waits for the command to exit. It returns err if that is not nil, and otherwise the
// command's error.
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
