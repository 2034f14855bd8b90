package tools

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/interrupt"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/runtime/mcp"
	"github.com/concerto-lang/concerto/runtime/mcp/mcpport"
)

// mcpLogins are the commands about logins to MCP servers, with their options.
type mcpLogins struct {
	console *console.Console

	noBrowser, device bool
	format            *cmdline.Format // of status
}

func newMcpLogin(a *console.Console) *cobra.Command {
	cmd := mcpLogins{console: a}
	c := &cobra.Command{
		Use:   "login NAME",
		Short: "Log in to an MCP server",
		Long: `Logs in to the server of [mcp.NAME] with OAuth, in a browser. Runs then use the
login, and refresh it when it expires. Its tokens are stored in $XDG_STATE_HOME/concerto/mcp
(default: ~/.local/state), readable only by you, and no record contains them. [mcp.NAME.oauth]
configures the client.`,
		Example: `  concerto mcp login Docs
  concerto mcp login Docs --no-browser`,
		Args: console.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error { return cmd.login(c.Context(), args[0]) },
	}
	c.Flags().BoolVar(&cmd.noBrowser, "no-browser", false, "print the address, and read the one to which a browser elsewhere is redirected")
	c.Flags().BoolVar(&cmd.device, "device", false, "print an address and a code, to log in on another device")
	return c
}

func newMcpLogout(a *console.Console) *cobra.Command {
	cmd := mcpLogins{console: a}
	return &cobra.Command{
		Use:     "logout NAME",
		Short:   "Remove the login to an MCP server",
		Long:    "Removes the stored tokens of the server of [mcp.NAME], and revokes them if the\nauthorization server supports that.",
		Example: "  concerto mcp logout Docs",
		Args:    console.Arguments(1, 1),
		RunE:    func(c *cobra.Command, args []string) error { return cmd.logout(c.Context(), args[0]) },
	}
}

func newMcpStatus(a *console.Console) *cobra.Command {
	cmd := mcpLogins{console: a}
	c := &cobra.Command{
		Use:     "status",
		Short:   "List the logins to MCP servers",
		Long:    "Lists the servers of the manifest that have a URL, with the states of their\nlogins. No server is contacted.",
		Example: "  concerto mcp status\n  concerto mcp status --format json",
		Args:    console.Arguments(0, 0),
		RunE:    func(*cobra.Command, []string) error { return cmd.status() },
	}
	cmd.format = cmdline.AddFormat(c, "text", "json")
	return c
}

// servers returns the servers of the project that have a URL.
func (cmd *mcpLogins) servers() ([]mcpport.Config, error) {
	project, err := driver.ReadProject(cmd.console.Dir)
	if err != nil {
		return nil, console.SourceError(err)
	}
	if project == nil {
		return nil, console.Usage("`concerto mcp add NAME --url URL` writes one", "there is no %s with a section of an MCP server", manifest.FileName)
	}
	var out []mcpport.Config
	for _, s := range project.Manifest.MCP {
		c, err := mcpport.ParseConfig(s.Name, s.Config, project.Root)
		if err != nil {
			return nil, err
		}
		if c.Transport == "http" {
			out = append(out, c)
		}
	}
	return out, nil
}

