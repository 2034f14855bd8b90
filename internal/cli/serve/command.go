package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/engine"
	"github.com/concerto-lang/concerto/internal/engine/live"
	"github.com/concerto-lang/concerto/runtime/tool"
)

// serveCommand is the command serve with its options.
type serveCommand struct {
	console *console.Console

	stdio    bool
	web      webFlags
	roots    []string
	tools    program.ToolFlags
	audit    program.AuditFlags
	sessions int
	message  int
	drain    float64
}

func NewServe(a *console.Console) *cobra.Command {
	cmd := serveCommand{console: a}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run programs for an application by JSON-RPC",
		Long: `Runs programs for an application in another process, which sends JSON-RPC 2.0 messages on stdin and
stdout, or over HTTP and WebSocket. The application registers tools, starts programs as sessions,
receives their events, and answers their awaited emits and tool calls. [permissions] in each
manifest applies. To serve a program's tools to MCP clients, use 'concerto mcp serve'.`,
		Example: `  concerto serve
  concerto serve --root ./flows --max-sessions 10 --host-tools tools.yaml
  concerto serve --http 8080 --token-env SERVE_TOKEN`,
		Args: console.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return cmd.serveApplications(c.Context()) },
	}
	c.Flags().BoolVar(&cmd.stdio, "stdio", false, "serve one application on stdin and stdout (the default)")
	cmd.web.add(c)
	c.Flags().StringArrayVar(&cmd.roots, "root", nil, "allow programs below `DIR`; repeatable (default: this directory)")
	c.Flags().IntVar(&cmd.sessions, "max-sessions", 100, "run at most `N` sessions (default 100)")
	c.Flags().IntVar(&cmd.message, "max-message", 16<<20, "reject messages of more than `BYTES` (default 16777216)")
	c.Flags().Float64Var(&cmd.drain, "drain", 10, "let sessions run for `SECONDS` after SIGTERM (default 10)")
	cmd.tools.Add(c)
	cmd.audit.Add(c)
	return c
}

func (cmd *serveCommand) serveApplications(parent context.Context) error {
	config, err := cmd.config()
	if err != nil {
		return err
	}
	listen, web, err := cmd.listen()
	if err != nil {
		return err
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	<-signals.Ready
	config.Kill = signals.Kill
	o := engine.Options{Tools: config.Tools, Kill: config.Kill}
	endTools, err := program.RegisterTools(ctx, cmd.console, &cmd.tools, nil, &o)
	if err != nil {
		return err
	}
	endAudit, err := program.OpenAudit(cmd.console, nil, &o, &cmd.audit)
	if err != nil {
		return endTools(err)
	}
	config.Audit = o.Records.Audit
	exported, endTelemetry := program.OpenTelemetry(cmd.console, "concerto", true)
	defer endTelemetry()
	config.Telemetry, config.LiveDir = exported, live.Directory(cmd.console.Environ)
	s := New(config)
	if listen == nil {
		err = s.ServeLines(ctx, cmd.console.Stdin, cmd.console.Stdout)
	} else {
		err = serveHTTP(ctx, cmd.console, s, listen, web)
	}
	return endTools(endAudit(err))
}

// config returns the server's configuration from the flags.
func (cmd *serveCommand) config() (Config, error) {
	c := Config{Version: cmd.console.Binary.Release, Programs: cmd.console.Programs(), Tools: &tool.Registry{}, Environ: cmd.console.Environ, PassEnv: cmd.web.passEnv, Source: cmd.web.source, Executable: cmd.console.Binary.Executable,
		Sessions: cmd.sessions, Message: cmd.message, Drain: time.Duration(cmd.drain * float64(time.Second)), LogLevel: cmd.console.LogLevel, Log: func(level, message string) { serverLog(cmd.console, level, message) }}
	switch {
	case cmd.sessions < 1:
		return c, console.Usage("use 1 or more", "invalid value %d for --max-sessions", cmd.sessions)
	case cmd.message < 1024:
		return c, console.Usage("use 1024 or more", "invalid value %d for --max-message", cmd.message)
	case !(cmd.drain >= 0 && cmd.drain <= 86400):
		return c, console.Usage("use 0 to 86400 seconds", "invalid value %g for --drain", cmd.drain)
	}
	if len(cmd.roots) == 0 {
		cmd.roots = []string{cmd.console.Dir}
	}
	for _, dir := range cmd.roots {
		root, err := filepath.EvalSymlinks(cmd.console.Abs(dir))
		info, serr := os.Stat(root)
		if err != nil || serr != nil || !info.IsDir() {
			return c, console.Usage("name an existing directory", "--root: no such directory: %s", dir)
		}
		c.Roots = append(c.Roots, root)
	}
	return c, nil
}

// serverLog prints a message of the server's log.
func serverLog(a *console.Console, level, message string) {
	if level == "debug" && a.Verbose == 0 || a.Quiet && level != "error" {
		return
	}
	fmt.Fprintf(a.Stderr, "%s: %s\n", level, console.Printable(message))
}
