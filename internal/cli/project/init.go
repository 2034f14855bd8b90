package project

import (
	"bufio"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/process/git"
	"github.com/concerto-lang/concerto/sdk"
)

// templateFiles contains one directory for each kind of project, and directories of files that
// several kinds share. render fills them: {{name}} is the project's name, {{connection}} the keys
// of its connection, {{vendor}} the vendor of the models, and {{model}} the README's section on
// setting up the model. The last three are empty for the scripted provider.
//
//go:embed templates
var templateFiles embed.FS

// template is a kind of project. with is the name of a folder of files that several templates
// share. next is an additional command to suggest for the new project.
type template struct {
	name, about, with, next string
	sdk                     bool // the project includes concerto.py
	repository              bool // the project is a git repository with one commit
}

// templates are listed in the order in which init offers them. The first one is the default.
var templates = []template{
	{name: "hello", about: "an agent that answers"},
	{name: "supervise", about: "a host, with an agent that answers its questions"},
	{name: "pipeline", about: "agents and a host, one stage after the other"},
	{name: "tools", about: "an agent that calls functions of the program"},
	{name: "service", about: "a Python application with an agent and tools", next: "python3 app.py    run the application", sdk: true},
	{name: "fleet", about: "three hosts on one repository, with a merge queue", repository: true},
	{name: "claude-code", about: "Claude Code, supervised", with: "agent"},
	{name: "codex", about: "Codex, supervised", with: "agent"},
	{name: "acp", about: "an agent that speaks ACP, supervised", with: "agent"},
	{name: guardTemplate, about: "a policy for the agents that people start in this directory"},
}

func TemplateNames() (names []string) {
	for _, t := range templates {
		names = append(names, t.name)
	}
	return names
}

// initCommand is the command init with its options.
type initCommand struct {
	console            *console.Console
	template, provider string
	here, demo         bool
}

func NewInit(a *console.Console) *cobra.Command {
	cmd := initCommand{console: a}
	list := ""
	for _, t := range templates {
		list += fmt.Sprintf("  %-11s %s\n", t.name, t.about)
	}
	c := &cobra.Command{
		Use:   "init NAME | --here",
		Short: "Create a project",
		Long: `Creates a directory with a project that runs without a network and without a key: a program, its
Concerto.toml and a README. On a terminal, init prompts for missing arguments. It does
not overwrite files.

With --here, or with '.' in a directory that is not empty, it creates the directory concerto (or
NAME) beside your code, for a coding agent that works on it: the one of --template (claude-code,
codex or acp), or the first that is on PATH.

With --template guard, it writes the policy for the code in this directory, or in NAME: rules that
suit its language, and a function that decides, with tests.

Templates:
` + list + `
Providers: ` + providerList() + `.
With --provider, Concerto.toml connects to that provider's models instead of scripted replies, and
the README names the environment variable of the key. The tests still need no key.`,
		Example: `  concerto init triage                       create the directory triage
  concerto init triage --template supervise  create a project that supervises a host
  concerto init triage --provider anthropic  use a model of Anthropic
  concerto init --template guard             write a policy for agents that you start here
  concerto init --here                       supervise an agent that works on the code here
  concerto init .                            use this directory; like --here, if it has files`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return console.Usage("write the name without spaces", "init takes one name, not %d", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			dir := strings.Join(args, "")
			if isHere := filepath.Clean(dir) == "." && dir != ""; cmd.here && isHere || isHere && cmd.supervises() {
				cmd.here, dir = true, ""
			}
			if cmd.here {
				return cmd.createHere(dir)
			}
			if cmd.demo {
				return console.Usage("leave it out: the project runs with a recording, or add --here", "--demo requires --here")
			}
			return cmd.create(c.Context(), dir)
		},
	}
	c.Flags().StringVarP(&cmd.template, "template", "t", "", "use the template `NAME`")
	c.Flags().StringVar(&cmd.provider, "provider", "scripted", "connect to the models of provider `NAME`")
	c.Flags().BoolVar(&cmd.here, "here", false, "supervise an agent that works on the code in this directory")
	c.Flags().BoolVar(&cmd.demo, "demo", false, "with --here: let a recording take the place of the agent")
	console.CompleteFlag(c, "template", TemplateNames)
	return c
}

// supervises reports whether `init .` is for the code in the working directory: it is not empty,
// and the template is that of an agent, or none.
func (cmd *initCommand) supervises() bool {
	entries, err := os.ReadDir(cmd.console.Dir)
	return err == nil && len(entries) > 0 && (cmd.template == "" || slices.ContainsFunc(agents, func(x agent) bool { return x.template == cmd.template }))
}

