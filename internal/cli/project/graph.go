package project

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/cli/program"
	"github.com/concerto-lang/concerto/internal/cli/runs"
	"github.com/concerto-lang/concerto/internal/compile/graph"
	"github.com/concerto-lang/concerto/internal/engine/report"
	"github.com/concerto-lang/concerto/ir"
	"github.com/concerto-lang/concerto/web/onepage"
)

// graphFormat is a form in which graph writes a graph.
type graphFormat struct {
	name, extension string
	write           func(io.Writer, *graph.Graph, []ir.File) error
}

// graphFormats lists the formats, the default first.
var graphFormats = []graphFormat{
	{"text", ".txt", asText((*graph.Graph).Text)},
	{"svg", ".svg", asText((*graph.Graph).SVG)},
	{"html", ".html", func(w io.Writer, g *graph.Graph, files []ir.File) error { return onepage.WriteGraph(w, g, files) }},
	{"mermaid", ".mmd", asText((*graph.Graph).Mermaid)},
	{"dot", ".dot", asText((*graph.Graph).Dot)},
	{"json", ".json", func(w io.Writer, g *graph.Graph, _ []ir.File) error {
		out, err := g.MarshalJSON()
		if err == nil {
			_, err = w.Write(append(out, '\n'))
		}
		return err
	}},
}

func asText(f func(*graph.Graph) string) func(io.Writer, *graph.Graph, []ir.File) error {
	return func(w io.Writer, g *graph.Graph, _ []ir.File) error {
		_, err := io.WriteString(w, f(g))
		return err
	}
}

// formatNames returns the names of the formats as a list with commas and "or".
func formatNames() string { return listOf(func(f *graphFormat) string { return f.name }) }

// extensions returns the file extensions of the formats as a list with commas and "or".
func extensions() string { return listOf(func(f *graphFormat) string { return f.extension }) }

