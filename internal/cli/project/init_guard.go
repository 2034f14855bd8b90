package project

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
)

// guardTemplate is the name of the template of a policy. It is created in the working directory,
// which usually has files.
const guardTemplate = "guard"

// ecosystem are the rules for repositories of a language.
type ecosystem struct {
	name       string
	files      []string // a repository with one of them belongs to it
	allow, ask []string // commands
	net        []string
}

var ecosystems = []ecosystem{
	{
		name: "Go", files: []string{"go.mod", "go.work"},
		allow: []string{"go build *", "go list *", "go test *", "go vet *", "gofmt *"}, ask: []string{"go get *", "go install *", "go run *"},
		net: []string{"go.dev", "pkg.go.dev"},
	},
	{
		name: "Node", files: []string{"package.json"},
		allow: []string{"npm test", "npm test *", "npm run build", "npm run lint", "npm run test", "npx tsc --noEmit"}, ask: []string{"npm install *", "npm publish *", "npx *"},
		net: []string{"nodejs.org", "registry.npmjs.org"},
	},
	{
		name: "Python", files: []string{"pyproject.toml", "requirements.txt"},
		allow: []string{"mypy *", "pytest", "pytest *", "python -m pytest *", "python3 -m pytest *", "ruff *"}, ask: []string{"pip install *", "poetry add *", "uv add *"},
		net: []string{"docs.python.org", "pypi.org"},
	},
	{
		name: "Rust", files: []string{"Cargo.toml"},
		allow: []string{"cargo build", "cargo build *", "cargo check", "cargo check *", "cargo clippy", "cargo clippy *", "cargo fmt", "cargo test", "cargo test *"}, ask: []string{"cargo add *", "cargo install *", "cargo publish *"},
		net: []string{"crates.io", "docs.rs"},
	},
}

// createGuard writes a policy for the repository in dir, and a program with a function that also
// decides. It changes no existing file.
func (cmd *initCommand) createGuard(dir string) error {
	dir = cmp.Or(dir, ".")
	if cmd.provider != "scripted" {
		return console.Usage("leave out --provider: a policy uses no model", "--template guard and --provider cannot be used together")
	}
	root := cmd.console.Abs(dir)
	for _, name := range []string{manifest.FileName, "guard.conc"} {
		if console.IsFile(filepath.Join(root, name)) {
			return console.Usage("add the section [guard] to Concerto.toml, as in chapter 51 of the manual", "%s already exists", name)
		}
	}
	name := projectNameFor(root)
	if filepath.Clean(dir) != "." {
		if err := checkName(filepath.Base(root)); err != nil {
			return err
		}
	}
	s := scaffold{root: root}
	err := s.mkdir(root)
	var write []string
	if err == nil {
		write, err = codeDirectories(root)
	}
	found := ecosystemsIn(root)
	s.values = guardValues(name, write, found)
	if err == nil {
		err = s.copy("templates/" + guardTemplate)
	}
	if err != nil {
		s.undo()
		return console.Usage("all created files were removed", "create the policy: %v", console.Cause(err))
	}
	if !cmd.console.Quiet {
		cmd.writeGuard(dir, found)
	}
	return nil
}

// ecosystemsIn returns the ecosystems to which the repository in a directory belongs.
func ecosystemsIn(dir string) (found []ecosystem) {
	for _, e := range ecosystems {
		if slices.ContainsFunc(e.files, func(name string) bool { return console.IsFile(filepath.Join(dir, name)) }) {
			found = append(found, e)
		}
	}
	return found
}

// guardValues returns the values of the names in the template.
func guardValues(name string, write []string, found []ecosystem) map[string]string {
	allow := []string{"git diff", "git diff *", "git log", "git log *", "git status", "git status *", "ls", "ls *"}
	ask := []string{"git commit *", "git push *"}
	var net []string
	for _, e := range found {
		allow, ask, net = append(allow, e.allow...), append(ask, e.ask...), append(net, e.net...)
	}
	lines := func(texts []string) string { return strings.Join(quoted(texts), ",\n  ") + "," }
	return map[string]string{
		"name": name, "write": strings.Join(quoted(write), ", "), "net": strings.Join(quoted(net), ", "), "allow": lines(allow), "ask": lines(ask),
	}
}

func quoted(texts []string) (out []string) {
	for _, text := range texts {
		out = append(out, strconv.Quote(text))
	}
	return out
}

// writeGuard prints what was found and created, and the commands to run next.
func (cmd *initCommand) writeGuard(dir string, found []ecosystem) {
	w := cmd.console.Stdout
	var names []string
	for _, e := range found {
		names = append(names, e.name)
	}
	of := ""
	if names != nil {
		of = " for " + strings.Join(names, ", ")
	}
	fmt.Fprintf(w, "Created Concerto.toml with rules%s, and guard.conc. Next steps:\n\n", of)
	if filepath.Clean(dir) != "." {
		fmt.Fprintf(w, "  cd %s\n", dir)
	}
	fmt.Fprint(w, `  concerto guard test 'git push'    show what the policy decides
  concerto test                     run the tests of guard.conc
  concerto guard install            add the hooks to the agents' settings
`)
}
