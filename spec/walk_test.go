package spec_test

import (
	"bufio"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/concerto-lang/concerto/internal/testkit/randtest"
	"github.com/concerto-lang/concerto/internal/testkit/testproc"
)

// followPages follows the pages of docs/guide and docs/cookbook as a reader does. Each page has one
// directory. A block marked `file=NAME` is written there when the page reaches it, and a `console`
// block runs its commands there. An `output` block directly after a program with `file=NAME` is the
// output of `concerto run NAME`. If `host` blocks are before that program, it runs a second time
// with these scripts as its hosts. If the page is named README.md, the directory initially contains
// the files next to the page. All other blocks are checked individually, as on the pages of the
// manual.
func followPages(t *testing.T) {
	var pages []string
	for _, pattern := range []string{"../docs/guide/*.md", "../docs/cookbook/README.md", "../docs/cookbook/*/README.md"} {
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
		t.Run(strings.TrimPrefix(name, "../docs/"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			w, err := parseWalk(name, string(text))
			if err != nil {
				t.Fatal(err)
			}
			w.walk(t)
		})
	}
}

// guidePages are the pages of the guide, in order.
var guidePages = []string{"01-first-program", "02-agent", "03-host", "04-questions", "05-claude-code", "06-tests", "07-limits", "08-durable", "09-relay", "10-deploy", "11-guard"}

// maxGuideWords is the maximum length of a page of the guide, with its programs and outputs.
const maxGuideWords = 600

// TestGuide checks the names, the length and the parts of the guide's pages.
func TestGuide(t *testing.T) {
	found, err := filepath.Glob("../docs/guide/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range found {
		name := strings.TrimSuffix(filepath.Base(file), ".md")
		if name == "README" {
			continue
		}
		names = append(names, name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(strings.Fields(string(text))); n > maxGuideWords {
			t.Errorf("%s has %d words; the maximum is %d", name, n, maxGuideWords)
		}
		for _, part := range []string{"At the end of\\s+this page", "```concerto", "```(output|console)", "(?m)^(Next: |This was the last page)"} {
			if !regexp.MustCompile(part).Match(text) {
				t.Errorf("%s has no %s", name, part)
			}
		}
	}
	if !slices.Equal(names, guidePages) {
		t.Errorf("the pages of the guide are %v, expected %v", names, guidePages)
	}
}

// walk is a page that is followed from top to bottom.
type walk struct {
	page  *page    // the programs that are checked individually
	steps []*block // the file blocks, console blocks and outputs of files, in order
	files map[string]string
	runs  map[*block]sample // by output
}

// sample is a program with `file=NAME` whose output the page shows.
type sample struct {
	name  string
	hosts map[string]string // scripts by name
}

func parseWalk(name, text string) (*walk, error) {
	blocks, err := fences(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	w := &walk{files: map[string]string{}, runs: map[*block]sample{}}
	r := reader{page: &page{name: name, text: text}}
	hosts := map[string]string{}
	for i, b := range blocks {
		switch file := fileOf(b); {
		case b.word == "host" && len(b.marks) == 1 && fileOf(programAfter(blocks[i:])) != "":
			hosts[b.marks[0]] = b.text
		case b.word == "output" && i > 0 && blocks[i-1].word == "concerto" && fileOf(blocks[i-1]) != "":
			w.runs[b] = sample{fileOf(blocks[i-1]), hosts}
			w.steps = append(w.steps, b)
			hosts = map[string]string{}
		case file != "":
			w.files[file] = b.text
			w.steps = append(w.steps, b)
		case b.word == "console":
			w.steps = append(w.steps, b)
		default:
			if err := r.take(b); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, b.line, err)
			}
		}
	}
	r.flushManifest()
	w.page = r.page
	return w, nil
}

// programAfter returns the first program of the blocks, or nil.
func programAfter(blocks []*block) *block {
	for _, b := range blocks {
		if b.word == "concerto" {
			return b
		}
	}
	return nil
}

// fileOf returns the name of the file that a block contains, or "".
func fileOf(b *block) string {
	if b != nil && len(b.marks) == 1 {
		if name, ok := strings.CutPrefix(b.marks[0], "file="); ok {
			return name
		}
	}
	return ""
}

