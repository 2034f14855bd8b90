package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/concerto-lang/concerto/internal/cli/console"
)

// refusing contains a command line for each command that reads the manifest.
var refusing = []string{
	"add https://example.com/ada/text", "remove text", "update", "why text", "vendor", "verify",
	"audit show r_1", "audit verify r_1", "audit reconcile r_1",
	"budget", "budget release r_1", "build", "check", "graph", "repl main.conc", "run", "submit", "test", "top",
	"engine check", "engine init", "engine prune --older-than 30d", "engine upgrade",
	"eval", "eval replay --program main.conc r_1",
	"models list", "host list", "host talk Coder", "host test Coder", "host conform Coder",
	"jobs add q {}", "jobs list q", "jobs retry q 1", "jobs rm q 1", "jobs show q 1",
	"mcp add Files -- files", "mcp login Docs", "mcp logout Docs", "mcp serve", "mcp status",
	"merge drop main 1", "merge list main", "merge retry main 1", "merge run main", "merge submit main fix",
	"queue list", "queue pause q", "queue resume q", "queue set q --concurrency 1",
	"report r_1", "report diff r_1 r_2",
	"runs answer r_1 q1 yes", "runs export r_1 out", "runs fork r_1 --at 1", "runs import r_1", "runs inspect r_1", "runs list", "runs move r_1 --queue a",
	"runs output r_1", "runs release r_1", "runs replay r_1", "runs resume r_1", "runs rm r_1", "runs show r_1", "runs stop r_1", "runs tape r_1", "runs verify r_1",
	"schedule list", "schedule pause s", "schedule resume s", "schedule rm s", "schedule set s --every 1h", "schedule trigger s",
	"steer r_1 stop",
	"tools call find", "tools list",
	"work clean", "work commit fix -m a", "work diff fix", "work list", "work merge fix --into main", "work open fix", "work rm fix",
	"worker",
}

// indifferent contains the commands that do not read the manifest, with the reason.
var indifferent = map[string]string{
	"completion":      "it describes the commands",
	"dap":             "the editor sends the program, and the adapter reports the errors to it",
	"doc":             "it shows the library",
	"doctor":          "it reports the errors of the manifest among those of the machine",
	"eval compare":    "it reads results",
	"eval show":       "it reads a result",
	"explain":         "it shows the catalogue",
	"fmt":             "it formats source files",
	"guard check":     "its agents are started, and the hook refuses their calls because of the error",
	"guard export":    "it reads the ledgers of sessions",
	"guard hook":      "it refuses the call, in the form of the agent",
	"guard install":   "it changes settings of agents",
	"guard log":       "it reads the ledgers of sessions",
	"guard replay":    "it shows that calls are denied because of the error",
	"guard suggest":   "it reads the ledgers, and changes only a valid manifest",
	"guard release":   "it writes the ledger of a session",
	"guard run":       "it starts an agent, and the hook refuses its calls because of the error",
	"guard serve":     "it reads no policy",
	"guard status":    "it reads the ledgers of sessions",
	"guard test":      "it shows that calls are denied because of the error",
	"guard trust":     "it reads the rules, and reports an error in the words of the hook",
	"guard uninstall": "it changes settings of agents",
	"host replay":     "it plays a recording",
	"init":            "it creates a manifest",
	"keeper":          "it is started by a run",
	"lsp":             "it reports the errors to the editor",
	"man":             "it describes the commands",
	"playground":      "the page reports the errors",
	"relay hostd":     "it is a program of its own",
	"relay":           "it is a program of its own",
	"serve":           "each session has the manifest of its program",
	"tools check":     "it reads files of tools",
	"version":         "it shows the version",
}

// TestBrokenManifest checks that each command that reads the manifest refuses one with an error, in
// the same words and with exit code 2, and does nothing. A new command must be in one of the lists.
func TestBrokenManifest(t *testing.T) {
	for _, files := range []map[string]string{
		{"Concerto.toml": "[merge.main]\ngate = \"make test\"\n", "main.conc": "fn main() { println(1); }\n"},
		{"Concerto.toml": "merge a branch\n", "main.conc": "fn main() { println(1); }\n"},
	} {
		dir := t.TempDir()
		for name, text := range files {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range refusing {
			var out, err bytes.Buffer
			code := run(strings.Fields(line), &console.Console{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &err, Dir: dir, Environ: []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "CONCERTO_OFFLINE=1"}})
			if text := err.String(); code != console.ExitRefused || !strings.HasPrefix(text, "Concerto.toml:") || !strings.HasSuffix(text, "\n1 error\n") || !strings.Contains(text, ": error[E080") || out.Len() > 0 {
				t.Errorf("concerto %s: exit code %d\n%s%s", line, code, out.String(), text)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != len(files) {
				t.Fatalf("concerto %s changed the directory: %v %v", line, entries, err)
			}
		}
		var visit func(c *cobra.Command)
		visit = func(c *cobra.Command) {
			path := strings.TrimPrefix(c.CommandPath(), "concerto ")
			isTried := slices.ContainsFunc(refusing, func(line string) bool { return line == path || strings.HasPrefix(line, path+" ") })
			if c.Parent() != nil && !c.Hidden && len(c.Commands()) == 0 && !isTried && indifferent[path] == "" {
				t.Errorf("`%s` is in neither list", c.CommandPath())
			}
			for _, sub := range c.Commands() {
				visit(sub)
			}
		}
		visit(newRoot(&console.Console{}, commands))
	}
}
