package project

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
)

// agent is a coding agent that init --here can supervise.
type agent struct {
	program, title string
	template       string // the template with a recording of an agent of this transport
	start          string // keys of its host, after the transport
	environment    string // variables that it receives
	install        string // command that installs it
}

// agents are listed in the order in which init --here prefers them.
var agents = []agent{
	{program: "claude", title: "Claude Code", template: "claude-code", environment: `"ANTHROPIC_*", "CLAUDE_*"`, install: "npm install -g @anthropic-ai/claude-code"},
	{program: "codex", title: "Codex", template: "codex", start: "approval_policy = \"untrusted\"\nsandbox = \"workspace-write\"\n", environment: `"OPENAI_*", "CODEX_*"`, install: "npm install -g @openai/codex"},
	{program: "opencode", title: "OpenCode", template: "acp", start: "command = \"opencode\"\nargs = [\"acp\"]\nenv = { OPENCODE_CONFIG_CONTENT = '{\"permission\":{\"*\":\"ask\"}}' }\n", environment: `"ANTHROPIC_*", "OPENAI_*"`, install: "npm install -g opencode-ai"},
	{program: "claude-agent-acp", title: "Claude Code", template: "acp", start: "command = \"claude-agent-acp\"\n", environment: `"ANTHROPIC_*", "CLAUDE_*"`},
	{program: "gemini", title: "Gemini CLI", template: "acp", start: "command = \"gemini\"\nargs = [\"--acp\"]\n", environment: `"GEMINI_*", "GOOGLE_*"`},
}

// notCode lists directories that contain no code that a person writes.
var notCode = []string{"bin", "build", "coverage", "dist", "node_modules", "obj", "out", "target", "tmp", "vendor", "venv", "__pycache__"}

// defaultHere is the directory that init --here creates.
const defaultHere = manifest.BesideCode

// createHere creates a project in a directory beside existing code, for an agent that works on this
// code. It changes no existing file.
func (cmd *initCommand) createHere(name string) error {
	name = cmp.Or(name, defaultHere)
	if err := checkName(name); err != nil {
		return err
	}
	if cmd.provider != "scripted" {
		return console.Usage("leave out --provider: the agent chooses its model", "--here and --provider cannot be used together")
	}
	if console.IsFile(cmd.console.Abs(manifest.FileName)) {
		return console.Usage("`concerto init NAME` creates another project", "this directory is a project: %s exists", manifest.FileName)
	}
	chosen, installed, err := cmd.chooseAgent()
	if err != nil {
		return err
	}
	if err := checkVacant(cmd.console, name); err != nil {
		if console.IsFile(filepath.Join(cmd.console.Abs(name), manifest.FileName)) {
			return console.Usage("delete the directory to create it again", "%s/%s already exists", name, manifest.FileName)
		}
		return err
	}
	write, err := codeDirectories(cmd.console.Dir)
	if err != nil {
		return console.Usage("", "read the directory: %v", console.Cause(err))
	}
	s := scaffold{root: cmd.console.Abs(name), values: chosen.values(name, projectNameFor(cmd.console.Dir), write, cmd.demo)}
	err = s.mkdir(s.root)
	if err == nil {
		err = s.copy("templates/here")
	}
	switch {
	case err != nil:
	case cmd.demo:
		err = errors.Join(s.copy("templates/here_demo"), s.copyFile("templates/"+chosen.template+"/talk.wire", "talk.wire"))
	default:
		err = s.copy("templates/here_agent")
	}
	if err != nil {
		s.undo()
		return console.Usage("all created files were removed", "create the project %s: %v", name, console.Cause(err))
	}
	cmd.writeHere(name, chosen, installed, write)
	return nil
}

// chooseAgent returns the agent of the template, or of the first agent that is installed. installed
// contains the programs of all agents that are.
func (cmd *initCommand) chooseAgent() (chosen *agent, installed []string, err error) {
	if cmd.template != "" {
		if err := console.OneOf("--template with --here", cmd.template, []string{"claude-code", "codex", "acp"}); err != nil {
			return nil, nil, err
		}
	}
	for i := range agents {
		x := &agents[i]
		_, missing := exec.LookPath(x.program)
		if missing == nil {
			installed = append(installed, x.program)
		}
		fits := cmd.template == x.template || cmd.template == "" && missing == nil
		if fits && (chosen == nil || missing == nil && !slices.Contains(installed, chosen.program)) {
			chosen = x
		}
	}
	if chosen == nil {
		chosen = &agents[0]
	}
	return chosen, installed, nil
}

// projectNameFor returns the name of the project for the code in a directory.
func projectNameFor(dir string) string {
	name := nearestName(filepath.Base(dir))
	if !projectName().MatchString(name) {
		return defaultHere
	}
	return name
}

// codeDirectories returns the directories of dir that may contain code, without those of projects,
// whose rules an agent must not change.
func codeDirectories(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") && !slices.Contains(notCode, e.Name()) && !console.IsFile(filepath.Join(dir, e.Name(), manifest.FileName)) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// values returns the values of the names in the templates.
func (x *agent) values(dir, name string, write []string, demo bool) map[string]string {
	start, isDemo := fmt.Sprintf("transport = %q\n", x.template)+x.start, ""
	if demo {
		isDemo = "yes"
		start = fmt.Sprintf("# A recording takes the place of the agent. `concerto init --here` without --demo uses the agent.\ntransport = %q\ncommand = \"concerto\"\nargs = [\"host\", \"replay\", %q]\n", x.template, dir+"/talk.wire")
	}
	var roots []string
	for _, w := range write {
		roots = append(roots, strconv.Quote("../"+w))
	}
	return map[string]string{"name": name, "dir": dir, "title": x.title, "start": strings.TrimSuffix(start, "\n"), "environment": x.environment, "write": strings.Join(roots, ", "), "demo": isDemo}
}

// writeHere prints what was found and created, and the commands to run next.
func (cmd *initCommand) writeHere(name string, chosen *agent, installed, write []string) {
	if cmd.console.Quiet {
		return
	}
	w := cmd.console.Stdout
	switch {
	case len(installed) == 0:
		fmt.Fprintln(w, "No agent was found on PATH.")
	default:
		fmt.Fprintf(w, "Found on PATH: %s.\n", strings.Join(installed, ", "))
	}
	fmt.Fprintf(w, "Created %s/ for %s; no other file was changed.\n", name, chosen.title)
	if len(write) > 0 {
		fmt.Fprintf(w, "It may read everything here and change %s without asking.\n", strings.Join(write, ", "))
	} else {
		fmt.Fprintln(w, "It may read everything here, and asks before each change.")
	}
	fmt.Fprint(w, "\nNext steps:\n\n")
	if !cmd.demo && !slices.Contains(installed, chosen.program) {
		fmt.Fprintf(w, "  %s    # or try a recording: concerto init --here demo --demo\n", cmp.Or(chosen.install, "install "+chosen.program))
	}
	if name != defaultHere {
		fmt.Fprintf(w, "  cd %s\n", name)
	}
	fmt.Fprintf(w, "  concerto run \"Fix the failing test\"\n\n%s/%s has the rules.\n", name, manifest.FileName)
}
