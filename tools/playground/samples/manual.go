package samples

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// readManual returns the samples of the manual that run: blocks of `concerto` without the marks
// norun, error and warn, with their files, manifests and hosts. The tests of package spec describe
// the form of the blocks.
func readManual(root string) ([]Sample, error) {
	var all []Sample
	for _, pattern := range []string{"spec/*.md", "spec/std/*.md"} {
		pages, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				return nil, err
			}
			name, err := filepath.Rel(filepath.Join(root, "spec"), page)
			if err != nil {
				return nil, err
			}
			all = append(all, parsePage(strings.TrimSuffix(filepath.ToSlash(name), ".md"), string(text))...)
		}
	}
	return all, nil
}

// reader collects the blocks of a page that belong to the next program.
type reader struct {
	page, title, heading string
	files                map[string]string
	manifest, common     string
	samples              []Sample
	open                 bool // the last block was a sample without an output
	counts               map[string]int
}

// parsePage returns the samples of a page.
func parsePage(page, text string) []Sample {
	r := &reader{page: page, title: page, files: map[string]string{}, counts: map[string]int{}}
	fence, kind := "", ""
	var block strings.Builder
	for line := range strings.Lines(text) {
		l := strings.TrimRight(line, "\r\n")
		switch {
		case fence == "" && strings.HasPrefix(l, "# "):
			r.title, r.heading = l[2:], ""
		case fence == "" && strings.HasPrefix(l, "##"):
			r.heading = strings.TrimLeft(l, "# ")
		case fence == "" && strings.HasPrefix(l, "```"):
			kind = strings.TrimLeft(l, "`")
			fence = l[:len(l)-len(kind)]
			block.Reset()
		case fence != "" && l == fence:
			r.add(strings.Fields(kind), block.String())
			fence = ""
		case fence != "":
			block.WriteString(line)
		}
	}
	return r.samples
}

// add reads a block.
func (r *reader) add(words []string, text string) {
	if len(words) == 0 {
		return
	}
	kind, marks := words[0], words[1:]
	if len(marks) == 1 && strings.HasPrefix(marks[0], "file=") {
		r.files[strings.TrimPrefix(marks[0], "file=")] = text
		r.open = false
		return
	}
	switch kind {
	case "concerto":
		r.addProgram(marks, text)
	case "toml":
		r.open = false
		if len(marks) == 0 {
			r.manifest = text
		} else if marks[0] == "page" {
			r.common = text
		}
	case "host":
		r.open = false
		if len(marks) == 1 {
			r.files[marks[0]+".host"] = text
		}
	case "output":
		if r.open && len(marks) == 0 {
			r.samples[len(r.samples)-1].Output = &text
		}
		r.open = false
	case "console", "talk", "debug", "yaml":
		r.files, r.manifest, r.open = map[string]string{}, "", false
	}
}

// addHosts adds a manifest with the hosts that have a script, as the tests of the manual do for
// programs without a manifest.
func addHosts(files map[string]string) {
	var manifest strings.Builder
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if name, ok := strings.CutSuffix(file, ".host"); ok {
			fmt.Fprintf(&manifest, "[hosts.%s]\ncommand = \"./%s\"\n\n", name, name)
		}
	}
	if manifest.Len() > 0 {
		files["Concerto.toml"] = manifest.String()
	}
}

// pageOf returns the page of the site for a page of the manual.
func pageOf(page string) string {
	if strings.HasPrefix(page, "std/") {
		return page
	}
	return "manual/" + page
}

// addProgram reads a program, which has the files before it.
func (r *reader) addProgram(marks []string, text string) {
	files := r.files
	r.files, r.open = map[string]string{}, false
	if r.manifest != "" {
		files["Concerto.toml"] = r.manifest
	} else if r.common != "" {
		files["Concerto.toml"] = r.common
	}
	r.manifest = ""
	if files["Concerto.toml"] == "" {
		addHosts(files)
	}
	for _, m := range marks {
		if m != "fragment" {
			return
		}
		text = "fn main() {\n" + text + "}\n"
	}
	files["main.conc"] = text
	at := r.heading
	if at == "" {
		at = r.title
	}
	r.counts[at]++
	if n := r.counts[at]; n > 1 {
		at = fmt.Sprintf("%s (%d)", at, n)
	}
	r.open = true
	r.samples = append(r.samples, Sample{Name: fmt.Sprintf("%s-%d", r.page, len(r.samples)+1), Title: at, Group: r.title, Page: pageOf(r.page), Text: "spec/" + r.page + ".md", Files: files, Open: "main.conc"})
}