// server returns the server of a name.
func (cmd *mcpLogins) server(name string) (mcpport.Config, error) {
	all, err := cmd.servers()
	if err != nil {
		return mcpport.Config{}, err
	}
	var names []string
	for _, c := range all {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	hint := "no section [mcp.X] has a `url`"
	if names != nil {
		hint = "the servers with a `url` are " + strings.Join(names, ", ")
	}
	return mcpport.Config{}, console.Usage(hint, "there is no section [mcp.%s] with a `url`", name)
}

func (cmd *mcpLogins) login(parent context.Context, name string) error {
	if cmd.noBrowser && cmd.device {
		return console.Usage("leave one of them out", "--no-browser and --device cannot be used together")
	}
	c, err := cmd.server(name)
	switch {
	case err != nil:
		return err
	case !c.LogsIn():
		return console.Usage("remove the header to log in instead", "[mcp.%s] has the header Authorization, and needs no login", name)
	case c.OAuth != nil && c.OAuth.Grant == "client_credentials":
		return console.Usage("each run gets its own token", "[mcp.%s.oauth] has the grant client_credentials, which needs no login", name)
	}
	ctx, signals := interrupt.Catch(parent)
	defer signals.Stop()
	secrets := secretsOf(c)
	st, err := mcp.Login(ctx, c, os.Environ(), cmd.person(ctx))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("could not log in to %s: %s", name, secrets.Text(err.Error()))
	}
	_, err = fmt.Fprintf(cmd.console.Stdout, "logged in to %s%s\n", name, scopesText(st.Scopes))
	return err
}

// scopesText returns a phrase with the scopes of a login, or "".
func scopesText(scopes []string) string {
	if len(scopes) == 0 {
		return ""
	}
	return " with " + strings.Join(scopes, ", ")
}

// person returns how the login reaches the person at this terminal.
func (cmd *mcpLogins) person(ctx context.Context) mcp.Person {
	out := cmd.console.Stdout
	p := mcp.Person{Show: func(address string) {
		fmt.Fprintf(out, "log in at %s, in your browser\n", hostOf(address))
		cmd.console.OpenInBrowser(ctx, address)
	}}
	if cmd.noBrowser {
		p.Show = func(address string) {
			fmt.Fprintf(out, "open this address in a browser, and log in:\n%s\nthen enter the address to which the browser is redirected, even if it cannot load the page:\n", address)
		}
		in := bufio.NewReader(cmd.console.Stdin)
		p.Redirected = func() (string, error) {
			line, err := in.ReadString('\n')
			if strings.TrimSpace(line) != "" {
				err = nil
			}
			return line, err
		}
	}
	if cmd.device {
		p.Device = func(address, code string) {
			fmt.Fprintf(out, "open this address on any device:\n%s\nand enter the code %s\n", address, code)
		}
	}
	return p
}

// hostOf returns the host of an address.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	return u.Host
}

func (cmd *mcpLogins) logout(ctx context.Context, name string) error {
	c, err := cmd.server(name)
	if err != nil {
		return err
	}
	existed, unrevoked, err := mcp.Logout(ctx, c, os.Environ())
	if err != nil {
		return fmt.Errorf("could not remove the login to %s: %w", name, err)
	}
	if unrevoked != nil {
		cmd.console.Complain("warning: the tokens of "+name+" could not be revoked: "+secretsOf(c).Text(unrevoked.Error()), "")
	}
	text := "logged out of " + name
	if !existed {
		text = "there was no login to " + name
	}
	_, err = fmt.Fprintln(cmd.console.Stdout, text)
	return err
}

func (cmd *mcpLogins) status() error {
	all, err := cmd.servers()
	if err != nil {
		return err
	}
	found := []mcp.Status{}
	for _, c := range all {
		found = append(found, mcp.StatusOf(c, os.Environ()))
	}
	if !cmd.format.IsText() {
		return cmd.console.WriteJSON(found)
	}
	w := tabwriter.NewWriter(cmd.console.Stdout, 0, 0, 2, ' ', 0)
	for _, st := range found {
		more := strings.Join(st.Scopes, " ")
		if st.Expires != nil {
			more = strings.TrimSpace("until " + st.Expires.Local().Format(time.DateTime) + "  " + more)
		}
		if st.Problem != "" {
			more = st.Problem
		}
		if more != "" {
			more = "\t" + more
		}
		fmt.Fprintf(w, "%s\t%s\t%s%s\n", st.Server, strings.ReplaceAll(st.State, "_", " "), st.URL, more)
	}
	return w.Flush()
}
