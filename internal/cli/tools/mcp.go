package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/format"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/data/secret"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/runtime/mcp"
)

func NewMcp(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp COMMAND",
		Short: "Use and serve MCP tools",
		Long: `MCP is the Model Context Protocol. Add an MCP server's tools to a project, or serve a program's
tools to MCP clients.`,
		Example: `  concerto mcp add Files -- uvx files-server
  concerto mcp serve tools.conc`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			return console.Usage("`concerto mcp add NAME -- COMMAND` or `concerto mcp serve PATH`", "say what to do")
		},
	}
	c.AddCommand(newMcpAdd(a), newMcpServe(a))
	return c
}

func newMcpAdd(a *console.Console) *cobra.Command {
	cmd := mcpAddCommand{console: a}
	c := &cobra.Command{
		Use:   "add NAME [-- COMMAND ARGS…]",
		Short: "Add the tools of an MCP server to a project",
		Long: `Connects to an MCP server, writes declarations of its tools to NAME.conc next to Concerto.toml, and
adds the section [mcp.NAME] to Concerto.toml. Does not overwrite a file or section.`,
		Example: `  concerto mcp add Files -- uvx files-server
  concerto mcp add Docs --url https://example.org/mcp
  concerto mcp add Docs --url https://example.org/mcp --header-env Authorization=DOCS_TOKEN`,
		Args: func(c *cobra.Command, args []string) error {
			if n := c.ArgsLenAtDash(); n != 1 && (n != -1 || len(args) != 1) {
				return console.Usage("`concerto mcp add NAME -- COMMAND`", "mcp add takes one name")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return cmd.add(c.Context(), args[0], args[1:]) },
	}
	c.Flags().StringVar(&cmd.url, "url", "", "connect to the server at `URL`, by streamable HTTP")
	c.Flags().StringArrayVar(&cmd.env, "env", nil, "set an environment variable of the command; repeatable: `NAME=VALUE`")
	c.Flags().StringArrayVar(&cmd.passEnv, "pass-env", nil, "pass the environment variable `NAME` to the command; repeatable")
	c.Flags().StringArrayVar(&cmd.headersEnv, "header-env", nil, "send a header with a variable's value: `HEADER=VARIABLE`")
	return c
}

// mcpAddCommand is the command mcp add with its options.
type mcpAddCommand struct {
	console *console.Console

	url             string
	env, headersEnv []string
	passEnv         []string
}

// pairs reads flags of the form NAME=VALUE.
func pairs(flag string, all []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range all {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, console.Usage("write --"+flag+" NAME=VALUE", "--%s %s has no `=`", flag, p)
		}
		out[name] = value
	}
	return out, nil
}

