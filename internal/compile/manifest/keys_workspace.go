package manifest

// workspaceKeys contains the keys of [workspace].
var workspaceKeys = []Key{
	{Path: "workspace.repo", Type: String, nonempty: true, Default: `"."`, Example: `"../app"`, Doc: "A directory in the git repository of the workspaces, relative to the manifest."},
	{Path: "workspace.base", Type: String, nonempty: true, Default: `"HEAD"`, Example: `"origin/main"`, Doc: "The revision from which a workspace starts: any that `git rev-parse` resolves to a commit."},
	{Path: "workspace.dirty", Type: Enum, Values: []string{"ignore", "refuse"}, Default: `"ignore"`, Example: `"refuse"`,
		Doc: "The action if the checkout of `repo` has uncommitted changes, which a workspace will not contain: log a line, or refuse to create one."},
	{Path: "workspace.setup", Type: Commands, Default: "[]", Example: `[["npm", "ci"]]`, Doc: "Commands that run in order in each new worktree, each a program and its arguments, without a shell."},
	{Path: "workspace.setup_timeout", Type: Number, Unit: "seconds", Default: "600", Example: "60", Doc: "The maximum duration of all setup commands of a workspace."},
	{Path: "workspace.submodules", Type: Bool, Default: "false", Example: "true", Doc: "Whether each new worktree contains its submodules."},
	{Path: "workspace.lfs", Type: Enum, Values: []string{"pointers", "files"}, Default: `"pointers"`, Example: `"files"`, Doc: "Whether a worktree contains the pointers of Git LFS, or downloads its files."},
}