// create creates a project in dir. If dir is "", it prompts for a name.
func (cmd *initCommand) create(ctx context.Context, dir string) (err error) {
	if cmd.template == guardTemplate {
		return cmd.createGuard(dir)
	}
	in := bufio.NewReader(cmd.console.Stdin)
	if dir == "" {
		if !cmd.console.TTY.In {
			return console.Usage("for example: concerto init triage", "the project requires a name")
		}
		if dir, err = askName(cmd.console, in); err != nil {
			return err
		}
	}
	if cmd.template != "" {
		if err := console.OneOf("--template", cmd.template, TemplateNames()); err != nil {
			return err
		}
	}
	if err := checkProvider(cmd.provider); err != nil {
		return err
	}
	name := filepath.Base(filepath.Clean(cmd.console.Abs(dir)))
	if err := checkName(name); err != nil {
		return err
	}
	if err := checkVacant(cmd.console, dir); err != nil {
		return err
	}
	if cmd.template == "" {
		cmd.template = templates[0].name
		if cmd.console.TTY.In {
			if cmd.template, err = askTemplate(cmd.console, in); err != nil {
				return err
			}
		}
	}
	if cmd.template == guardTemplate {
		return cmd.createGuard(dir)
	}
	if err := cmd.writeProject(ctx, dir, name); err != nil {
		return console.Usage("all created files were removed", "create the project %s: %v", dir, err)
	}
	cmd.writeNextSteps(dir, name)
	return nil
}

