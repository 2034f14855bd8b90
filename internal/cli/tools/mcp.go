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
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/text/source"
	"github.com/concerto-lang/concerto/runtime/mcp"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

func NewMcp(a *console.Console) *cobra.Command {
	c := &cobra.Command{
		Use:   "mcp COMMAND",
		Short: "Use and serve MCP tools",
		Long: `MCP is the Model Context Protocol. Add an MCP server's tools to a project, log in to a server, or
serve a program's tools to MCP clients.`,
		Example: `  concerto mcp add Files -- uvx files-server
  concerto mcp login Docs
  concerto mcp serve tools.conc`,
		Args: console.UnknownCommand,
		RunE: func(c *cobra.Command, _ []string) error {
			return console.Usage("`concerto mcp --help` lists the commands", "mcp requires a command")
		},
	}
	c.AddCommand(newMcpAdd(a), newMcpLogin(a), newMcpLogout(a), newMcpStatus(a), newMcpServe(a))
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
				return console.Usage("for example: concerto mcp add Files -- uvx files-server", "mcp add requires one name")
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

// pairs parses the values of a flag. Each has the form NAME=VALUE.
func pairs(flag string, all []string) (map[string]string, error) {
	out := map[string]string{}
	for _, p := range all {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, console.Usage("write --"+flag+" <name>=<value>", "--%s %s has no `=`", flag, p)
		}
		out[name] = value
	}
	return out, nil
}

