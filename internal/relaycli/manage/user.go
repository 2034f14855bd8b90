package manage

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/relaycli/console"
	"github.com/concerto-lang/concerto/internal/term/cmdline"
	"github.com/concerto-lang/concerto/relay/server/auth"
)

// NewUser returns the command user.
func NewUser(a *console.Console) *cobra.Command {
	w := &managerFlags{}
	c := a.Group(&cobra.Command{
		Use:   "user COMMAND",
		Short: "Add, list and remove users",
		Long:  `Users log in with name and password, and have the rights of their role.` + whereHelp,
		Example: `  concerto-relay user add ann --role owner --password-file password
  concerto-relay user list
  concerto-relay user remove ann`,
	}, userAddCommand(a, w), userListCommand(a, w), userRemoveCommand(a, w))
	addManagerFlags(a, c, w)
	return c
}

func userAddCommand(a *console.Console, w *managerFlags) *cobra.Command {
	var role, file string
	c := &cobra.Command{
		Use:   "add NAME",
		Short: "Add a user, or change one",
		Long: `Adds a user, or changes the role and the password of an existing user and ends that user's sessions.
The password is the first line of --password-file, or else of stdin. The first user is an owner.` + whereHelp,
		Example: `  concerto-relay user add ann --role owner --password-file password`,
		Args:    console.ArgsBetween(1, 1, "concerto-relay user add ann --role operator"),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := a.OneOf("role", role, "viewer", "approver", "operator", "owner"); err != nil {
				return err
			}
			password, err := PasswordFile(a, "password-file", file)
			if err != nil {
				return err
			}
			return withManager(a, w, true, func(ctx context.Context, p manager) error {
				return p.putUser(ctx, args[0], password, auth.Role(role))
			})
		},
	}
	c.Flags().StringVar(&role, "role", "viewer", "grant `ROLE`: viewer, approver, operator or owner (default viewer)")
	c.Flags().StringVar(&file, "password-file", "", "read the password from the first line of `FILE`")
	return c
}

func userListCommand(a *console.Console, w *managerFlags) *cobra.Command {
	var format *cmdline.Format
	c := &cobra.Command{
		Use:   "list",
		Short: "List users",
		Long:  `Lists the users with their roles.` + whereHelp,
		Example: `  concerto-relay user list
  concerto-relay user list --format ndjson | jq -r .name`,
		Args: console.ArgsBetween(0, 0, "concerto-relay user list"),
		RunE: func(*cobra.Command, []string) error {
			return withManager(a, w, false, func(ctx context.Context, p manager) error {
				all, err := p.users(ctx)
				if err != nil {
					return err
				}
				if !format.IsText() {
					return console.JSONLines(a.Stdout, all)
				}
				rows := [][]string{{"NAME", "ROLE"}}
				for _, u := range all {
					rows = append(rows, []string{u.Name, u.Role})
				}
				return console.Table(a.Stdout, rows)
			})
		},
	}
	format = cmdline.AddFormat(c, "text", "ndjson")
	return c
}

func userRemoveCommand(a *console.Console, w *managerFlags) *cobra.Command {
	return &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a user",
		Long:    `Removes a user with all sessions and tokens. The last owner cannot be removed.` + whereHelp,
		Example: `  concerto-relay user remove ann`,
		Args:    console.ArgsBetween(1, 1, "concerto-relay user remove ann"),
		RunE: func(_ *cobra.Command, args []string) error {
			return withManager(a, w, false, func(ctx context.Context, p manager) error { return p.removeUser(ctx, args[0]) })
		},
	}
}
