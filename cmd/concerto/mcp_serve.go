package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto"
	"github.com/concerto-lang/concerto/runtime/emit"
)

// serveFlags are the flags of mcp serve.
type serveFlags struct {
	worldFlags
	http string
}

func (a *app) mcpServeCommand() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve [PATH]",
		Short: "Offer a program's tools as an MCP server",
		Long: `Offers the functions with @describe of a program's pub tools to whoever speaks
the Model Context Protocol: on stdin and stdout, or over streamable HTTP.
main does not run. What the program emits, prints and logs goes to stderr.
It ends when its input does, or with Ctrl-C.

  concerto mcp serve tools.conc
  concerto mcp serve tools.conc --http 127.0.0.1:8080`,
		Args: onePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			p, _ := path(c, args)
			return a.mcpServe(c.Context(), p, &f)
		},
	}
	c.Flags().StringVar(&f.http, "http", "", "serve over HTTP at `ADDRESS`, such as 127.0.0.1:8080")
	f.add(c)
	return c
}

func (a *app) mcpServe(parent context.Context, path string, f *serveFlags) error {
	ctx, signals := catch(parent)
	defer signals.stop()
	p, o, err := a.prepare(path, &f.worldFlags, signals)
	if err != nil {
		return err
	}
	o.Stdout, o.Mode = a.stderr, emit.Modes["text"]
	err = p.Serve(ctx, o, concerto.ServeOptions{
		In: io.NopCloser(a.stdin), Out: keptOpen{a.stdout}, Address: f.http,
		Ready: func(url string) { fmt.Fprintln(a.stderr, "serving "+url) },
	})
	if errors.Is(err, concerto.ErrNothingOffered) {
		return usage("write `pub tool`, and `@describe(\"…\")` on its functions", "%s: %v", path, err)
	}
	return err
}

// keptOpen is a stream of the process, which is not the server's to close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }
