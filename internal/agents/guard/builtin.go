package guard

import (
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/data/hostpolicy"
)

// Protected are the globs of files that decide which rules and hooks apply. No agent may write
// them, and no policy can allow it.
var Protected = []string{
	"/**/.claude/settings*.json", "/**/.claude/hooks", "/**/.claude/plugins", "~/.claude.json", "/etc/claude-code",
	"/**/.codex", "/etc/codex",
	"/**/.gemini/settings.json", "/**/.gemini/hooks", "/**/.gemini/extensions", "/etc/gemini-cli",
	"/**/.copilot", "/**/.github/hooks",
	"/**/.cursor/hooks.json", "/**/.cursor/hooks", "/etc/cursor",
	"/**/.opencode", "/**/opencode.json", "/**/opencode.jsonc", "~/.config/opencode",
	"/**/Concerto.toml", "~/.config/concerto", "/etc/concerto", "~/.local/state/concerto", "/run/user/*/concerto", "/tmp/concerto-*",
	"/**/.git/hooks", "/**/.git/config", "/**/.git/modules/**/hooks", "~/.gitconfig", "~/.config/git", "/**/.husky",
}

// protectedFolders are the names of folders that contain such files. No command may name one
// itself, because it could remove or replace it.
var protectedFolders = []string{".claude", ".git", ".gemini", ".cursor"}

// protectedVariables are the environment variables that name other settings for an agent.
var protectedVariables = []string{"CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT"}

// NestedAgent is an agent that a command may start. Options are those that remove its hooks, or
// name other settings.
type NestedAgent struct {
	Names   []string // programs and packages
	Options []string
}

// NestedAgents is the table of these agents.
var NestedAgents = []NestedAgent{
	{[]string{"claude", "claude-code"}, []string{"--bare", "--safe-mode", "--setting-sources", "--settings", "--plugin-dir"}},
	{[]string{"codex"}, []string{"--disable", "--ignore-user-config", "--dangerously-bypass-hook-trust", "-c", "--config", "-p", "--profile"}},
	{[]string{"opencode", "opencode-ai"}, []string{"--pure"}},
	{[]string{"gemini", "gemini-cli"}, []string{"-e", "--extensions"}},
	{[]string{"copilot"}, []string{"--config-dir"}},
}

// Terminal is a group of programs that read commands from their terminal if they are started with
// fewer than Need arguments without `-`.
type Terminal struct {
	Need  int
	Names []string
}

// Terminals is the table of these programs. Codex sends text for them with write_stdin, for which
// it starts no hook.
var Terminals = []Terminal{
	{1, []string{
		"bash", "sh", "dash", "zsh", "ksh", "fish", "pwsh", "python", "python3", "node", "deno", "bun", "ruby", "irb",
		"perl", "lua", "php", "ghci", "R", "julia", "scala", "redis-cli",
	}},
	{2, []string{
		"sqlite3", "ssh",
	}},
	{99, []string{
		"psql", "mysql", "mongosh", "telnet", "nc", "gdb", "vim", "vi", "nano", "ed", "tmux", "screen",
	}},
}

// scriptOptions are the options with which these programs run a script and read no commands.
var scriptOptions = []string{"-c", "-e", "-f", "--command", "--eval", "--execute", "--file", "-m", "-p", "-lc"}

// maxWords is the maximum number of words of a command, in each of the directories that it enters.
const maxWords = 10_000

// readers are the commands that may name protected files, because they only read.
var readers = []string{"cat", "head", "tail", "less", "more", "ls", "stat", "wc", "file", "grep", "egrep", "fgrep", "cmp", "jq", "realpath", "readlink", "sha256sum", "test", "[", "cd", "pushd", "pwd"}

// builtIn returns the denial of a call by the rules that no policy can change, the decision to pass
// a call that acts only inside the agent, or the zero value.
func (p *Places) builtIn(c *Call) Decision {
	if c.Kind == "" {
		return Decision{Verdict: hostpolicy.Pass, Reason: "built in: the tool acts only inside the agent"}
	}
	q := c.request
	if q.Command == "" {
		if q.Kind != "read" && q.Kind != "search" && p.protects(c) {
			return deny("built in: %s decides which rules apply, and no agent may write it", strings.Join(q.Paths, ", "))
		}
		return Decision{}
	}
	commands, unclear := hostpolicy.SimpleCommands(q.Command)
	if name := p.protectedIn(c, commands, unclear); name != "" {
		return deny("built in: %s decides which rules apply, and no command may name it", name)
	}
	for _, words := range commands {
		if option := removesHooks(words); option != "" {
			return deny("built in: `%s` of %s may remove hooks", option, words[0])
		}
		if name := decides(words); name != "" {
			return deny("built in: `concerto %s` is for people, not for agents", name)
		}
		if c.Agent == "codex" && readsTerminal(words) {
			return deny("built in: %s reads commands from its terminal, which Codex shows to no hook", words[0])
		}
	}
	return Decision{}
}

// protects reports whether a call names a protected file.
func (p *Places) protects(c *Call) bool {
	return p.protection(c).Forbids(hostpolicy.Request{Paths: c.request.Paths, Dir: c.request.Dir})
}

// protection returns the policy that denies protected files, and the programs of the policies.
func (p *Places) protection(c *Call) *hostpolicy.Policy {
	globs := slices.Clone(Protected)
	for _, dir := range []string{p.Config, p.System, p.State} {
		if dir != "" {
			globs = append(globs, filepath.ToSlash(dir))
		}
	}
	for _, path := range c.programs {
		globs = append(globs, filepath.ToSlash(path))
	}
	return hostpolicy.New(hostpolicy.Rules{Deny: globs}, hostpolicy.Place{Dir: "/", Home: p.Home, Link: readLink})
}

// protectedIn returns the first protected file or variable that a command names, or "". It does
// not know whether the command writes it, so all commands but readers count.
func (p *Places) protectedIn(c *Call, commands [][]string, unclear bool) string {
	text := unquote(c.request.Command)
	reads := !unclear && !strings.ContainsAny(text, ">") && len(commands) > 0
	for _, words := range commands {
		reads = reads && slices.Contains(readers, words[0])
	}
	if reads {
		return ""
	}
	for _, name := range protectedVariables {
		if strings.Contains(text, name+"=") {
			return name
		}
	}
	if strings.Contains(strings.ToLower(text), "core.hookspath") {
		return "core.hooksPath"
	}
	dirs := []string{c.request.Dir}
	for _, words := range commands {
		if at := slices.IndexFunc(words, func(w string) bool { return w == "cd" || w == "pushd" }); at >= 0 && at+1 < len(words) {
			for _, dir := range slices.Clone(dirs) {
				dirs = append(dirs, p.join(dir, words[at+1]))
			}
		}
		if len(dirs) > 64 {
			return "more directories than the guard can read"
		}
	}
	// A backslash quotes a character, or separates the names of a path on Windows.
	all, words := p.protection(c), append(fields(text), fields(strings.ReplaceAll(c.request.Command, `\`, "/"))...)
	if len(words)*len(dirs) > maxWords {
		return "more than the guard can read"
	}
	for _, word := range words {
		for _, dir := range dirs {
			for _, name := range meanings(p.join(dir, word)) {
				if slices.Contains(protectedFolders, strings.ToLower(filepath.Base(name))) || name == filepath.Dir(p.Config) || name == filepath.Dir(p.State) ||
					all.Forbids(hostpolicy.Request{Paths: []string{name}}) {
					return word
				}
			}
		}
	}
	return ""
}

// join returns the path of a name, as a shell would read it in a directory.
func (p *Places) join(dir, name string) string {
	for _, home := range []string{"~/", "$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(name, home); ok && p.Home != "" {
			return filepath.Join(p.Home, rest)
		}
	}
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// meanings returns a path, and the existing files that it matches as a pattern.
func meanings(name string) []string {
	if !strings.ContainsAny(name, "*?[{") {
		return []string{name}
	}
	found, _ := filepath.Glob(name) // a pattern that is not valid matches nothing
	return append(found[:min(len(found), 1000)], name)
}

// unquote returns a command without the characters that a shell removes from words.
func unquote(command string) string {
	return strings.NewReplacer("\\\n", "", "\\", "", "'", "", `"`, "").Replace(command)
}

// fields returns the parts of a command that may be names of files.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()<>`=,:'\"", r) })
}

// removesHooks returns an option of a nested agent that may remove its hooks, or "".
func removesHooks(words []string) string {
	for _, agent := range NestedAgents {
		at := slices.IndexFunc(words, func(w string) bool {
			name, _, _ := strings.Cut(path.Base(w), "@")
			return slices.Contains(agent.Names, name)
		})
		if at < 0 {
			continue
		}
		for _, w := range words[at+1:] {
			name, _, _ := strings.Cut(w, "=")
			if slices.Contains(agent.Options, name) || len(name) > 4 && slices.ContainsFunc(agent.Options, func(o string) bool { return strings.HasPrefix(o, name) }) {
				return name
			}
		}
	}
	return ""
}

// forPeople are the commands of Concerto that decide about requests, or which rules apply, as words
// that follow the name of the program.
var forPeople = []string{"guard install", "guard uninstall", "guard release", "guard serve", "guard trust", "runs answer", "top", "relay approve", "relay deny"}

// decides returns the command of Concerto in words that is for people, or "".
func decides(words []string) string {
	for i, w := range words {
		var rest []string
		switch strings.TrimSuffix(path.Base(w), ".exe") {
		case "concerto":
			rest = words[i+1:]
		case "concerto-relay":
			rest = append([]string{"relay"}, words[i+1:]...)
		default:
			continue
		}
		for _, name := range forPeople {
			if !slices.ContainsFunc(strings.Fields(name), func(part string) bool { return !slices.Contains(rest, part) }) {
				return name
			}
		}
	}
	return ""
}

// readsTerminal reports whether a command reads commands from its terminal.
func readsTerminal(words []string) bool {
	at := slices.IndexFunc(Terminals, func(t Terminal) bool { return slices.Contains(t.Names, words[0]) })
	if at < 0 {
		return false
	}
	n := 0
	for _, w := range words[1:] {
		switch {
		case w == "-i" || w == "-s" || w == "-":
			return true
		case slices.Contains(scriptOptions, w):
			return false
		case !strings.HasPrefix(w, "-"):
			n++
		}
	}
	return n < Terminals[at].Need && !slices.Contains(words, "--version") && !slices.Contains(words, "--help")
}
