package manifest

import "slices"

// workspaceKeys returns the keys of [workspace], and those of [hosts.X.workspace].
func workspaceKeys() []Key {
	return slices.Concat([]Key{
		{Path: "workspace.repo", Type: String, nonempty: true, Default: `"."`, Example: `"../app"`, Doc: "A directory in the git repository of the workspaces, relative to the manifest."},
	}, worktreeKeys("workspace"), worktreeKeys("hosts.*.workspace"))
}

// worktreeKeys returns the keys of a section about worktrees.
func worktreeKeys(section string) []Key {
	return []Key{
		{Path: section + ".base", Type: String, nonempty: true, Default: `"HEAD"`, Example: `"origin/main"`, Doc: "The revision from which a workspace starts: any that `git rev-parse` resolves to a commit."},
		{Path: section + ".dirty", Type: Enum, Values: []string{"ignore", "refuse"}, Default: `"ignore"`, Example: `"refuse"`,
			Doc: "The action if the checkout of `repo` has uncommitted changes, which a workspace will not contain: log a line, or refuse to create one."},
		{Path: section + ".setup", Type: Commands, Default: "[]", Example: `[["npm", "ci"]]`, Doc: "Commands that run in order in each new worktree, each a program and its arguments, without a shell."},
		{Path: section + ".setup_timeout", Type: Number, Unit: "seconds", Default: "600", Example: "60", Doc: "The maximum duration of all setup commands of a workspace."},
		{Path: section + ".submodules", Type: Bool, Default: "false", Example: "true", Doc: "Whether each new worktree contains its submodules."},
		{Path: section + ".lfs", Type: Enum, Values: []string{"pointers", "files"}, Default: `"pointers"`, Example: `"files"`, Doc: "Whether a worktree contains the pointers of Git LFS, or downloads its files."},
		{Path: section + ".keep", Type: Enum, Values: []string{"changed", "always"}, Default: `"changed"`, Example: `"always"`,
			Doc: "Which workspaces of exchanges with `isolate` remain: those in which something has changed, or all."},
	}
}