func (w *walk) walk(t *testing.T) {
	f := &follower{
		player: player{T: t, page: w.page, edits: &edits{}, program: &program{files: w.files}},
		name:   filepath.Base(filepath.Dir(w.page.name)),
	}
	f.dir = filepath.Join(t.TempDir(), f.name)
	state, err := os.MkdirTemp("", "walk") // a short path, because the length of a socket's path is limited
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(state) })
	f.env = []string{
		"XDG_STATE_HOME=" + state, "XDG_CONFIG_HOME=" + state, "XDG_RUNTIME_DIR=",
		"CONCERTO_PROGRESS=none", "PYTHONDONTWRITEBYTECODE=1",
		"GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_SYSTEM=" + os.DevNull,
		"GIT_AUTHOR_NAME=Ada", "GIT_AUTHOR_EMAIL=ada@example.org",
		"GIT_COMMITTER_NAME=Ada", "GIT_COMMITTER_EMAIL=ada@example.org",
	}
	if strings.Contains(w.page.text, "$ concerto-relay ") {
		relay, err := testproc.Relay()
		if err != nil {
			t.Fatal(err)
		}
		tool, _ := command()
		f.env = append(f.env, "PATH="+filepath.Dir(relay)+string(os.PathListSeparator)+filepath.Dir(tool)+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	f.start()
	for _, b := range w.steps {
		if name := fileOf(b); name != "" {
			f.writeFile(b, name)
		} else if b.word == "output" {
			f.runSample(b, w.runs[b])
		} else {
			f.compare(b, f.typed(b))
		}
	}
	f.format()
	for n, prog := range w.page.programs {
		t.Run(fmt.Sprintf("%d at line %d", n+1, prog.line()), func(t *testing.T) {
			(&player{T: t, page: w.page, program: prog, edits: f.edits, dir: t.TempDir()}).play()
		})
	}
	if text := f.edits.apply(w.page.text); *update && text != w.page.text {
		if err := os.WriteFile(w.page.name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// follower plays the steps of a walk.
type follower struct {
	player
	name  string   // name of the directory
	files []string // paths of the files next to the page, relative to the page

	shell   shell
	printed string // output of all commands so far
	waits   bool   // a command is running in the background
}

// runSample runs a program of the page and compares its output. If the page has scripts for its
// hosts, it also runs with these.
func (f *follower) runSample(b *block, s sample) {
	f.Helper()
	dir, name := filepath.Split(filepath.FromSlash(s.name))
	in := filepath.Join(f.dir, dir)
	whole := f.dir
	defer func() { f.dir = whole }()
	f.dir = in
	f.compare(b, f.printedBy(name))
	if len(s.hosts) == 0 || *update {
		return
	}
	f.dir = filepath.Join(f.TempDir(), "scripted")
	if err := os.CopyFS(f.dir, os.DirFS(in)); err != nil {
		f.Fatal(err)
	}
	manifest, err := os.ReadFile(filepath.Join(f.dir, "Concerto.toml"))
	if err != nil {
		f.Fatal(err)
	}
	p := &player{T: f.T, page: f.page, program: &program{hosts: s.hosts, files: map[string]string{}}, dir: f.dir}
	for host := range s.hosts {
		section := regexp.MustCompile(`(?m)^\[hosts\.` + regexp.QuoteMeta(host) + `\]\ncommand = .*\n(args = .*\n)?`)
		if !section.Match(manifest) {
			f.Errorf("%s:%d: the manifest has no command for host %s", f.page.name, b.line, host)
		}
		manifest = section.ReplaceAll(manifest, []byte("[hosts."+host+"]\ncommand = \"./"+host+"\"\n"))
	}
	p.program.files["Concerto.toml"] = string(manifest)
	p.write()
	f.compare(b, f.printedBy(name))
	p.checkHosts()
}

// printedBy returns the output of a program, and requires that it succeeds.
func (f *follower) printedBy(name string) string {
	f.Helper()
	code, out, errs := f.concerto("run", "--no-input", name)
	if code != 0 {
		f.Errorf("%s: %s: exit code %d\n%s", f.page.name, name, code, errs)
	}
	return out
}

// typed runs the commands of a console block and returns the block with their output.
//
// A command that ends with ` &` runs in the background until the end of the page, and only its
// first line of output is shown. A word with `…` in a command is replaced by the first word in the
// earlier output that matches it.
func (f *follower) typed(b *block) string {
	var out strings.Builder
	for _, shown := range commands(b.text) {
		line, want, _ := strings.Cut(shown, "\n")
		cmd := blank.ReplaceAllStringFunc(strings.TrimPrefix(line, "$ "), f.recall)
		var printed string
		if background, ok := strings.CutSuffix(cmd, " &"); ok {
			printed = f.background(f.shell.exports + background)
		} else {
			printed = f.typedUntil(cmd, elided(want))
		}
		f.printed += printed
		fmt.Fprintf(&out, "%s\n%s", line, printed)
	}
	return out.String()
}

// typedUntil runs a command until its output matches the expected output. Only while a background
// process is running does it repeat the command, until patience has passed.
func (f *follower) typedUntil(cmd string, wanted *regexp.Regexp) string {
	end := time.Now()
	switch {
	case f.waits && *update:
		end = end.Add(5 * time.Second)
	case f.waits:
		end = end.Add(patience)
	}
	for {
		printed := asTerminal(f.shell.do(&f.player, cmd))
		if wanted.MatchString(printed) || !time.Now().Before(end) {
			return printed
		}
	}
}

// commands splits a console block into its commands, each with its output.
func commands(text string) (all []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "$ ") || len(all) == 0 {
			all = append(all, "")
		}
		all[len(all)-1] += line
	}
	return all
}

// blank matches a word of a command that is not the same in every run.
var blank = regexp.MustCompile(`\S*…\S*`)

// recall returns the first word in the output so far that matches a word with `…`.
func (f *follower) recall(word string) string {
	fits := elided(word)
	for printed := range strings.FieldsSeq(f.printed) {
		if fits.MatchString(printed) {
			return printed
		}
	}
	return word
}

// background starts a command that runs until the test ends, and returns its first line.
func (f *follower) background(cmd string) string {
	c, end := f.exec("/bin/sh", "-c", "exec "+cmd)
	read, write, err := os.Pipe()
	if err != nil {
		f.Fatal(err)
	}
	c.Stdout, c.Stderr = write, write
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = patience
	if err := c.Start(); err != nil {
		f.Fatal(err)
	}
	write.Close()
	f.waits = true
	lines := bufio.NewReader(read)
	line, err := lines.ReadString('\n')
	go io.Copy(io.Discard, lines)
	f.Cleanup(func() {
		end()
		c.Wait()
		read.Close()
	})
	if err != nil {
		f.Errorf("%s: %v", cmd, err)
	}
	return line
}

// start creates the directory of the page, with the files next to the page.
func (f *follower) start() {
	if err := os.MkdirAll(f.dir, 0o755); err != nil {
		f.Fatal(err)
	}
	f.copySDKs()
	source := filepath.Dir(f.page.name)
	if filepath.Base(f.page.name) != "README.md" || filepath.Base(filepath.Dir(source)) != "cookbook" {
		return
	}
	err := filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == f.page.name {
			return err
		}
		name, err := filepath.Rel(source, path)
		f.files = append(f.files, filepath.ToSlash(name))
		return err
	})
	if err == nil {
		err = os.CopyFS(f.dir, os.DirFS(source))
	}
	if err == nil {
		err = os.CopyFS(filepath.Join(filepath.Dir(f.dir), "stand-in"), os.DirFS("../docs/cookbook/stand-in"))
	}
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range f.files {
		if !strings.Contains(f.page.text, name) {
			f.Errorf("the page %s does not mention the file %s in its directory", f.page.name, name)
		}
	}
}

