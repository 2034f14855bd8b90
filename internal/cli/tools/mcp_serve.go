package tools

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// mcpServeCommand is the command mcp serve with its options.
type mcpServeCommand struct {
	console *console.Console

	world    program.WorldFlags
	http     string
	tokenEnv string
	origins  []string
}

func newMcpServe(a *console.Console) *cobra.Command {
	cmd := mcpServeCommand{console: a}
	c := &cobra.Command{
		Use:   "serve [PATH]",
		Short: "Serve the tools of a program by MCP",
		Long: `Serves the pub tools and pub pipelines of a program, and the tools of --host-tools, to MCP clients:
on stdin and stdout or over streamable HTTP. Functions of a tool need a description. main does not
run. Emits, prints and logs go to stderr; clients can request emits as progress. Over HTTP, a port
without a host listens on the loopback interface.`,
		Example: `  concerto mcp serve tools.conc
  concerto mcp serve --host-tools tools.yaml
  concerto mcp serve tools.conc --http 8080
  concerto mcp serve tools.conc --http 0.0.0.0:8080 --token-env TOOLS_TOKEN`,
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			p, _ := console.Path(c, args)
			return cmd.serve(c.Context(), p)
		},
	}
	c.Flags().StringVar(&cmd.http, "http", "", "serve over HTTP at `ADDRESS`: a port, or host:port")
	c.Flags().StringVar(&cmd.tokenEnv, "token-env", "", "require the token in the environment `VARIABLE` from HTTP clients")
	c.Flags().StringArrayVar(&cmd.origins, "allow-origin", nil, "accept calls from web pages of `ORIGIN`; repeatable")
	cmd.world.Add(c)
	cmdline.Group(c, "Answers", "answers", "answer", "emit-handler", "pass-env")
	cmdline.Group(c, "Permissions", "permissions", append(program.PermissionRows(), "trust")...)
	return c
}

func (cmd *mcpServeCommand) serve(parent context.Context, path string) error {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	p, o, err := program.Prepare(ctx, cmd.console, cmd.servedSource(path), &cmd.world, signals)
	if err != nil {
		return err
	}
	o.Output = engine.Output{To: cmd.console.Stderr, Terminal: cmd.console.TTY.Err}
	listen, err := cmd.listen()
	if err != nil {
		return err
	}
	endTools, err := program.RegisterTools(ctx, cmd.console, &cmd.world.Tools, p, &o)
	if err != nil {
		return err
	}
	endAudit, err := program.OpenAudit(cmd.console, p, &o, &cmd.world.Audit)
	if err != nil {
		return endTools(err)
	}
	exported, endTelemetry := program.OpenTelemetry(cmd.console, p.IR().Name, true)
	defer endTelemetry()
	o.Records.Telemetry, o.Records.LiveDir = exported, live.Directory(cmd.console.Environ)
	err = p.Serve(ctx, o, engine.ServeOptions{
		In: io.NopCloser(cmd.console.Stdin), Out: uncloseable{cmd.console.Stdout}, HTTP: listen,
		Ready:    func(url string) { fmt.Fprintln(cmd.console.Stderr, "serving "+url) },
		Withheld: func(why string) { fmt.Fprintln(cmd.console.Stderr, why) },
	})
	err = endTools(endAudit(err))
	if errors.Is(err, engine.ErrNothingOffered) {
		return console.Usage("declare a `pub pipeline`, or a `pub tool` with `@describe(\"…\")` on its functions, or add --host-tools <file>", "%s: %v", path, err)
	}
	return err
}

// servedSource returns the source of the program to serve. It returns an empty program if there is
// neither a PATH nor a project, and the flags add tools.
func (cmd *mcpServeCommand) servedSource(path string) driver.Request {
	s := driver.Request{Path: path, Dir: cmd.console.Dir, Packages: cmd.console.Packages()}
	if path != "" || len(cmd.world.Tools.Files)+len(cmd.world.Tools.Modules) == 0 {
		return s
	}
	if _, ok := manifest.Locate(cmd.console.Dir, func(p string) bool { _, err := os.Stat(p); return err == nil }); !ok {
		s.Inline = &driver.Inline{Name: "tools", Text: []byte("fn main() {}")}
	}
	return s
}

// listen returns the options for HTTP that the flags set.
func (cmd *mcpServeCommand) listen() (mcpport.Listen, error) {
	l := mcpport.Listen{Address: cmd.http, Origins: cmd.origins}
	switch {
	case cmd.http == "" && (cmd.tokenEnv != "" || len(cmd.origins) > 0):
		return l, console.Usage("add --http, or leave them out", "--token-env and --allow-origin require --http")
	case cmd.tokenEnv != "":
		if l.Token = os.Getenv(cmd.tokenEnv); l.Token == "" {
			return l, console.Usage("set it to a long random text", "--token-env: environment variable %s is not set", cmd.tokenEnv)
		}
	case cmd.http != "" && !mcpport.IsLoopback(cmd.http):
		fmt.Fprintf(cmd.console.Stderr, "warning: every client that reaches %s may call the tools; add --token-env or use a loopback address\n", cmd.http)
	}
	return l, nil
}

// uncloseable is a stream of the process that must remain open: its Close does nothing.
type uncloseable struct{ io.Writer }

func (uncloseable) Close() error { return nil }
