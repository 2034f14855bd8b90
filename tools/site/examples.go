package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFile is the maximum size in bytes of an example's file that a page shows.
const maxFile = 12 << 10

// languages are the languages of files, by their extensions.
var languages = map[string]string{
	".conc": "concerto", ".toml": "toml", ".py": "python", ".go": "go", ".mjs": "js", ".js": "js", ".mts": "ts", ".ts": "ts",
	".json": "json", ".sh": "sh", ".md": "text", ".txt": "text", ".yaml": "yaml", ".csv": "text",
}

func (s *site) readExamples() (*section, error) {
	sec := &section{Name: "examples", Title: "Examples", About: "Complete projects that run without a key or a network."}
	if _, err := s.open(sec, "examples/index", "examples/README.md"); err != nil {
		return nil, err
	}
	mains, err := filepath.Glob(filepath.Join(s.root, "examples", "*", "main.conc"))
	if err != nil {
		return nil, err
	}
	for _, main := range mains {
		dir := filepath.Dir(main)
		name := filepath.Base(dir)
		readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil {
			return nil, err
		}
		files, err := filesOf(dir)
		if err != nil {
			return nil, err
		}
		p := &page{Path: "examples/" + name, Source: "examples/" + name + "/README.md", walk: true, Text: exampleText(string(readme), files)}
		if _, err := s.add(sec, p); err != nil {
			return nil, err
		}
	}
	return sec, nil
}

// exampleText returns the text of an example's page: its README, its files, and the program with
// its output.
func exampleText(readme string, files map[string]string) string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(readme, "\n") + "\n")
	_, hasFlags := files["flags.txt"]
	_, needsEnv := files["env.txt"]
	_, isService := files["app.py"]
	runs := !hasFlags && !needsEnv && !isService && !strings.Contains(files["Concerto.toml"], "[hosts.") && !strings.Contains(files["Concerto.toml"], "[mcp.")
	names := []string{}
	for name := range files {
		if name != "main.conc" && name != "want.txt" && name != "flags.txt" && name != "env.txt" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if runs { // the program follows its files
		names = append(names, "main.conc")
	} else {
		names = append([]string{"main.conc"}, names...)
	}
	b.WriteString("\n## Files\n")
	for _, name := range names {
		b.WriteString("\n" + fenced(languages[path.Ext(name)]+" file="+name, files[name]))
	}
	if out := files["want.txt"]; out != "" {
		if !runs {
			b.WriteString("\n## Output\n")
		}
		b.WriteString("\n" + fenced("output", out))
	}
	return b.String()
}

// fenced returns a fenced block.
func fenced(info, text string) string {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fmt.Sprintf("%s%s\n%s%s\n", fence, info, withLineEnd(text), fence)
}

// filesOf returns the files of an example that a page shows.
func filesOf(dir string) (map[string]string, error) {
	out := map[string]string{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path.Base(name) == "README.md" || languages[path.Ext(name)] == "" || strings.HasSuffix(name, "_test.go") {
			return err
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if len(text) <= maxFile && utf8.Valid(text) && len(text) > 0 {
			out[name] = string(text)
		}
		return nil
	})
	return out, err
}
