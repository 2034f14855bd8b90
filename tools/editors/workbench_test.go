package editors_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/concerto-lang/concerto/internal/editor/lsp/lsptest"
	"github.com/concerto-lang/concerto/internal/process/procgroup"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/tools/browser"
)

// record makes the test record the messages that the workbench sends to the language server. They
// are stored in testdata/sessions of package editors.
var record = flag.Bool("record", false, "record what the workbench sends in testdata/sessions of editors")

func TestMain(m *testing.M) {
	code := browser.Main(m)
	testproc.RemoveCommand()
	os.Exit(code)
}

// workbench is the directory in which `make vscode-e2e` installs VS Code for browsers. extension is
// the file that `make vscode` builds.
const (
	workbench = "../../bin/workbench/node_modules/code-server/out/node/entry.js"
	extension = "../../bin/concerto.vsix"
)

const supervised = `fn area(width: Int, height: Int) -> Int { width * height }

@test
fn areas() {
    assert_eq(area(2, 3), 6);
}

fn main() {
    let size = area(2, 3);

    println("${size} ${siz}");
}
`

// TestWorkbench operates the released extension in the real workbench as a user does. An error is
// underlined and fixed by a quick fix, a completion is accepted, a name is renamed, the debugger
// stops at a breakpoint, and a test passes.
func TestWorkbench(t *testing.T) {
	if os.Getenv("CONCERTO_WORKBENCH") == "" {
		t.Skip("the workbench is not installed: run make vscode-e2e")
	}
	dir := filepath.Join(t.TempDir(), "rooms")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "main.conc"), []byte(supervised), 0o600); err != nil {
		t.Fatal(err)
	}
	b := browser.Open(t)
	b.Expect("") // the workbench logs errors that are not related to the extension, such as the missing gallery
	b.Go(serveWorkbench(t, dir) + "?folder=" + dir)
	b.Wait("__see.text('.explorer-folders-view').includes('main.conc')")
	w := &desk{Tab: b, t: t}
	b.Click(".explorer-folders-view .monaco-list-row") // searching by name requires a binary that is not installed
	b.Wait("__see.text('.view-lines').includes('fn')")

	b.Wait("__see.all('.squiggly-error').length === 1")
	w.at(11, 26)
	b.Wait("__see.all('.codicon-gutter-lightbulb-auto-fix, .codicon-light-bulb, .codicon-lightbulb-autofix').length > 0")
	for range 20 { // the workbench may send a request of its own in between
		b.Press("Ctrl+.")
		if b.Soon("__see.text('.action-widget').includes('Change to')") {
			break
		}
		b.Press("Escape")
	}
	b.Press("Enter")
	b.Wait("__see.all('.squiggly-error').length === 0")

	w.at(10, 1)
	b.Type("    println(are")
	b.Wait("__see.text('.suggest-widget').includes('area')")
	b.Press("Tab")
	b.Type("size, 2")
	b.Press("End")
	b.Type(";")
	w.shows("println(area(size, 2));")

	w.at(9, 10)
	b.Press("F2")
	b.Wait("__see.all('.rename-box input').length === 1 && document.activeElement.closest('.rename-box')")
	b.Press("Ctrl+a")
	b.Type("square")
	b.Press("Enter")
	w.shows("let square: Int = area(2, 3);", "println(area(square, 2));", "${square} ${square}") // the displayed text contains the type as an inlay hint
	b.Press("Ctrl+s")

	w.at(10, 5)
	b.Press("F9")
	b.Wait("__see.all('.codicon-debug-breakpoint').length > 0")
	b.Press("F5")
	b.Wait("__see.all('.debug-top-stack-frame-line').length > 0 && __see.text('.debug-viewlet').includes('square')")
	w.picture()
	b.Press("F10")
	b.Wait("__see.text('.debug-viewlet').includes('after step') && __see.text('.repl').includes('12')")
	b.Press("F5")
	b.Wait("__see.all('.debug-toolbar').length === 0")

	w.command("Test: Run All Tests")
	b.Wait("__see.all('.testing-run-glyph.codicon-testing-passed-icon').length === 1")
	got, err := os.ReadFile(filepath.Join(dir, "main.conc"))
	if err != nil || !strings.Contains(string(got), "println(area(square, 2));") {
		t.Errorf("%v\n%s", err, got)
	}
}

// desk performs the actions of a user in the workbench.
type desk struct {
	*browser.Tab
	t *testing.T
}

// box opens the box for names and commands and types into it.
func (w *desk) box(keys, text string) {
	w.t.Helper()
	w.Press(keys)
	w.Wait("document.activeElement.closest('.quick-input-widget')")
	w.Type(text)
}

// at moves the cursor to a position in the text.
func (w *desk) at(line, column int) {
	w.t.Helper()
	w.box("Ctrl+g", fmt.Sprintf("%d:%d", line, column))
	w.Press("Enter")
	w.Wait("!document.activeElement.closest('.quick-input-widget')")
}

// command runs a command by its title.
func (w *desk) command(title string) {
	w.t.Helper()
	w.box("F1", title)
	w.Wait("__see.text('.quick-input-list .focused').includes(" + strconv.Quote(title) + ")")
	w.Press("Enter")
}

// shows waits until the window contains all of these texts.
func (w *desk) shows(texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.Wait("__see.text('.view-lines').replaceAll('\\u00a0', ' ').includes(" + strconv.Quote(text) + ")")
	}
}

// picture writes a screenshot of the window to the file named by the environment variable
// CONCERTO_PICTURE.
func (w *desk) picture() {
	w.t.Helper()
	if file := os.Getenv("CONCERTO_PICTURE"); file != "" {
		if err := os.WriteFile(file, w.Screenshot(""), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// settings returns the settings of a user: the path of the built command, and no welcome page.
func settings(command string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"concerto.command": command, "workbench.startupEditor": "none", "security.workspace.trust.enabled": false, "telemetry.telemetryLevel": "off",
		"extensions.ignoreRecommendations": true, "workbench.tips.enabled": false, "chat.commandCenter.enabled": false, "editor.minimap.enabled": false,
	})
}

var serves = regexp.MustCompile(`HTTP server listening on (http://\S+/)`)

// serveWorkbench starts the workbench with the extension and returns its address.
func serveWorkbench(t *testing.T, dir string) string {
	t.Helper()
	command, err := testproc.Command()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	if *record {
		command = lsptest.Record(t, command, "../../editors/testdata/sessions/workbench.ndjson", map[string]string{dir: "/recorded/root", home: "/recorded/home"})
	}
	text, err := settings(command)
	if err != nil {
		t.Fatal(err)
	}
	for _, whose := range []string{"User", "Machine"} { // settings for commands are machine settings
		dir := filepath.Join(home, "data", whose)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "settings.json"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	env := append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+home, "XDG_CACHE_HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home)
	args := []string{workbench, "--user-data-dir", filepath.Join(home, "data"), "--extensions-dir", filepath.Join(home, "extensions")}
	install := exec.Command("node", append(args, "--install-extension", extension)...)
	install.Env = env
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p, err := procgroup.Start(procgroup.Command{
		Path: install.Path, Env: env,
		Args: append(args, "--auth", "none", "--bind-addr", "127.0.0.1:0", "--disable-telemetry", "--disable-update-check", "--disable-workspace-trust"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Kill()
		<-p.GroupDone()
	})
	lines := bufio.NewScanner(p.Stdout)
	for lines.Scan() {
		if m := serves.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				for lines.Scan() {
				}
			}()
			return m[1]
		}
	}
	t.Fatalf("the workbench does not start: %v", lines.Err())
	return ""
}
