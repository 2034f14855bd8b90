package main

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/concerto-lang/concerto/internal/playground/world"
)

// block is a fenced block of a page. The tests of package spec describe the meaning of blocks.
type block struct {
	Start int // offset of its content in the page
	Word  string
	Marks []string
	Text  string
}

// File returns the name of the file that the block contains, or "".
func (b *block) File() string {
	if b.Word == "host" && len(b.Marks) == 1 {
		return b.Marks[0] + ".host"
	}
	if len(b.Marks) == 1 {
		if name, found := strings.CutPrefix(b.Marks[0], "file="); found {
			return name
		}
	}
	return ""
}

// blocksOf returns the fenced blocks of a text that begin at the start of a line.
func blocksOf(text string) (all []*block) {
	var open *block
	fence, at := "", 0
	for line := range strings.Lines(text) {
		l := strings.TrimRight(line, "\r\n")
		switch {
		case open == nil && strings.HasPrefix(l, "```"):
			rest := strings.TrimLeft(l, "`")
			fence = l[:len(l)-len(rest)]
			words := append(strings.Fields(rest), "")
			open = &block{Start: at + len(line), Word: words[0], Marks: words[1:max(1, len(words)-1)]}
		case open != nil && l == fence:
			open.Text = text[open.Start:at]
			all = append(all, open)
			open = nil
		}
		at += len(line)
	}
	return all
}

// sample is a program of a page that runs in the page. Its files are blocks of the page.
type sample struct {
	Main     string
	Files    map[string]*block
	Fragment bool   // the block contains statements, the body of main
	Output   *block // documented output
}

// samplesOf returns the samples of a page with blocks, by their programs.
func samplesOf(p *page, blocks []*block) map[*block]*sample {
	read := manualSamples
	if p.walk {
		read = walkSamples
	}
	all := read(blocks)
	for b, x := range all {
		if x.needsMachine() || slices.ContainsFunc(onMachines, func(m machineSample) bool { return m.page == p.Path && strings.Contains(b.Text, m.text) }) {
			delete(all, b)
		}
	}
	return all
}

// machineSample is a program whose output in a page differs from the documented one. It has no
// button. text is a part of the program.
type machineSample struct{ page, text, reason string }

// onMachines may only shrink.
var onMachines = []machineSample{
	{"manual/08-hosts", `question_default: "only if quick"`, "the page asks its user the question"},
	{"manual/09-listen", `"approval" => ask`, "the page asks its user about the approval"},
	{"manual/11-emit", `await emit("approve", { what: "deploy" })`, "the page asks its user for the answer"},
	{"manual/12-stores", "missing/scores.db", "stores are in memory"},
	{"manual/17-manifest", `env("HOME")`, "the page has no environment variables"},
	{"examples/relay", "type Moment", "the page asks its user for the answer"},
}

// hostSection matches the sections of hosts in a manifest.
var hostSection = regexp.MustCompile(`(?m)^\[hosts\.([\w-]+)\]`)

// needsMachine reports whether a program needs a process, a key or packages. It needs a process for
// a command as a tool, and for a host without a script.
func (x *sample) needsMachine() bool {
	m := x.Files["Concerto.toml"]
	if m == nil {
		return false
	}
	for _, h := range hostSection.FindAllStringSubmatch(m.Text, -1) {
		if x.Files[h[1]+".host"] == nil && strings.Contains(x.Files[x.Main].Text, "connector: "+h[1]) {
			return true
		}
	}
	return strings.Contains(m.Text, "[tools.") && strings.Contains(m.Text, "command") || strings.Contains(m.Text, "[mcp.") || strings.Contains(m.Text, "api_key_env") || world.HasDependencies(m.Text)
}

// manualSamples returns the samples of a page of the manual. The files, hosts and manifest of a
// program are before it, and its output is after it.
func manualSamples(blocks []*block) map[*block]*sample {
	all := map[*block]*sample{}
	files := map[string]*block{}
	var common *block
	var last *sample
	var lastBlock *block
	for _, b := range blocks {
		switch {
		case b.File() != "":
			files[b.File()] = b
		case b.Word == "toml" && slices.Equal(b.Marks, []string{"page"}):
			common = b
		case b.Word == "toml" && len(b.Marks) == 0:
			files["Concerto.toml"] = b
		case b.Word == "concerto":
			if files["Concerto.toml"] == nil && common != nil {
				files["Concerto.toml"] = common
			}
			files["main.conc"] = b
			last, lastBlock = &sample{Main: "main.conc", Files: files}, b
			for _, m := range b.Marks {
				if last.Fragment = m == "fragment"; !last.Fragment {
					lastBlock = nil // it is not run
				}
			}
			files = map[string]*block{}
		case b.Word == "console" && len(files) > 0:
			files, last, lastBlock = map[string]*block{}, nil, nil // these commands have files of their own
		case b.Word == "output" && len(b.Marks) == 0 && lastBlock != nil && last.Output == nil:
			last.Output = b
			all[lastBlock] = last
		}
	}
	return all
}

// walkSamples returns the samples of a page whose blocks use one directory. A program is a sample
// if its output is directly after it.
func walkSamples(blocks []*block) map[*block]*sample {
	all := map[*block]*sample{}
	files := map[string]*block{}
	for i, b := range blocks {
		name := b.File()
		if name == "" {
			continue
		}
		files[name] = b
		if b.Word != "concerto" || i+1 == len(blocks) || blocks[i+1].Word != "output" || blocks[i+1].File() != "" {
			continue
		}
		x := &sample{Main: path.Base(name), Files: map[string]*block{}, Output: blocks[i+1]}
		dir := path.Dir(name)
		for other, f := range files {
			if path.Dir(other) == dir && isSource(other) {
				x.Files[path.Base(other)] = f
			}
			if f.Word == "host" {
				x.Files[other] = f
			}
		}
		all[b] = x
	}
	return all
}

// isSource reports whether a program in a page can use a file.
func isSource(name string) bool {
	return slices.Contains([]string{".conc", ".toml", ".json", ".txt", ".md", ".csv", ".ndjson", ".yaml"}, path.Ext(name))
}
