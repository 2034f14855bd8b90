package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/format"
	"github.com/concerto-lang/concerto/runtime/mcp"
	"github.com/concerto-lang/concerto/source"
)

func (a *app) mcpCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp",
		Short: "Use MCP servers",
		Long:  "Brings servers that speak the Model Context Protocol into a project, and makes one of a program.",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return usage("`concerto mcp add NAME -- COMMAND` or `concerto mcp serve PATH`", "say what to do")
		},
	}
	c.AddCommand(a.mcpAddCommand(), a.mcpServeCommand())
	return c
}

func (a *app) mcpAddCommand() *cobra.Command {
	var url string
	c := &cobra.Command{
		Use:   "add NAME [-- COMMAND ARGS…]",
		Short: "Declare the tools of an MCP server",
		Long: `Starts or calls a server, asks it for its tools, writes their declarations into
NAME.conc, beside Concerto.toml, and adds the section [mcp.NAME] to that.

  concerto mcp add Files -- uvx files-server     a server to start
  concerto mcp add Docs --url https://example.org/mcp

Neither a file nor a section that exists is overwritten.`,
		Args: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); n != 1 && (n != -1 || len(args) != 1) {
				return usage("`concerto mcp add NAME -- COMMAND`", "mcp add takes one name")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return a.mcpAdd(c.Context(), args[0], url, args[1:]) },
	}
	c.Flags().StringVar(&url, "url", "", "the `URL` of a server that speaks streamable HTTP")
	return c
}

// serverName is what an mcp block may be called.
var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`) })

func (a *app) mcpAdd(ctx context.Context, name, url string, command []string) error {
	switch {
	case !serverName().MatchString(name):
		return usage("write it like `Files`", "%q cannot be the name of a server: it begins with an upper-case letter", name)
	case (url == "") == (len(command) == 0):
		return usage("`concerto mcp add "+name+" -- COMMAND`, or --url URL", "give the command of a server to start, or the address of one that runs")
	}
	dir := a.manifestDir()
	file := filepath.Join(dir, strings.ToLower(name)+".conc")
	if _, err := os.Stat(file); err == nil {
		return usage("remove it, or choose another name", "%s exists", file)
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "Concerto.toml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	section := "[mcp." + name + "]"
	if strings.Contains(string(manifest), section) {
		return usage("remove it, or choose another name", "Concerto.toml has a section %s", section)
	}
	config := mcp.Config{Name: name, Transport: "stdio", Dir: dir, URL: url}
	if url != "" {
		config.Transport = "http"
		section += "\nurl = " + tomlString(url) + "\n"
	} else {
		config.Command, config.Args = command[0], command[1:]
		section += "\ncommand = " + tomlString(command[0]) + "\n"
		if len(command) > 1 {
			section += "args = [" + tomlStrings(command[1:]) + "]\n"
		}
	}
	functions, err := mcp.Inspect(ctx, config, mcp.Options{Environ: os.Environ()})
	if err != nil {
		return usage("run its command by itself, to see what it says", "%v", err)
	}
	if err := os.WriteFile(file, []byte(a.mcpBlock(name, functions)), 0o666); err != nil {
		return err
	}
	if len(manifest) > 0 {
		section = strings.TrimRight(string(manifest), "\n") + "\n\n" + section
	}
	if err := os.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(section), 0o666); err != nil {
		return err
	}
	module := strings.ToLower(name)
	_, err = fmt.Fprintf(a.stdout, "wrote %s.conc and [mcp.%s] in Concerto.toml\nuse it with `mod %s;` and `%s::%s`\n", module, name, module, module, name)
	return err
}

// manifestDir is the directory of the project's manifest, else the working one.
func (a *app) manifestDir() string {
	for dir := a.abs("."); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "Concerto.toml")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return a.abs(".")
		}
	}
}

// mcpBlock is the text of the declarations. A tool whose names are none in
// Concerto stands there as a remark.
func (a *app) mcpBlock(name string, functions []mcp.Function) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// Written by `concerto mcp add %s`.\n\npub mcp %s {\n", name, name)
	for i, f := range functions {
		if i > 0 {
			b.WriteByte('\n')
		}
		lines := append(append([]string(nil), f.Head...), f.Signature)
		if _, diags := format.Source(source.NewFile(name, []byte("mcp X {\n"+strings.Join(lines, "\n")+"\n}\n")), format.DefaultWidth); diags.HasErrors() {
			fmt.Fprintf(&b, "// The tool %s has a name or a parameter that is no name in Concerto.\n", f.Name)
			continue
		}
		b.WriteString(strings.Join(lines, "\n") + "\n")
	}
	b.WriteString("}\n")
	out, diags := format.Source(source.NewFile(name, []byte(b.String())), format.DefaultWidth)
	if diags.HasErrors() {
		return b.String()
	}
	return string(out)
}

func tomlString(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`).Replace(s) + `"`
}

func tomlStrings(all []string) string {
	var out []string
	for _, s := range all {
		out = append(out, tomlString(s))
	}
	return strings.Join(out, ", ")
}
