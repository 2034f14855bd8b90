// Package spec contains the manual. Its tests compile every block of Concerto in the manual, in the
// README, on the first page of the site and in the READMEs of the examples. If the page shows a
// program's output, the real command runs the program, from source and compiled, and the test
// compares the output.
//
// With -update the tests write the actual output into the pages.
package spec_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/cli/serve/servetest"
	"github.com/concerto-lang/concerto/internal/compile/diag"
	"github.com/concerto-lang/concerto/internal/compile/manifest"
	"github.com/concerto-lang/concerto/internal/editor/dap/daptest"
	"github.com/concerto-lang/concerto/internal/engine/driver"
	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/testkit/testhost"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
	"github.com/concerto-lang/concerto/internal/text/source"
)

var update = flag.Bool("update", false, "write the actual output into the pages")

// asHost is the name of the environment variable that makes the test binary run as a scripted host.
const asHost = "SPEC_TESTHOST"

// patience is the maximum duration of one command.
const patience = 2 * time.Minute

// command returns the path of the concerto command, which it builds on the first call.
var command = testproc.Command

func TestMain(m *testing.M) {
	if os.Getenv(asHost) != "" {
		os.Exit(testhost.Main(os.Args[1:]))
	}
	flag.Parse()
	code := m.Run()
	testproc.RemoveCommand()
	os.Exit(code)
}

func TestManual(t *testing.T) {
	if _, err := command(); err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, pattern := range []string{"*.md", "std/*.md", "../README.md", "../web/site/*.md", "../examples/README.md", "../examples/*/README.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for i, name := range pages {
		if !randtest.Sampled(i) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			p, err := parsePage(name, string(text))
			if err != nil {
				t.Fatal(err)
			}
			p.play(t)
		})
	}
	followPages(t)
}

// play runs the programs of a page in parallel. With -update, it rewrites the page.
func (p *page) play(t *testing.T) {
	var edits edits
	t.Run("programs", func(t *testing.T) {
		for n, prog := range p.programs {
			t.Run(fmt.Sprintf("%d at line %d", n+1, prog.line()), func(t *testing.T) {
				t.Parallel()
				(&player{T: t, page: p, program: prog, edits: &edits, dir: t.TempDir()}).play()
			})
		}
	})
	if text := edits.apply(p.text); *update && text != p.text {
		if err := os.WriteFile(p.name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *program) line() int {
	if p.main == nil {
		return p.consoles[0].line
	}
	return p.main.line
}

// edits collects the blocks that -update replaces.
type edits struct {
	mu  sync.Mutex
	all []edit
}

type edit struct {
	b    *block
	text string
}

func (e *edits) add(b *block, text string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, edit{b, text})
}

// apply returns the page with its blocks replaced, from the last block to the first.
func (e *edits) apply(text string) string {
	slices.SortFunc(e.all, func(a, b edit) int { return b.b.start - a.b.start })
	for _, x := range e.all {
		text = text[:x.b.start] + x.text + text[x.b.end:]
	}
	return text
}

// player runs one program in its own directory.
type player struct {
	*testing.T
	page    *page
	program *program
	edits   *edits
	dir     string
	env     []string // additional environment variables of commands
}

func (p *player) play() {
	for _, command := range []string{"python3", "node"} {
		if _, err := exec.LookPath(command); err != nil && p.program.uses(command) {
			p.Skipf("the hosts of this program need %s", command)
		}
	}
	p.write()
	p.copySDKs()
	p.copyRecordings()
	p.copyExample()
	if p.program.main != nil {
		p.compile()
	}
	if p.program.output != nil || p.program.stderr != nil {
		p.run()
	}
	for _, c := range p.program.consoles {
		p.compare(c, p.console(c))
	}
	for _, b := range p.program.talks {
		p.talk(b)
	}
	for _, b := range p.program.debugs {
		p.compare(b, p.debug(b))
	}
	p.checkHosts()
}

// talk plays a conversation with `concerto serve`.
func (p *player) talk(b *block) {
	tool, err := command()
	if err != nil {
		p.Fatal(err)
	}
	c, end := p.exec(tool, "serve")
	defer end()
	var stderr strings.Builder
	c.Stderr = &stderr
	if err := servetest.Process(c, b.text); err != nil {
		p.Errorf("%s:%d: the conversation: %v\n%s", p.page.name, b.line, err, &stderr)
	}
}

// debug plays a session of the debugger and returns its transcript.
func (p *player) debug(b *block) string {
	tool, err := command()
	if err != nil {
		p.Fatal(err)
	}
	c, end := p.exec(tool, "dap")
	defer end()
	var stderr strings.Builder
	c.Stderr = &stderr
	transcript, err := daptest.Play(c, b.text)
	if err != nil || stderr.Len() > 0 {
		p.Fatalf("%s:%d: the session: %v\n%s%s", p.page.name, b.line, err, transcript, &stderr)
	}
	return transcript
}

// uses reports whether the program starts hosts with a command.
func (p *program) uses(command string) bool {
	text := p.files["Concerto.toml"]
	for _, c := range p.consoles {
		text += c.text
	}
	return strings.Contains(text, command)
}

// varying matches numbers in output that are not the same in every run, or that depend on generated
// code or the library. Pages show them as `…`.
var varying = regexp.MustCompile(`("(?:duration|latency)_ms":|(?:passed|failed|none) in |  = in [^,\n]+, | at std/\w+\.conc:)\d+(?:[.,:]\d+)*(?:[nµm]?s)?`)

// compare compares a block with the actual output.
func (p *player) compare(b *block, got string) {
	p.Helper()
	got = varying.ReplaceAllString(got, "$1…")
	if b.text == got {
		return
	}
	if *update {
		p.edits.add(b, got)
		return
	}
	p.Errorf("%s:%d: %s: the page (-), printed (+):\n%s", p.page.name, b.line, b.word, cmp.Diff(b.text, got))
}

// write writes the program's files. Each host is a small script that starts this test binary.
// Without a manifest, write creates one that names the hosts.
func (p *player) write() {
	files := map[string]string{}
	for name, text := range p.program.files {
		files[name] = text
	}
	var manifest strings.Builder
	for name, script := range p.program.hosts {
		files[name+".host"] = script
		self, err := os.Executable()
		if err != nil {
			p.Fatal(err)
		}
		files[name] = fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' '%s' \"$@\"\n", asHost, self, filepath.Join(p.dir, name+".host"))
		fmt.Fprintf(&manifest, "[hosts.%s]\ncommand = \"./%s\"\n\n", name, name)
	}
	if p.program.norun {
		manifest.WriteString(assumed(p.program.main.text))
	}
	if _, own := files["Concerto.toml"]; !own && manifest.Len() > 0 {
		files["Concerto.toml"] = manifest.String()
	}
	for name, text := range files {
		path := filepath.Join(p.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			p.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			p.Fatal(err)
		}
	}
}

// copySDKs copies the SDKs that the program's files import to the places that the manual describes:
// next to the file, or into the modules that go.mod requires.
func (p *player) copySDKs() {
	sdk, err := filepath.Abs("../sdk")
	if err != nil {
		p.Fatal(err)
	}
	for name, text := range p.program.files {
		dir := filepath.Join(p.dir, filepath.Dir(filepath.FromSlash(name)))
		switch {
		case strings.Contains(text, "from concerto_host import"):
			p.copyModule(filepath.Join(sdk, "python", "concerto_host"), dir)
		case strings.Contains(text, "from concerto import"), strings.Contains(text, "concerto.py"):
			p.copyModule(filepath.Join(sdk, "python", "concerto"), dir)
		case strings.Contains(text, `from "./concerto.js"`):
			p.copyTo(filepath.Join(sdk, "typescript", "concerto.js"), dir)
		case strings.Contains(text, `from "./concerto-host.js"`):
			p.copyTo(filepath.Join(sdk, "typescript", "concerto-host.js"), dir)
		case strings.HasSuffix(name, "go.mod"):
			text += "\nreplace github.com/concerto-lang/concerto/sdk/go => " + filepath.ToSlash(filepath.Join(sdk, "go")) + "\n"
			if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
				p.Fatal(err)
			}
		}
	}
}

