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
	"github.com/concerto-lang/concerto/runtime/mcp"
)

// serveFlags are the flags of mcp serve.
type serveFlags struct {
	program.WorldFlags
	http     string
	tokenEnv string
	origins  []string
}

func newMcpServe(a *console.Console) *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve [PATH]",
		Short: "Offer a program's tools and pipelines as an MCP server",
		Long: `Offers the functions with @describe of a program's pub tools, and its pub
pipelines, and the tools of --host-tools, to whoever speaks the Model Context
Protocol: on stdin and stdout, or over streamable HTTP. main does not run. What the program emits, prints and
logs goes to stderr; a client that wants progress is told of what is emitted.
It ends when its input does, or with Ctrl-C.

Over HTTP a port alone is one of the loopback. Web pages of elsewhere are
refused, and with --token-env whoever does not give the token that the variable
holds ("Authorization: Bearer …").

  concerto mcp serve tools.conc
  concerto mcp serve --host-tools tools.yaml    tools of a file, without a program
  concerto mcp serve tools.conc --http 8080
  concerto mcp serve tools.conc --http 0.0.0.0:8080 --token-env TOOLS_TOKEN

` + program.PermissionHelp("concerto mcp serve") + `

A compiled program that was built elsewhere needs --trust, or these flags.`,
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			p, _ := console.Path(c, args)
			return mcpServe(c.Context(), a, p, &f)
		},
	}
	c.Flags().StringVar(&f.http, "http", "", "serve over HTTP at `ADDRESS`: a port, or host:port")
	c.Flags().StringVar(&f.tokenEnv, "token-env", "", "the environment `VARIABLE` with the token that HTTP clients must give")
	c.Flags().StringArrayVar(&f.origins, "allow-origin", nil, "let web pages of this `ORIGIN` call, such as https://example.org; repeatable")
	f.Add(c)
	return c
}

func mcpServe(parent context.Context, a *console.Console, path string, f *serveFlags) error {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	p, o, err := program.Prepare(ctx, a, servedSource(a, path, f), &f.WorldFlags, signals)
	if err != nil {
		return err
	}
	o.Output = engine.Output{To: a.Stderr, Terminal: a.ErrTerminal}
	listen, err := listen(a, f)
	if err != nil {
		return err
	}
	endTools, err := program.RegisterTools(ctx, a, &f.Tools, p, &o)
	if err != nil {
		return err
	}
	endAudit, err := program.OpenAudit(a, p, &o, &f.Audit)
	if err != nil {
		return endTools(err)
	}
	err = p.Serve(ctx, o, engine.ServeOptions{
		In: io.NopCloser(a.Stdin), Out: keptOpen{a.Stdout}, HTTP: listen,
		Ready:    func(url string) { fmt.Fprintln(a.Stderr, "serving "+url) },
		Withheld: func(why string) { fmt.Fprintln(a.Stderr, why) },
	})
	err = endTools(endAudit(err))
	if errors.Is(err, engine.ErrNothingOffered) {
		return console.Usage("write `pub pipeline`, or `pub tool` and `@describe(\"…\")` on its functions, or give --host-tools FILE", "%s: %v", path, err)
	}
	return err
}

// servedSource is the program that is served. Without a PATH, and a project here or above,
// it is one that does nothing, when there are tools to offer.
func servedSource(a *console.Console, path string, f *serveFlags) engine.Source {
	s := engine.Source{Path: path, Dir: a.Dir}
	if path != "" || len(f.Tools.Files)+len(f.Tools.Modules) == 0 {
		return s
	}
	if _, ok := manifest.Locate(a.Dir, func(p string) bool { _, err := os.Stat(p); return err == nil }); !ok {
		s.Given = &engine.Given{Name: "tools", Text: []byte("fn main() {}")}
	}
	return s
}

// listen is where the flags let a program be served over HTTP.
func listen(a *console.Console, f *serveFlags) (engine.Listen, error) {
	l := engine.Listen{Address: f.http, Origins: f.origins}
	switch {
	case f.http == "" && (f.tokenEnv != "" || len(f.origins) > 0):
		return l, console.Usage("add --http, or leave them out", "--token-env and --allow-origin are of --http alone")
	case f.tokenEnv != "":
		if l.Token = os.Getenv(f.tokenEnv); l.Token == "" {
			return l, console.Usage("set it to a long random text", "the environment variable %s, which holds the token of --token-env, is not set", f.tokenEnv)
		}
	case f.http != "" && !mcp.IsLoopback(f.http):
		fmt.Fprintf(a.Stderr, "warning: whoever reaches %s may call: give --token-env, or an address of the loopback\n", f.http)
	}
	return l, nil
}

// keptOpen is a stream of the process, which is not the server's to close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }
