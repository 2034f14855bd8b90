package spec_test

import (
	"fmt"
	"slices"
	"strings"
)

// page is a document with its programs. The blocks between ``` fences are read from top to bottom.
// The word after the fence is the kind of the block:
//
//	concerto             a program that compiles without diagnostics
//	concerto fragment    statements for the body of a main
//	concerto error=CODE  a program with exactly these errors; warn=CODE for warnings
//	concerto norun       a program that is only checked; without a manifest it may name any
//	                     host and connection
//	toml                 the Concerto.toml of the next program; with error=CODE one that is checked
//	                     alone; `toml page` applies to all programs of the page that have no
//	                     manifest
//	yaml                 a tool file that is checked alone; error=CODE as for concerto
//	host NAME            the script of the host ./NAME for the next program (package testhost)
//	file=NAME            after any kind: the block is a file of the next program
//
// The blocks after a program describe its results:
//
//	output               the program's output; with emit=ndjson the events of the runtime are in it
//	diagnostics          the compiler's diagnostics
//	stderr               the program's standard error if it fails
//	console              commands, each after `$ `, and their output
//	talk                 a conversation with `concerto serve` (package servetest)
//	debug                a session with `concerto dap` (package daptest)
//
// Blocks of the kinds in readers are not tested.
type page struct {
	name     string // file name
	text     string
	programs []*program
}

// block is one fenced block.
type block struct {
	line       int // line number of the fence, from 1
	word       string
	marks      []string // words after the kind
	text       string
	start, end int // offsets of the content in the page
}

// program is a block of Concerto, or a block that is checked alone, with its files and expected
// results.
type program struct {
	main     *block // nil if there are only commands
	files    map[string]string
	hosts    map[string]string // scripts of the hosts by name
	fragment bool
	norun    bool
	codes    []string // expected errors and warnings, sorted
	manifest bool     // main is a Concerto.toml
	tools    bool     // main is a tool file

	output, diagnostics, stderr *block
	consoles, talks, debugs     []*block
}

// readers lists the kinds of blocks that are not tested.
var readers = []string{"", "text", "ebnf", "json", "python", "js", "ts", "go", "sh", "diff"}

// parsePage returns a page with its programs. Its errors contain line numbers.
func parsePage(name, text string) (*page, error) {
	blocks, err := fences(text)
	if err != nil {
		return nil, fmt.Errorf("%s:%w", name, err)
	}
	r := reader{page: &page{name: name, text: text}}
	for _, b := range blocks {
		if err := r.take(b); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, b.line, err)
		}
	}
	if r.waiting() && r.toml == nil {
		return nil, fmt.Errorf("%s: no program follows the last files or hosts", name)
	}
	r.flushManifest()
	return r.page, nil
}

// fences returns the fenced blocks of a text.
func fences(text string) ([]*block, error) {
	var out []*block
	var open *block
	fence, at, n := "", 0, 0
	for line := range strings.Lines(text) {
		n++
		l := strings.TrimRight(line, "\r\n")
		switch {
		case open == nil && strings.HasPrefix(l, "```"):
			rest := strings.TrimLeft(l, "`")
			fence = l[:len(l)-len(rest)]
			f := append(strings.Fields(rest), "")
			open = &block{line: n, word: f[0], marks: f[1:max(1, len(f)-1)], start: at + len(line)}
		case open != nil && l == fence:
			open.end = at
			open.text = text[open.start:open.end]
			out = append(out, open)
			open = nil
		}
		at += len(line)
	}
	if open != nil {
		return nil, fmt.Errorf("%d: the block is never closed", open.line)
	}
	return out, nil
}

// reader assembles programs from blocks.
type reader struct {
	page     *page
	files    map[string]string
	hosts    map[string]string
	toml     *block
	common   string // manifest for all programs of the page that have none
	previous *program
}

func (r *reader) waiting() bool { return len(r.files)+len(r.hosts) > 0 || r.toml != nil }

func (r *reader) take(b *block) error {
	if len(b.marks) == 1 && strings.HasPrefix(b.marks[0], "file=") {
		r.file(strings.TrimPrefix(b.marks[0], "file="), b.text)
		return nil
	}
	switch b.word {
	case "concerto":
		return r.program(b)
	case "toml":
		return r.manifest(b)
	case "yaml":
		return r.tools(b)
	case "host":
		if len(b.marks) != 1 {
			return fmt.Errorf("write `host NAME`")
		}
		if r.hosts == nil {
			r.hosts = map[string]string{}
		}
		r.hosts[b.marks[0]] = b.text
		return nil
	case "output", "diagnostics", "stderr", "console", "talk", "debug":
		return r.attach(b)
	}
	if !slices.Contains(readers, b.word) {
		return fmt.Errorf("unknown kind of block %q", b.word)
	}
	if len(b.marks) > 0 {
		return fmt.Errorf("unknown mark %q", b.marks[0])
	}
	return nil
}

