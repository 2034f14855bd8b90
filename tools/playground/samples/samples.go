// Package samples reads the programs that the playground offers: the examples of the repository and
// the samples of the manual.
package samples

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/internal/playground/world"
)

// Sample is a program with its files.
type Sample struct {
	Name  string            `json:"name"`  // unique
	Title string            `json:"title"` // name in the list
	About string            `json:"about"` // one sentence, or ""
	Group string            `json:"group"` // theme of an example, chapter of a sample of the manual
	Page  string            `json:"page"`  // page of the site that explains it
	Text  string            `json:"text"`  // text of this page in the repository
	Files map[string]string `json:"files"`
	Open  string            `json:"open"` // the file that is shown first
	// Output is the output that the documentation shows, or nil.
	Output *string `json:"-"`
}

// maxSize is the maximum size of an example's files in bytes, so that its link is short.
const maxSize = 24 << 10

// Read returns the examples that a page can run, and all samples of the manual.
func Read(root string) ([]Sample, error) {
	all, err := readExamples(root)
	if err != nil {
		return nil, err
	}
	manual, err := readManual(root)
	return append(all, manual...), err
}

// Offered returns the samples that the playground offers: those that a page can run.
func Offered(root string) ([]Sample, error) {
	all, err := Read(root)
	return slices.DeleteFunc(all, func(s Sample) bool { return needsMachine(s.Files) != "" }), err
}

// machine lists the parts of a manifest that a page does not have.
var machine = regexp.MustCompile(`(?m)^(?:\[mcp\.|\[hosts\..*params_env\]|\[tools\.|base_url|output_style)|^api_key_env`)

// needsMachine returns why a page cannot run a program, or "".
func needsMachine(files map[string]string) string {
	m := files["Concerto.toml"]
	if world.HasDependencies(m) {
		return "packages"
	}
	if found := machine.FindString(m); found != "" {
		return found
	}
	for _, h := range hostSection.FindAllStringSubmatch(m, -1) {
		if files[h[1]+".host"] == "" {
			return "no recording of host " + h[1]
		}
	}
	for name, text := range files {
		if found := outside.FindString(text); path.Ext(name) == ".conc" && found != "" {
			return found
		}
	}
	return ""
}

var hostSection = regexp.MustCompile(`(?m)^\[hosts\.([\w-]+)\]`)

// outside matches the modules that need git, commands or the network.
var outside = regexp.MustCompile(`std::(?:work|merge|fleet|http)\b|RunCommand|app::inputs`)

// entry matches a theme, or an example with its description, in examples/README.md.
var entry = regexp.MustCompile("(?m)^## (.+)$|^\\| `([\\w-]+)/` \\| (.+) \\|$")

// readExamples returns the examples in the order of examples/README.md, if a page can run them.
func readExamples(root string) ([]Sample, error) {
	list, err := os.ReadFile(filepath.Join(root, "examples", "README.md"))
	if err != nil {
		return nil, err
	}
	var all []Sample
	theme := ""
	for _, m := range entry.FindAllStringSubmatch(string(list), -1) {
		if m[1] != "" {
			theme = m[1]
			continue
		}
		files, err := textsOf(filepath.Join(root, "examples", m[2]))
		if err != nil {
			return nil, err
		}
		if files["main.conc"] == "" || needsMachine(files) != "" {
			continue
		}
		about, _, _ := strings.Cut(m[3], ": `")
		all = append(all, Sample{Name: m[2], Title: m[2], About: about, Group: theme, Page: "examples/" + m[2], Text: "examples/" + m[2], Open: "main.conc", Files: files})
	}
	return all, nil
}

// kept are the extensions of the files that an example needs in a page.
var kept = []string{".conc", ".toml", ".host", ".json", ".txt", ".md", ".csv", ".ndjson", ".yaml", ".yml", ".tape"}

// omitted are files of examples for readers and for tests.
var omitted = []string{"README.md", "want.txt", "flags.txt", "env.txt"}

// textsOf returns the files of a directory that are texts, or nil if they are too large.
func textsOf(dir string) (map[string]string, error) {
	out := map[string]string{}
	size := 0
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !slices.Contains(kept, path.Ext(name)) || slices.Contains(omitted, path.Base(name)) {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil || !utf8.Valid(text) {
			return err
		}
		size += len(text)
		out[name] = string(text)
		return nil
	})
	if err != nil || size > maxSize {
		return nil, err
	}
	return out, nil
}
