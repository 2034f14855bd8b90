package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/connect"
	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/server/auth"
)

// NewToken returns the command token.
func NewToken(a *console.Console) *cobra.Command {
	w := &managerFlags{}
	c := a.Group(&cobra.Command{
		Use:   "token COMMAND",
		Short: "Create, list and revoke access tokens",
		Long: `An access token grants a program or a device the rights of its role, for all runs or those of
--runs, until it expires or is revoked. Its secret is shown once.` + whereHelp,
		Example: `  concerto-relay token create --name phone --role operator > token
  concerto-relay runs --server http://127.0.0.1:8787 --token-file token`,
	}, tokenCreateCommand(a, w), tokenListCommand(a, w), tokenRevokeCommand(a, w), hashPasswordCommand(a))
	addManagerFlags(a, c, w)
	return c
}

func tokenCreateCommand(a *console.Console, w *managerFlags) *cobra.Command {
	var n auth.NewToken
	var role, user, public string
	var ttl time.Duration
	var noQR bool
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "create",
		Short: "Create an access token",
		Long: `Prints the token on its own line; its id and a link go to stderr. Viewers read. Operators also
answer, decide, stop runs and call machines. Owners also manage users, tokens and machines. A
token with --runs shows only the runs that match and cannot start any; the printed link opens the
relay's page with it. Without --ttl a token expires 30 days after its last use.` + whereHelp,
		Example: `  concerto-relay token create --name phone --role operator
  concerto-relay token create --name guest --role viewer --runs run_7 --ttl 1h`,
		Args: console.ArgsBetween(0, 0, "concerto-relay token create --name phone"),
		RunE: func(c *cobra.Command, _ []string) error {
			if err := a.OneOf("role", role, "viewer", "approver", "operator", "owner"); err != nil {
				return err
			}
			if _, ok := connect.WebURL(public); public != "" && !ok {
				return a.InvalidSetting("public-url", "write a URL without a path, such as https://relay.example", "invalid value %q", public)
			}
			n.Role = auth.Role(role)
			if c.Flags().Changed("ttl") {
				seconds := int64(ttl / time.Second)
				n.TTLS = &seconds
			}
			return withManager(a, w, false, func(ctx context.Context, p manager) error {
				made, err := p.makeToken(ctx, user, n)
				if err != nil {
					return err
				}
				if made.Link == "" && public != "" && len(n.Runs) > 0 {
					made.Link = auth.Link(public, made.Token, n.Runs)
				}
				if !format.IsText() {
					return json.NewEncoder(a.Stdout).Encode(made)
				}
				fmt.Fprintf(a.Stderr, "token %s\n", made.ID)
				if made.Link != "" {
					fmt.Fprintf(a.Stderr, "link  %s\n", made.Link)
					if !noQR {
						console.PrintQR(a, a.Stderr, made.Link)
					}
				}
				_, err = fmt.Fprintln(a.Stdout, made.Token)
				return err
			})
		},
	}
	f := c.Flags()
	f.StringVar(&n.Name, "name", "token", "give the token the `NAME` that token list shows (default token)")
	f.StringVar(&role, "role", "viewer", "grant `ROLE`: viewer, approver, operator or owner (default viewer)")
	f.StringSliceVar(&n.Runs, "runs", nil, "grant only runs whose ids match `GLOBS` with * and ?")
	f.DurationVar(&ttl, "ttl", 0, "let the token expire after `DURATION`, such as 1h or 90m")
	f.StringVar(&user, "user", "", "create the token for the user `NAME`, with --db (default: the first owner)")
	f.StringVar(&public, "public-url", "", "use the server's `URL` in the link, with --db and --runs")
	console.NoQRFlag(f, &noQR)
	format = cmdline.AddFormat(c, "text", "json")
	return c
}

// withManager calls do with the manager that the flags select, and closes the manager afterwards.
// If make is set, a missing database is created.
func withManager(a *console.Console, w *managerFlags, make bool, do func(ctx context.Context, p manager) error) error {
	ctx := context.Background()
	p, err := openManager(ctx, a, w, make)
	if err != nil {
		return err
	}
	defer p.close()
	return do(ctx, p)
}

func tokenListCommand(a *console.Console, w *managerFlags) *cobra.Command {
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "list",
		Short: "List access tokens and sessions",
		Long:  `Lists the valid access tokens and sessions, without their secrets, which are not stored.` + whereHelp,
		Example: `  concerto-relay token list
  concerto-relay token list --format ndjson | jq -r 'select(.role == "owner") | .id'`,
		Args: console.ArgsBetween(0, 0, "concerto-relay token list"),
		RunE: func(*cobra.Command, []string) error {
			return withManager(a, w, false, func(ctx context.Context, p manager) error {
				all, err := p.tokens(ctx)
				if err != nil {
					return err
				}
				if !format.IsText() {
					return console.JSONLines(a.Stdout, all)
				}
				rows := [][]string{{"ID", "KIND", "NAME", "USER", "ROLE", "RUNS", "EXPIRES"}}
				for _, t := range all {
					rows = append(rows, []string{t.ID, t.Kind, t.Name, t.User, t.Role, strings.Join(t.Runs, ","), t.ExpiresAt})
				}
				return console.Table(a.Stdout, rows)
			})
		},
	}
	format = cmdline.AddFormat(c, "text", "ndjson")
	return c
}

func tokenRevokeCommand(a *console.Console, w *managerFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke a token or session",
		Long:    `Connections of the token are closed within a second. 'concerto-relay token list' shows the ids.` + whereHelp,
		Example: `  concerto-relay token revoke t_0123456789abcdef0123`,
		Args:    console.ArgsBetween(1, 1, "concerto-relay token revoke t_0123456789abcdef0123"),
		RunE: func(_ *cobra.Command, args []string) error {
			return withManager(a, w, false, func(ctx context.Context, p manager) error { return p.revoke(ctx, args[0]) })
		},
	}
}

func hashPasswordCommand(a *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "hash-password [PASSWORD]",
		Short: "Hash a password for ADMIN_PASSWORD_HASH",
		Long: `Prints the argon2id hash of a password. Without an argument it reads a line of stdin, so that the
password does not appear in the shell's history.`,
		Example: `  concerto-relay token hash-password < password
  export ADMIN_PASSWORD_HASH=$(concerto-relay token hash-password < password)`,
		Args: console.ArgsBetween(0, 1, "concerto-relay token hash-password < password-file"),
		RunE: func(_ *cobra.Command, args []string) error {
			password := strings.Join(args, "")
			if len(args) == 0 {
				var err error
				if password, err = console.FirstLine(a.Stdin); err != nil {
					return err
				}
			}
			if err := auth.CheckPassword(password); err != nil {
				return console.Usage("use a longer one", "%v", err)
			}
			_, err := fmt.Fprintln(a.Stdout, auth.HashPassword(password))
			return err
		},
	}
}

// PasswordFile returns the first line of a file, or of standard input if path is "".
func PasswordFile(a *console.Console, flag, path string) (string, error) {
	in := a.Stdin
	if path != "" {
		f, err := os.Open(a.Abs(path))
		if err != nil {
			return "", a.InvalidSetting(flag, "", "%v", err)
		}
		defer f.Close()
		in = f
	}
	password, err := console.FirstLine(in)
	if err == nil {
		if bad := auth.CheckPassword(password); bad != nil {
			return "", a.InvalidSetting(flag, "the password must be its first line", "%v", bad)
		}
	}
	return password, err
}