func (r *reader) file(name, text string) {
	if r.files == nil {
		r.files = map[string]string{}
	}
	r.files[name] = text
}

func (r *reader) program(b *block) error {
	p := &program{main: b, files: r.files, hosts: r.hosts}
	for _, m := range b.marks {
		switch key, value, _ := strings.Cut(m, "="); {
		case m == "fragment":
			p.fragment = true
		case m == "norun":
			p.norun = true
		case (key == "error" || key == "warn") && value != "":
			p.codes = append(p.codes, strings.Split(value, ",")...)
		default:
			return fmt.Errorf("unknown mark %q", m)
		}
	}
	slices.Sort(p.codes)
	r.file("main.conc", p.source())
	p.files = r.files
	switch {
	case r.toml != nil:
		p.files["Concerto.toml"] = r.toml.text
	case r.common != "":
		p.files["Concerto.toml"] = r.common
	}
	r.files, r.hosts, r.toml = nil, nil, nil
	r.add(p)
	return nil
}

func (r *reader) add(p *program) {
	r.page.programs = append(r.page.programs, p)
	r.previous = p
}

// source returns the text of main.conc.
func (p *program) source() string {
	if p.fragment {
		return "fn main() {\n" + p.main.text + "}\n"
	}
	return p.main.text
}

func (r *reader) manifest(b *block) error {
	switch {
	case len(b.marks) == 0:
		r.flushManifest()
		r.toml = b
	case len(b.marks) == 1 && b.marks[0] == "page":
		r.common = b.text
	default:
		p := &program{main: b, manifest: true}
		if err := p.parseExpectedCodes(b.marks); err != nil {
			return err
		}
		p.files = map[string]string{"Concerto.toml": b.text, "main.conc": "fn main() {}\n"}
		r.add(p)
	}
	return nil
}

// parseExpectedCodes parses the marks that list the expected codes of a block.
func (p *program) parseExpectedCodes(marks []string) error {
	for _, m := range marks {
		key, value, _ := strings.Cut(m, "=")
		if key != "error" && key != "warn" || value == "" {
			return fmt.Errorf("unknown mark %q", m)
		}
		p.codes = append(p.codes, strings.Split(value, ",")...)
	}
	slices.Sort(p.codes)
	return nil
}

func (r *reader) tools(b *block) error {
	p := &program{main: b, manifest: true, tools: true, files: map[string]string{"tools.yaml": b.text}}
	if err := p.parseExpectedCodes(b.marks); err != nil {
		return err
	}
	r.add(p)
	return nil
}

// flushManifest converts a manifest that no program follows to a program that is checked alone.
func (r *reader) flushManifest() {
	if r.toml == nil {
		return
	}
	r.add(&program{main: r.toml, manifest: true, files: map[string]string{"Concerto.toml": r.toml.text, "main.conc": "fn main() {}\n"}})
	r.toml = nil
}

// attach adds a block to the program above it.
func (r *reader) attach(b *block) error {
	if len(b.marks) > 0 && (b.word != "output" || b.marks[0] != "emit=ndjson") {
		return fmt.Errorf("unknown mark %q", b.marks[0])
	}
	if b.word == "console" && (r.previous == nil || r.waiting()) {
		p := &program{files: r.files, hosts: r.hosts}
		if r.toml != nil {
			r.file("Concerto.toml", r.toml.text)
			p.files = r.files
		}
		r.files, r.hosts, r.toml = nil, nil, nil
		r.add(p)
	}
	p := r.previous
	if p == nil {
		return fmt.Errorf("there is no program above this %s", b.word)
	}
	if b.word == "console" {
		p.consoles = append(p.consoles, b)
		return nil
	}
	if b.word == "talk" {
		p.talks = append(p.talks, b)
		return nil
	}
	if b.word == "debug" {
		p.debugs = append(p.debugs, b)
		return nil
	}
	place := map[string]**block{"output": &p.output, "diagnostics": &p.diagnostics, "stderr": &p.stderr}[b.word]
	switch {
	case *place != nil:
		return fmt.Errorf("the program has a second block of kind %s", b.word)
	case b.word != "diagnostics" && (p.norun || p.manifest):
		return fmt.Errorf("the program above this block is not run")
	case b.word != "output" && p.fragment:
		return fmt.Errorf("a fragment's lines are counted otherwise: write the function around it")
	}
	*place = b
	return nil
}