// serverName is what an mcp block may be called.
var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`) })

func (cmd *mcpAddCommand) add(ctx context.Context, name string, command []string) error {
	url := cmd.url
	switch {
	case !serverName().MatchString(name):
		return console.Usage("write it like `Files`", "%q cannot be the name of a server: it begins with an upper-case letter", name)
	case (url == "") == (len(command) == 0):
		return console.Usage("`concerto mcp add "+name+" -- COMMAND`, or --url URL", "give the command of a server to start, or the address of one that runs")
	}
	dir := manifestDir(cmd.console)
	file := filepath.Join(dir, strings.ToLower(name)+".conc")
	if _, err := os.Stat(file); err == nil {
		return console.Usage("remove it, or choose another name", "%s exists", file)
	}
	written, err := os.ReadFile(filepath.Join(dir, "Concerto.toml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	section := "[mcp." + name + "]"
	if strings.Contains(string(written), section) {
		return console.Usage("remove it, or choose another name", "Concerto.toml has a section %s", section)
	}
	config, members, err := cmd.config(name, dir, command)
	if err != nil {
		return err
	}
	section += "\n" + members
	if err := refuseSecrets(section); err != nil {
		return err
	}
	functions, err := mcp.Inspect(ctx, config, mcp.Options{Environ: os.Environ(), Run: cmd.console.Processes()})
	if err != nil {
		hint := "run its command by itself, to see what it says; a variable that it needs is passed with --pass-env NAME"
		if url != "" {
			hint = "check the URL, and whether the server wants a header: --header-env HEADER=VARIABLE"
		}
		return console.Usage(hint, "%s", strings.TrimSuffix(secretsOf(config).Text(err.Error()), fmt.Sprintf(" (check [mcp.%s] of Concerto.toml)", name)))
	}
	block, err := mcpBlock(name, functions)
	if err != nil {
		return err
	}
	if err := console.WriteFile(file, []byte(block)); err != nil {
		return err
	}
	if len(written) > 0 {
		section = strings.TrimRight(string(written), "\n") + "\n\n" + section
	}
	if err := console.WriteFile(filepath.Join(dir, "Concerto.toml"), []byte(section)); err != nil {
		return err
	}
	module := strings.ToLower(name)
	_, err = fmt.Fprintf(cmd.console.Stdout, "wrote %s.conc and [mcp.%s] in Concerto.toml\nuse it with `mod %s;` and `%s::%s`\n", module, name, module, module, name)
	return err
}

// refuseSecrets says what of a section may not be written down.
func refuseSecrets(section string) error {
	_, found := manifest.Parse(source.NewFile(manifest.FileName, []byte(section)))
	for _, d := range found.Sorted() {
		if d.Info == diag.ManifestSecret {
			return console.Usage(strings.Join(d.Hints, "; "), "it would be written into %s, and %s", manifest.FileName, d.Message)
		}
	}
	return nil
}

// secretsOf are what a server gets that is not to be shown.
func secretsOf(c mcp.Config) *secret.Set {
	known := &secret.Set{}
	for _, variable := range c.HeadersEnv {
		known.AddHeader(variable, os.Getenv(variable))
	}
	return known
}

// config is the server that the flags describe, and the members of its section.
func (cmd *mcpAddCommand) config(name, dir string, command []string) (mcp.Config, string, error) {
	c := mcp.Config{Name: name, Transport: "stdio", Dir: dir, URL: cmd.url}
	env, err := pairs("env", cmd.env)
	if err != nil {
		return c, "", err
	}
	headers, err := pairs("header-env", cmd.headersEnv)
	switch {
	case err != nil:
		return c, "", err
	case cmd.url != "" && len(env)+len(cmd.passEnv) > 0:
		return c, "", console.Usage("leave it out", "--env and --pass-env are of servers that are started: a command, not a URL")
	case cmd.url == "" && len(headers) > 0:
		return c, "", console.Usage("leave it out, or give the command a variable: --env NAME=VALUE", "--header-env is of servers with a URL")
	}
	c.Env, c.HeadersEnv, c.PassEnv = env, headers, cmd.passEnv
	if cmd.url != "" {
		c.Transport = "http"
		return c, "url = " + tomlString(cmd.url) + "\n" + tomlTable("headers_env", headers), nil
	}
	c.Command, c.Args = command[0], command[1:]
	members := "command = " + tomlString(command[0]) + "\n"
	if len(command) > 1 {
		members += "args = [" + tomlStrings(command[1:]) + "]\n"
	}
	if len(cmd.passEnv) > 0 {
		members += "pass_env = [" + tomlStrings(cmd.passEnv) + "]\n"
	}
	return c, members + tomlTable("env", env), nil
}

// tomlTable is an inline table of texts; "" for none.
func tomlTable(name string, m map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		all = append(all, tomlString(k)+" = "+tomlString(m[k]))
	}
	if all == nil {
		return ""
	}
	return name + " = { " + strings.Join(all, ", ") + " }\n"
}

// manifestDir is the directory of the project's manifest, else the working one.
func manifestDir(a *console.Console) string {
	for dir := a.Abs("."); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "Concerto.toml")); err == nil {
			return dir
		}
		if filepath.Dir(dir) == dir {
			return a.Abs(".")
		}
	}
}

// mcpBlock is the source text that declares a server's tools. A tool whose name
// or parameter is no name in Concerto, or whose name is taken, is mentioned in a
// comment only.
func mcpBlock(name string, functions []mcp.Function) (string, error) {
	var schemas, body strings.Builder
	written := map[string]bool{}
	for i, f := range functions {
		if i > 0 {
			body.WriteByte('\n')
		}
		head, _, _ := strings.Cut(f.Signature, "(")
		own := strings.Join(f.Schemas, "\n\n")
		lines := strings.Join(append(slices.Clone(f.Head), f.Signature), "\n") + "\n"
		switch _, found := formatted(name, own+"\n\nmcp X {\n"+lines+"}\n"); {
		case f.Signature == "" || found.HasErrors():
			fmt.Fprintf(&body, "// The tool %s has a name or a parameter that is no name in Concerto.\n", f.Name)
		case written[head]:
			fmt.Fprintf(&body, "// The tool %s would have the name of another: declare it by hand.\n", f.Name)
		default:
			written[head] = true
			body.WriteString(lines)
			for _, s := range f.Schemas {
				schemas.WriteString(s + "\n\n")
			}
		}
	}
	out, found := formatted(name, fmt.Sprintf("// Written by `concerto mcp add %s`.\n\n%spub mcp %s {\n%s}\n", name, schemas.String(), name, body.String()))
	if found.HasErrors() {
		return "", fmt.Errorf("the declarations of %s cannot be written: %s", name, found.Sorted()[0].Message)
	}
	return string(out), nil
}

func formatted(name, text string) ([]byte, diag.List) {
	return format.Source(source.NewFile(name, []byte(text)), format.DefaultWidth)
}

// tomlString is a string of TOML, with control characters escaped.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func tomlStrings(all []string) string {
	var out []string
	for _, s := range all {
		out = append(out, tomlString(s))
	}
	return strings.Join(out, ", ")
}