// writeFile writes a block's file. A file that is next to the page must have the block's text.
func (f *follower) writeFile(b *block, name string) {
	path := filepath.Join(f.dir, filepath.FromSlash(name))
	if slices.Contains(f.files, name) {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(f.page.name), name))
		if err != nil {
			f.Fatal(err)
		}
		f.compare(b, string(text))
		return
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(b.text), 0o755)
	}
	if err != nil {
		f.Fatal(err)
	}
}

// compare compares the text of a block with the actual text.
func (f *follower) compare(b *block, got string) {
	f.Helper()
	switch {
	case elided(b.text).MatchString(got):
	case *update:
		f.edits.add(b, elide(b.text, got))
	default:
		f.Errorf("%s:%d: %s: the page (-), printed (+):\n%s", f.page.name, b.line, b.word, cmp.Diff(b.text, got))
	}
}

// elided returns a pattern for the text of a block. `…` matches any part of a line, and a line that
// consists of `…` matches any number of lines.
func elided(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`\A`)
	for line := range strings.Lines(text) {
		if line == "…\n" {
			b.WriteString(`(?:.*\n)*?`)
			continue
		}
		b.WriteString(strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*"))
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

// elide returns the actual text got. Where a line of text with `…` matches a line of got, it
// returns the line of text.
func elide(text, got string) string {
	var b strings.Builder
	for line := range strings.Lines(got) {
		for shown := range strings.Lines(text) {
			if shown != "…\n" && strings.Contains(shown, "…") && elided(shown).MatchString(line) {
				line = shown
				break
			}
		}
		b.WriteString(line)
	}
	return b.String()
}

// viewed matches the events that a terminal shows in its live view, and not as lines.
var viewed = regexp.MustCompile(`(?m)^\[(?:host:progress|run:progress|pipeline:\w+)\] .*\n`)

// asTerminal drops lines that a terminal does not print.
func asTerminal(text string) string { return viewed.ReplaceAllString(text, "") }

// format requires that the programs of the page are formatted as `concerto fmt` does.
func (f *follower) format() {
	var names []string
	for name := range f.program.files {
		if strings.HasSuffix(name, ".conc") {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	if code, out, errs := f.concerto(append([]string{"fmt", "--check"}, names...)...); code != 0 {
		f.Errorf("%s: `concerto fmt` would change %s%s", f.page.name, out, errs)
	}
}