// copyModule copies a Python package as a module of one file.
func (p *player) copyModule(pkg, dir string) {
	text, err := os.ReadFile(filepath.Join(pkg, "__init__.py"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(pkg)+".py"), text, 0o644)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// copyExample adds the other files of an example if the program is the main file of that example.
func (p *player) copyExample() {
	all, err := filepath.Glob("../examples/*/main.conc")
	if err != nil {
		p.Fatal(err)
	}
	for _, file := range all {
		text, err := os.ReadFile(file)
		if err != nil {
			p.Fatal(err)
		}
		if string(text) != p.program.files["main.conc"] || len(p.program.files) > 1 {
			continue
		}
		if err := os.Remove(filepath.Join(p.dir, "main.conc")); err != nil {
			p.Fatal(err)
		}
		if err := os.CopyFS(p.dir, os.DirFS(filepath.Dir(file))); err != nil {
			p.Fatal(err)
		}
	}
}

// copyRecordings copies recordings of vendors' agents into the program's directory: those that the
// manifest names.
func (p *player) copyRecordings() {
	all, err := filepath.Glob("../runtime/host/adapter/testdata/wire/*.wire")
	if err != nil {
		p.Fatal(err)
	}
	for _, file := range all {
		if strings.Contains(p.program.files["Concerto.toml"], `"`+filepath.Base(file)+`"`) {
			p.copyTo(file, p.dir)
		}
	}
}

// copyTo copies a file into a directory.
func (p *player) copyTo(file, dir string) {
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, filepath.Base(file)), text, 0o644)
	}
	if err != nil {
		p.Fatal(err)
	}
}

// named matches the hosts and connections that a program uses without declaring them.
var named = regexp.MustCompile(`connector: *"?(\w+)|(?:uses|provider:) (\w+)`)

// assumed returns a manifest that declares the hosts and connections which the program names. It is
// used for programs that are only compiled.
func assumed(text string) string {
	var b strings.Builder
	written := map[string]bool{"[connections.scripted]": true}
	for _, m := range named.FindAllStringSubmatch(text, -1) {
		head, rest := "[hosts."+m[1]+"]", "command = \"./host\""
		if m[1] == "" {
			head, rest = "[connections."+m[2]+"]", "provider = \"scripted\""
		}
		if !written[head] {
			written[head] = true
			fmt.Fprintf(&b, "%s\n%s\n", head, rest)
		}
	}
	return b.String()
}

// compile checks the program, and compares the codes and the text of the diagnostics with the page.
func (p *player) compile() {
	if p.program.tools {
		_, found := manifest.ParseTools(source.NewFile("tools.yaml", []byte(p.program.main.text)))
		p.expect(found)
		return
	}
	in, err := driver.Load(driver.Request{Path: "main.conc", Dir: p.dir})
	if err != nil {
		p.Fatalf("%s:%d: %v", p.page.name, p.program.line(), err)
	}
	check := driver.Check
	if !p.program.norun && len(p.program.codes) == 0 {
		check = func(in *driver.Input) diag.List {
			_, found := driver.Build(in)
			return found
		}
	}
	p.expect(check(in))
}

// expect compares the codes and the text of diagnostics with the page.
func (p *player) expect(found diag.List) {
	codes := []string{}
	for _, d := range found.Sorted() {
		codes = append(codes, d.Info.Code)
	}
	slices.Sort(codes)
	var text strings.Builder
	if err := diag.Text(&text, found.Sorted(), diag.TextOptions{}); err != nil {
		p.Fatal(err)
	}
	if !slices.Equal(codes, p.program.codes) {
		p.Errorf("%s:%d: the compiler reports %v, the page shows %v:\n%s", p.page.name, p.program.line(), codes, p.program.codes, text.String())
	}
	if b := p.program.diagnostics; b != nil {
		p.compare(b, text.String())
	}
}

// run runs the program from source and compiled, and compares the outputs.
func (p *player) run() {
	run := []string{"run"}
	if b := p.program.output; b != nil && len(b.marks) > 0 {
		run = append(run, "--emit", "ndjson")
	}
	code, out, errs := p.concerto(append(run, "main.conc")...)
	if b := p.program.output; b != nil {
		p.compare(b, out)
	} else if out != "" {
		p.Errorf("%s:%d: the page does not show the output\n%s", p.page.name, p.program.line(), out)
	}
	switch b := p.program.stderr; {
	case b != nil:
		p.compare(b, errs)
	case code != 0:
		p.Errorf("%s:%d: exit code %d\n%s", p.page.name, p.program.line(), code, errs)
	}
	for name := range p.program.hosts {
		for _, trace := range []string{".host.in", ".host.spawns"} {
			if err := os.Remove(filepath.Join(p.dir, name+trace)); err != nil && !errors.Is(err, os.ErrNotExist) {
				p.Fatal(err)
			}
		}
	}
	if code, _, errs := p.concerto("build", "-o", "main.conc-ir", "main.conc"); code != 0 {
		p.Errorf("%s:%d: build: exit code %d\n%s", p.page.name, p.program.line(), code, errs)
		return
	}
	again, sameOut, _ := p.concerto(append(run, "main.conc-ir")...)
	out, sameOut = varying.ReplaceAllString(out, "$1…"), varying.ReplaceAllString(sameOut, "$1…")
	if again != code || sameOut != out {
		p.Errorf("%s:%d: exit code %d, compiled %d; printed (-), compiled (+):\n%s", p.page.name, p.program.line(), code, again, cmp.Diff(out, sameOut))
	}
}

// concerto runs the command.
func (p *player) concerto(args ...string) (code int, stdout, stderr string) {
	path, err := command()
	if err != nil {
		p.Fatal(err)
	}
	var out, errs strings.Builder
	c, end := p.exec(path, args...)
	defer end()
	c.Stdout, c.Stderr = &out, &errs
	return p.exitCode(c.Run()), out.String(), errs.String()
}

func (p *player) exec(path string, args ...string) (*exec.Cmd, func()) {
	ctx, end := context.WithTimeout(context.Background(), patience)
	c := exec.CommandContext(ctx, path, args...)
	c.Dir = p.dir
	tool, err := command()
	if err != nil {
		p.Fatal(err)
	}
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "PATH=") && !strings.HasPrefix(v, "NO_COLOR=") {
			c.Env = append(c.Env, v)
		}
	}
	c.Env = append(c.Env, "NO_COLOR=1", "XDG_STATE_HOME="+filepath.Join(filepath.Dir(tool), "state"), "PATH="+filepath.Dir(tool)+string(os.PathListSeparator)+os.Getenv("PATH"))
	c.Env = append(c.Env, p.env...)
	return c, end
}

func (p *player) exitCode(err error) int {
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.Fatal(err)
	}
	if exit != nil {
		return exit.ExitCode()
	}
	return 0
}

// console runs the commands of a block and returns the block with their actual output.
func (p *player) console(b *block) string {
	var out strings.Builder
	var sh shell
	for line := range strings.Lines(b.text) {
		if cmd, ok := strings.CutPrefix(line, "$ "); ok {
			fmt.Fprintf(&out, "$ %s\n%s", strings.TrimSpace(cmd), sh.do(p, strings.TrimSpace(cmd)))
		}
	}
	return out.String()
}

// shell runs commands in order. `echo $?` prints the exit code of the previous command. A variable
// set by `export` applies to the later commands.
type shell struct {
	exports string
	code    int
}

// do runs a command and returns its output.
func (s *shell) do(p *player, cmd string) string {
	if cmd == "echo $?" {
		return fmt.Sprintln(s.code)
	}
	if strings.HasPrefix(cmd, "export ") {
		s.exports += cmd + "; "
		return ""
	}
	var out strings.Builder
	c, end := p.exec("/bin/sh", "-c", s.exports+cmd)
	defer end()
	c.Stdout, c.Stderr = &out, &out
	s.code = p.exitCode(c.Run())
	return out.String()
}

// checkHosts reports each host that received a message that its script does not expect.
func (p *player) checkHosts() {
	for name := range p.program.hosts {
		if text, err := os.ReadFile(filepath.Join(p.dir, name+".host.fail")); err == nil {
			p.Errorf("%s:%d: host %s: %s", p.page.name, p.program.line(), name, text)
		}
	}
}
