package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/cli/console"
	"github.com/concerto-lang/concerto/internal/cli/project"
	"github.com/concerto-lang/concerto/internal/data/models"
)

// TestInitAsks checks that init prompts on a terminal for missing values until the answer is valid.
func TestInitAsks(t *testing.T) {
	for _, c := range []struct {
		args, input string
		made, grep  string // path of a created file, and a part of its content
		asked       string
	}{
		{"init", "\nmy project\nshop\nfour\n4\n", "shop/main.conc", "tool Stock", "did you mean my_project?"},
		{"init shop", "\n", "shop/main.conc", "agent Greeter", "Template [hello]: "},
		{"init shop", "supervise", "shop/hosts/worker.sh", "ask()", "a host, with an agent"},
		{"init shop", "0\npipelin\n3\n", "shop/main.conc", "pipeline Build", "did you mean pipeline?"},
	} {
		dir := t.TempDir()
		var out, errs strings.Builder
		code := run(strings.Fields(c.args), &console.Console{Stdin: strings.NewReader(c.input), Stdout: &out, Stderr: &errs, Dir: dir, TTY: console.TTY{In: true}})
		text, _ := os.ReadFile(filepath.Join(dir, filepath.FromSlash(c.made)))
		if code != 0 || !strings.Contains(string(text), c.grep) || !strings.Contains(errs.String(), c.asked) {
			t.Errorf("%s with input %q: exit code %d, stdout, stderr and created file:\n%s%s%s", c.args, c.input, code, out.String(), errs.String(), text)
		}
		if !strings.Contains(out.String(), "cd shop\n") {
			t.Errorf("%s with input %q: stdout %q contains no next steps", c.args, c.input, out.String())
		}
	}
}

// TestInitCancelled checks that init creates nothing if the terminal is closed.
func TestInitCancelled(t *testing.T) {
	for _, args := range []string{"init", "init shop"} {
		dir := t.TempDir()
		var errs strings.Builder
		code := run(strings.Fields(args), &console.Console{Stdin: strings.NewReader(""), Stdout: &errs, Stderr: &errs, Dir: dir, TTY: console.TTY{In: true}})
		left, err := os.ReadDir(dir)
		if code != console.ExitRefused || !strings.Contains(errs.String(), "cancelled; no files were created") || err != nil || len(left) > 0 {
			t.Errorf("%s: exit code %d, files %v were not removed, output:\n%s", args, code, left, errs.String())
		}
	}
}

// TestInitProviders creates a project from every template for every provider. It checks that the
// project has no errors, and that the README names the environment variables that the manifest
// names.
func TestInitProviders(t *testing.T) {
	for _, p := range models.ProviderNames(nil) {
		names := p != models.Scripted
		for _, k := range project.TemplateNames() {
			if k == "guard" {
				continue // it uses no model
			}
			dir := t.TempDir()
			var out strings.Builder
			if code := run([]string{"init", "shop", "--template", k, "--provider", p}, &console.Console{Environ: os.Environ(), Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: dir}); code != 0 {
				t.Fatalf("init %s for %s: exit code %d, output:\n%s", k, p, code, out.String())
			}
			out.Reset()
			code := run([]string{"check", "shop"}, &console.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &out, Dir: dir})
			if code != 0 || out.String() != "" {
				t.Errorf("check %s for %s: exit code %d, output:\n%s", k, p, code, out.String())
			}
			toml, _ := os.ReadFile(filepath.Join(dir, "shop", "Concerto.toml"))
			readme, _ := os.ReadFile(filepath.Join(dir, "shop", "README.md"))
			if names && !strings.Contains(string(toml), "\nprovider = \""+p+"\"\n") {
				t.Errorf("%s for %s: the manifest does not name the provider\n%s", k, p, toml)
			}
			for _, v := range regexp.MustCompile(`_env = "(\w+)"`).FindAllStringSubmatch(string(toml), -1) {
				if names && !strings.Contains(string(readme), v[1]) {
					t.Errorf("%s for %s: the README does not name %s\n%s", k, p, v[1], readme)
				}
			}
		}
	}
}