func listOf(of func(*graphFormat) string) string {
	var words []string
	for i := range graphFormats {
		words = append(words, of(&graphFormats[i]))
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// graphCommand is the command graph with its options.
type graphCommand struct {
	console            *console.Console
	format, out, focus string
	recorded           string // the run whose numbers are shown
	depth              int
}

func NewGraph(a *console.Console) *cobra.Command {
	cmd := graphCommand{console: a}
	c := &cobra.Command{
		Use:   "graph [PATH | -]",
		Short: "Show the agents, hosts, tools and functions of a program, and what uses what",
		Long: `Prints the graph of a program: its functions, pipelines, agents, hosts, tools, MCP servers, stores
and channels, and an edge for each use. Each handler of a listen is an edge with the type of its
messages. Lines that begin with ! are messages that no handler accepts.`,
		Example: `  concerto graph                        print the graph of the project in this directory
  concerto graph -o graph.svg           draw it
  concerto graph -o graph.html          write a page to look around in it
  concerto graph --focus Coder          print only Coder and what is next to it
  concerto graph --format mermaid       print it for a Markdown file
  concerto graph --run job              show what the run in directory job did at each node`,
		Args: console.OnePath(false),
		RunE: func(c *cobra.Command, args []string) error {
			path, _ := console.Path(c, args)
			f, err := cmd.chosen()
			if err != nil {
				return err
			}
			if c.Flags().Changed("depth") && !c.Flags().Changed("focus") {
				return console.Usage("name a node: --focus NAME", "--depth requires --focus")
			}
			if cmd.depth < 0 {
				return console.Usage("", "--depth must not be negative")
			}
			return cmd.run(c.Context(), path, f, c.Flags().Changed("focus"))
		},
	}
	c.Flags().StringVar(&cmd.format, "format", "", "print as `FORMAT`: "+formatNames()+" (default: as -o)")
	c.Flags().StringVarP(&cmd.out, "output", "o", "", "write to `FILE`; - is stdout")
	c.Flags().StringVar(&cmd.focus, "focus", "", "show only the node `NAME`, a name or an id, and the nodes near it")
	c.Flags().IntVar(&cmd.depth, "depth", 1, "with --focus: show nodes that are at most `N` edges away")
	c.Flags().StringVar(&cmd.recorded, "run", "", "show the numbers of `RUN`, a stored run, a tape or a report, and its program")
	c.ValidArgsFunction = console.CompleteFiles("conc")
	console.CompleteFlag(c, "format", func() []string {
		var names []string
		for _, f := range graphFormats {
			names = append(names, f.name)
		}
		return names
	})
	return c
}

// chosen returns the format of the output.
func (cmd *graphCommand) chosen() (*graphFormat, error) {
	if cmd.format != "" {
		for i := range graphFormats {
			if graphFormats[i].name == cmd.format {
				return &graphFormats[i], nil
			}
		}
		return nil, console.Usage("", "unknown format %q (expected %s)", cmd.format, formatNames())
	}
	if cmd.out == "" || cmd.out == "-" {
		return &graphFormats[0], nil
	}
	ext := strings.ToLower(filepath.Ext(cmd.out))
	for i := range graphFormats {
		if graphFormats[i].extension == ext {
			return &graphFormats[i], nil
		}
	}
	return nil, console.Usage("set --format, or use one of the extensions "+extensions(),
		"-o %s: unknown extension (expected %s)", cmd.out, formatNames())
}

func (cmd *graphCommand) run(ctx context.Context, path string, f *graphFormat, focused bool) error {
	var g *graph.Graph
	var files []ir.File
	var r *report.Report
	var err error
	if cmd.recorded != "" {
		if r, err = cmd.report(ctx); err != nil {
			return err
		}
	}
	if r == nil || path != "" {
		g, files, err = cmd.build(path)
	} else if g, err = graph.Read(r.Graph); err != nil {
		err = console.Usage("name the program: concerto graph --run RUN PATH", "%s has no graph of its program", cmd.recorded)
	}
	if err != nil {
		return err
	}
	if r != nil {
		if files == nil {
			for _, f := range r.Files {
				files = append(files, ir.File(f))
			}
		}
		if of, err := graph.Read(r.Graph); err == nil && !of.Equal(g) {
			return console.Usage("leave out the path to see the program of the run", "%s is a run of another program, or of another version of it: %s, not %s",
				cmd.recorded, of.Program, g.Program)
		}
		r.Annotate(g)
	}
	if focused {
		if g, err = g.Focus(cmd.focus, cmd.depth); err != nil {
			return console.Usage("", "%v", err)
		}
	}
	var b bytes.Buffer
	if err := f.write(&b, g, files); err != nil {
		return err
	}
	if cmd.out == "" || cmd.out == "-" {
		_, err := cmd.console.Stdout.Write(b.Bytes())
		return err
	}
	if err := console.WriteFile(cmd.console.Abs(cmd.out), b.Bytes()); err != nil {
		return console.Usage("", "write %s: %v", cmd.out, err)
	}
	cmd.console.Verbosef("wrote %s, %d bytes", cmd.out, b.Len())
	return nil
}

// build returns the graph of a program, and its source files.
func (cmd *graphCommand) build(path string) (*graph.Graph, []ir.File, error) {
	s, err := program.Source(cmd.console, path, nil)
	if err != nil {
		return nil, nil, err
	}
	p, err := program.Read(cmd.console, s)
	if err != nil {
		return nil, nil, err
	}
	g, err := p.Graph()
	if err != nil {
		return nil, nil, console.Usage("", "%s: %v", path, err)
	}
	return g, p.Files(), nil
}

// report returns the report of the run whose numbers are shown.
func (cmd *graphCommand) report(parent context.Context) (*report.Report, error) {
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	cmd.console.Interrupt = signals.Interrupt
	r, err := runs.BuildReport(ctx, cmd.console, cmd.recorded, "", signals)
	if err != nil && r != nil {
		cmd.console.Complain(fmt.Sprintf("%s: %v; the graph shows the numbers of the part before", cmd.recorded, err), "")
		err = nil
	}
	return r, err
}