// projectName matches valid project names. They are valid names of directories on every system.
var projectName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`) })

func checkName(name string) error {
	if projectName().MatchString(name) {
		return nil
	}
	hint := "a name starts with a letter, followed by letters, digits, `_` and `-`; at most 64 characters"
	if better := nearestName(name); projectName().MatchString(better) {
		hint = "did you mean " + better + "?"
	}
	return console.Usage(hint, "invalid project name %q", name)
}

// nearestName replaces the characters that are not allowed in names of projects.
func nearestName(name string) string {
	return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(name, "_"), "_-0123456789")
}

// checkVacant returns an error unless dir does not exist or is an empty directory.
func checkVacant(a *console.Console, dir string) error {
	entries, err := os.ReadDir(a.Abs(dir))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil && len(entries) == 0:
		return nil
	case err == nil:
		return console.Usage("choose another name or an empty directory; `concerto init --here` supervises an agent on existing code", "directory %s is not empty", dir)
	}
	if info, e := os.Stat(a.Abs(dir)); e == nil && !info.IsDir() {
		return console.Usage("choose another name", "a file named %s already exists", dir)
	}
	return console.Usage("", "read %s: %v", dir, console.Cause(err))
}

// askName prompts for the project's name until it is valid.
func askName(a *console.Console, in *bufio.Reader) (string, error) {
	for {
		line, err := promptLine(a, in, "Project name: ")
		if err != nil {
			return "", err
		}
		if line == "" {
			continue
		}
		err = checkName(filepath.Base(line))
		if err == nil {
			return line, nil
		}
		a.Fail(err)
	}
}

// askTemplate prompts for a template, by number or name.
func askTemplate(a *console.Console, in *bufio.Reader) (string, error) {
	fmt.Fprintln(a.Stderr, "Templates:")
	for i, t := range templates {
		fmt.Fprintf(a.Stderr, "  %d  %-11s %s\n", i+1, t.name, t.about)
	}
	for {
		line, err := promptLine(a, in, fmt.Sprintf("Template [%s]: ", templates[0].name))
		if err != nil {
			return "", err
		}
		if line == "" {
			return templates[0].name, nil
		}
		if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(templates) {
			return templates[n-1].name, nil
		}
		err = console.OneOf("template", line, TemplateNames())
		if err == nil {
			return line, nil
		}
		a.Fail(err)
	}
}

// promptLine prints a prompt and reads a line.
func promptLine(a *console.Console, in *bufio.Reader, prompt string) (string, error) {
	fmt.Fprint(a.Stderr, prompt)
	line, err := in.ReadString('\n')
	if err == nil || errors.Is(err, io.EOF) && line != "" {
		return strings.TrimSpace(line), nil
	}
	fmt.Fprintln(a.Stderr)
	if errors.Is(err, io.EOF) {
		return "", console.Usage("without prompts: concerto init <name> --template hello", "cancelled; no files were created")
	}
	return "", console.Usage("", "read the answer: %v", err)
}

// writeProject writes a template's files into dir. On an error it removes the files and directories
// that it has created.
func (cmd *initCommand) writeProject(ctx context.Context, dir, name string) error {
	s := scaffold{root: cmd.console.Abs(dir), values: projectValues(name, cmd.provider)}
	t := templateOf(cmd.template)
	err := s.mkdir(s.root)
	for _, source := range []string{"common", t.with, t.name} {
		if err == nil && source != "" {
			err = s.copy("templates/" + source)
		}
	}
	if err == nil && t.sdk {
		err = s.write(filepath.Join(s.root, "concerto.py"), string(sdk.Python))
	}
	if err == nil && t.repository {
		err = s.makeRepository(ctx, cmd.console.Environ)
	}
	if err != nil {
		s.undo()
	}
	return console.Cause(err)
}

// templateOf returns the template with the name kind, which must exist.
func templateOf(kind string) template {
	return templates[slices.IndexFunc(templates, func(t template) bool { return t.name == kind })]
}

// scaffold is a project that is being created.
type scaffold struct {
	root    string
	values  map[string]string // values of the names in templates
	created []string          // created files and directories; a directory precedes its content
	trees   []string          // created directories whose content is not in created
}

// copy writes the files of one folder of templateFiles.
func (s *scaffold) copy(from string) error {
	return fs.WalkDir(templateFiles, from, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return s.copyFile(p, strings.TrimPrefix(p, from+"/"))
	})
}

// copyFile writes one file of templateFiles.
func (s *scaffold) copyFile(from, rel string) error {
	text, err := templateFiles.ReadFile(from)
	if err != nil {
		return err
	}
	if rel == "gitignore" { // named .gitignore, it would apply to the templates' own folder
		rel = ".gitignore"
	}
	to := filepath.Join(s.root, filepath.FromSlash(rel))
	if err := s.mkdir(filepath.Dir(to)); err != nil {
		return err
	}
	return s.write(to, render(string(text), s.values))
}

// mkdir creates a directory and its parents.
func (s *scaffold) mkdir(dir string) error {
	if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
		return err
	}
	if err := s.mkdir(filepath.Dir(dir)); err != nil {
		return err
	}
	err := os.Mkdir(dir, 0o777)
	if err == nil {
		s.created = append(s.created, dir)
	}
	return err
}

// write writes a new file.
func (s *scaffold) write(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	s.created = append(s.created, path)
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// makeRepository makes the project a git repository whose branch main has one commit with all
// files.
func (s *scaffold) makeRepository(ctx context.Context, environ []string) error {
	g, err := git.New(ctx, environ, s.root)
	if err != nil {
		return err
	}
	at := git.Place{Dir: s.root}
	s.trees = append(s.trees, filepath.Join(s.root, ".git"))
	if _, err := g.Run(ctx, at, "init", "--quiet", "--initial-branch=main"); err != nil {
		return err
	}
	if _, err := g.Run(ctx, at, "add", "--all"); err != nil {
		return err
	}
	if g, err = g.Identified(ctx, at, time.Now()); err != nil {
		return err
	}
	_, err = g.Run(ctx, at, "commit", "--quiet", "--no-gpg-sign", "-m", "Create the project")
	return err
}

func (s *scaffold) undo() {
	for _, dir := range s.trees {
		os.RemoveAll(dir)
	}
	for i := len(s.created) - 1; i >= 0; i-- {
		os.Remove(s.created[i])
	}
}

// writeNextSteps prints the commands to run next in the new project.
func (cmd *initCommand) writeNextSteps(dir, name string) {
	if cmd.console.Quiet {
		return
	}
	fmt.Fprintf(cmd.console.Stdout, "Created project %s from template %s. Next steps:\n\n", name, cmd.template)
	if filepath.Clean(dir) != "." {
		fmt.Fprintf(cmd.console.Stdout, "  cd %s\n", dir)
	}
	t := templateOf(cmd.template)
	setup, asksModel := modelSetups[cmd.provider]
	if asksModel = asksModel && t.with != "agent"; asksModel {
		for _, s := range setup.steps {
			fmt.Fprintf(cmd.console.Stdout, "  %s    # %s\n", s.command, s.why)
		}
	}
	fmt.Fprintf(cmd.console.Stdout, "  %s", cmp.Or(t.next, "concerto run      run it"))
	if !asksModel {
		fmt.Fprint(cmd.console.Stdout, "; it needs no key")
	}
	fmt.Fprint(cmd.console.Stdout, `
  concerto test     run its tests
  concerto check    check it for errors

README.md describes the files.
`)
}
