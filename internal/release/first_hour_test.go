package release

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// steps is what the stand-in for Claude Code does: it runs the tests, changes the code, and tries
// to push.
const steps = `[{"when": "Fix the failing test", "result": "Fixed.", "steps": [
	{"bash": "python3 -m unittest -q"},
	{"edit": "src/price.py", "old": "- discount", "new": "* (100 - discount) / 100"},
	{"bash": "git push origin main"}]}]`

// TestFirstHour executes the commands of README.md under "On your repository", from the
// installation with npm to a supervised change: in an empty home directory, in a repository with a
// failing test, with the cookbook's stand-in for Claude Code.
func TestFirstHour(t *testing.T) {
	c := built(t)
	for _, command := range []string{"npm", "git", "python3"} {
		if _, err := exec.LookPath(command); err != nil {
			t.Skip(err)
		}
	}
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in is started by its first line")
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	home := t.TempDir()
	repository := filepath.Join(home, "your-repository")
	standIn, err := filepath.Abs("../../docs/cookbook/stand-in")
	if err != nil {
		t.Fatal(err)
	}
	env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_STATE_HOME=", "XDG_CACHE_HOME=", "XDG_DATA_HOME=",
		"npm_config_prefix="+filepath.Join(home, "npm"), "GIT_CONFIG_GLOBAL=", "PYTHONDONTWRITEBYTECODE=1",
		"PATH="+strings.Join([]string{filepath.Join(home, "npm", "bin"), standIn, os.Getenv("PATH")}, string(os.PathListSeparator)))
	for name, text := range map[string]string{
		"src/price.py":        "def price(full, discount):\n    return full - discount\n",
		"tests/test_price.py": "import sys, unittest\nsys.path.insert(0, 'src')\nfrom price import price\n\nclass TestPrice(unittest.TestCase):\n    def test_discount(self):\n        self.assertEqual(price(80, 10), 72)\n",
		"claude.json":         steps,
	} {
		path := filepath.Join(repository, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, path, text, 0o644)
	}
	if _, err := output(ctx, repository, env, "git", "init", "-q", "."); err != nil {
		t.Fatal(err)
	}

	commands := firstCommands(t)
	if len(commands) == 0 || len(commands) > 6 {
		t.Fatalf("README.md has %d commands, want at most 6: %q", len(commands), commands)
	}
	dir, printed := home, ""
	for _, command := range commands {
		if to, ok := strings.CutPrefix(command, "cd "); ok {
			dir = filepath.Join(dir, to)
			continue
		}
		if args, ok := strings.CutPrefix(command, "npm install -g concerto-lang"); ok {
			wrapper, platform := c.file(c.name((*release).npmFileName, Target{})), c.file(c.name((*release).npmFileName, c.host))
			command = "npm install -g --offline --no-audit --no-fund --ignore-scripts '" + wrapper + "' '" + platform + "'" + args
		}
		out, err := output(ctx, dir, env, "sh", "-c", command+" 2>&1")
		if err != nil {
			t.Fatal(err)
		}
		printed += out
	}
	for _, want := range []string{"Found on PATH: claude", "allowed", "denied", "git push origin main", "Fixed.", "1 exchange"} {
		if !strings.Contains(printed, want) {
			t.Errorf("the commands do not print %q:\n%s", want, printed)
		}
	}
	if text, err := os.ReadFile(filepath.Join(repository, "src", "price.py")); err != nil || !strings.Contains(string(text), "* (100 - discount) / 100") {
		t.Errorf("src/price.py is %q (error %v): the agent has not changed it\n%s", text, err, printed)
	}
	if out, err := output(ctx, repository, env, "git", "status", "--porcelain"); err != nil || out != "?? claude.json\n?? concerto/\n?? src/\n?? tests/\n" {
		t.Errorf("git status = %q (error %v), want nothing new but concerto/", out, err)
	}
}

// firstCommands returns the commands of the first block under "On your repository", without
// comments.
func firstCommands(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## On your repository\n")
	_, rest, _ = strings.Cut(rest, "```sh\n")
	block, _, _ := strings.Cut(rest, "```")
	for line := range strings.Lines(block) {
		command, _, _ := strings.Cut(line, "  #")
		if command = strings.TrimSpace(command); command != "" {
			all = append(all, command)
		}
	}
	return all
}