// serverName matches the valid names of an mcp block.
var serverName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Z][A-Za-z0-9_]*$`) })

func (cmd *mcpAddCommand) add(ctx context.Context, name string, command []string) error {
	url := cmd.url
	switch {
	case !serverName().MatchString(name):
		return console.Usage("start it with an upper-case letter, such as `Files`", "invalid server name %q", name)
	case (url == "") == (len(command) == 0):
		return console.Usage("`concerto mcp add "+name+" -- <command>` or `concerto mcp add "+name+" --url <url>`", "mcp add requires either a command or --url")
	}
	project, err := driver.ReadProject(cmd.console.Dir)
	if err != nil {
		return console.SourceError(err)
	}
	dir := cmd.console.Dir
	if project != nil {
		dir = project.Root
	}
	file := filepath.Join(dir, strings.ToLower(name)+".conc")
	if _, err := os.Stat(file); err == nil {
		return console.Usage("remove it, or choose another name", "%s already exists", file)
	}
	toml := filepath.Join(dir, manifest.FileName)
	written, err := os.ReadFile(toml)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = console.CheckWritable(toml)
	}
	if err != nil {
		return console.Usage("nothing was written", "write [mcp.%s] into %s: %v", name, manifest.FileName, console.Cause(err))
	}
	section := "[mcp." + name + "]"
	if strings.Contains(string(written), section) {
		return console.Usage("remove it, or choose another name", "Concerto.toml already has a section %s", section)
	}
	config, members, err := cmd.config(name, dir, command)
	if err != nil {
		return err
	}
	section += "\n" + members
	if err := checkSecrets(section); err != nil {
		return err
	}
	functions, err := mcp.Inspect(ctx, config, mcpport.Options{Environ: os.Environ(), Run: cmd.console.Processes()})
	if err != nil {
		if same, ok := errors.AsType[*mcp.SameNameError](err); ok {
			return console.Usage("write the declarations by hand, for example `mcp "+name+" { .. }`, which offers all tools to models under distinct names", "%s", same)
		}
		hint := "run `" + strings.Join(command, " ") + "` to see its messages; pass the variables that it needs with --pass-env <name>"
		if url != "" {
			hint = "check the URL; if the server requires a header, add --header-env <header>=<variable>"
		}
		return console.Usage(hint, "%s", strings.TrimSuffix(secretsOf(config).Text(err.Error()), fmt.Sprintf(" (check [mcp.%s] of Concerto.toml)", name)))
	}
	block, err := mcpBlock(name, functions)
	if err != nil {
		return err
	}
	if err := console.WriteFile(file, []byte(block)); err != nil {
		return console.Usage("nothing was written", "write %s: %v", filepath.Base(file), err)
	}
	if len(written) > 0 {
		section = strings.TrimRight(string(written), "\n") + "\n\n" + section
	}
	if err := console.WriteFile(toml, []byte(section)); err != nil {
		return console.Usage("the section is "+section, "wrote %s, but could not write %s: %v", filepath.Base(file), manifest.FileName, err)
	}
	module := strings.ToLower(name)
	_, err = fmt.Fprintf(cmd.console.Stdout, "wrote %s.conc and [mcp.%s] in Concerto.toml\nuse the tools with `mod %s;` and `%s::%s`\n", module, name, module, module, name)
	return err
}

// checkSecrets returns an error if a section of the manifest would contain a secret.
func checkSecrets(section string) error {
	_, found := manifest.Parse(source.NewFile(manifest.FileName, []byte(section)))
	for _, d := range found.Sorted() {
		if d.Info == diag.ManifestSecret {
			return console.Usage(strings.Join(d.Hints, "; "), "refusing to write this into %s: %s", manifest.FileName, d.Message)
		}
	}
	return nil
}

// secretsOf returns the secrets that are passed to a server. They must be removed from messages.
func secretsOf(c mcpport.Config) *secret.Set {
	secrets := &secret.Set{}
	for _, variable := range c.Variables() {
		secrets.AddHeader(variable, os.Getenv(variable))
	}
	return secrets
}

// config returns the configuration of the server that the flags describe, and the content of its
// section in the manifest.
func (cmd *mcpAddCommand) config(name, dir string, command []string) (mcpport.Config, string, error) {
	c := mcpport.Config{Name: name, Transport: "stdio", Dir: dir, URL: cmd.url}
	env, err := pairs("env", cmd.env)
	if err != nil {
		return c, "", err
	}
	headers, err := pairs("header-env", cmd.headersEnv)
	switch {
	case err != nil:
		return c, "", err
	case cmd.url != "" && len(env)+len(cmd.passEnv) > 0:
		return c, "", console.Usage("leave them out", "--env and --pass-env cannot be used with --url")
	case cmd.url == "" && len(headers) > 0:
		return c, "", console.Usage("leave it out, or set a variable of the command with --env <name>=<value>", "--header-env requires --url")
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

// tomlTable returns an inline table of strings, or "" if m is empty.
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

// mcpBlock returns the source text that declares a server's tools. A tool appears only in a comment
// if its name or a parameter's name is not valid in Concerto.
func mcpBlock(name string, functions []mcp.Function) (string, error) {
	var schemas, body strings.Builder
	for i, f := range functions {
		if i > 0 {
			body.WriteByte('\n')
		}
		own := strings.Join(f.Schemas, "\n\n")
		lines := strings.Join(append(slices.Clone(f.Head), f.Signature), "\n") + "\n"
		switch _, found := formatDeclarations(name, own+"\n\nmcp X {\n"+lines+"}\n"); {
		case f.Signature == "" || found.HasErrors():
			fmt.Fprintf(&body, "// The name or a parameter of the tool %s is not a name in Concerto.\n", f.Name)
		default:
			body.WriteString(lines)
			for _, s := range f.Schemas {
				schemas.WriteString(s + "\n\n")
			}
		}
	}
	out, found := formatDeclarations(name, fmt.Sprintf("// Written by `concerto mcp add %s`.\n\n%spub mcp %s {\n%s}\n", name, schemas.String(), name, body.String()))
	if found.HasErrors() {
		return "", fmt.Errorf("could not write the declarations of %s: %s", name, found.Sorted()[0].Message)
	}
	return string(out), nil
}

func formatDeclarations(name, text string) ([]byte, diag.List) {
	return format.Source(source.NewFile(name, []byte(text)), format.DefaultWidth)
}

// tomlString returns s as a TOML string with control characters escaped.
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
