// Package cases collects programs whose output in the playground is compared with that of the
// command: the samples of the manual, the scripts of the command's tests, and the cases of the
// conformance suite if it is next to the checkout.
package cases

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/concerto-lang/concerto/tools/playground/samples"
)

// Case is a program with the arguments of `concerto run`.
type Case struct {
	ID    string
	Files map[string]string
	// Path is the program's path, or "" for the project. Emit is the value of --emit, or "".
	// Answers are the values of --answer, Args are the program's arguments.
	Path    string
	Emit    string
	Mock    bool
	Answers []string
	Args    []string
	Stdin   string
	Env     []string
	// Output is the output that the manual shows, or nil.
	Output *string
}

// Read returns the cases of the repository in root, sorted by their names.
func Read(root string) ([]Case, error) {
	all, err := samples.Read(root)
	if err != nil {
		return nil, err
	}
	var out []Case
	for _, s := range all {
		out = append(out, Case{ID: "sample/" + s.Name, Files: s.Files, Path: "main.conc", Output: s.Output})
	}
	suite := os.Getenv("CONFORMANCE")
	if suite == "" {
		suite = filepath.Join(root, "..", "shared", "conformance")
	}
	for _, from := range []struct{ prefix, pattern string }{
		{"script/", filepath.Join(root, "internal", "cli", "testdata", "script", "*.txtar")},
		{"", filepath.Join(suite, "cases", "*", "*.txtar")},
	} {
		files, err := filepath.Glob(from.pattern)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			name := strings.TrimSuffix(filepath.Base(file), ".txtar")
			if from.prefix == "" {
				name = path.Join(filepath.Base(filepath.Dir(file)), name)
			}
			if c, ok := parse(from.prefix+name, string(text), from.prefix == ""); ok {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b Case) int { return strings.Compare(a.ID, b.ID) })
	return out, nil
}

// control lists the sections of conformance cases that are no files.
var control = []string{"cmd", "stdin", "env", "post", "support", "tags"}

// parse returns the first run of a script. ok is false if the script begins with something else.
func parse(id, text string, conformance bool) (c Case, ok bool) {
	if !utf8.ValidString(text) {
		return c, false
	}
	head, files := sections(text)
	c = Case{ID: id, Files: map[string]string{}}
	line := "concerto run --emit ndjson main.conc"
	if conformance {
		if files["support"] != "" || files["post"] != "" {
			return c, false
		}
		if cmd := strings.TrimSpace(files["cmd"]); cmd != "" {
			line, _, _ = strings.Cut(cmd, "\n")
		}
		c.Stdin = files["stdin"]
		for _, l := range strings.Split(files["env"], "\n") {
			if strings.Contains(l, "=") {
				c.Env = append(c.Env, strings.TrimSpace(l))
			}
		}
		for name, content := range files {
			if !slices.Contains(control, name) && !strings.HasPrefix(name, "want.") {
				c.Files[name] = content
			}
		}
		return c, c.command(line)
	}
	c.Files = files
	for l := range strings.Lines(head) {
		l = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), "!"))
		if l != "" && !strings.HasPrefix(l, "#") {
			run, isExec := strings.CutPrefix(l, "exec ")
			return c, isExec && c.command(run)
		}
	}
	return c, false
}

// sections splits a txtar archive.
func sections(text string) (head string, files map[string]string) {
	files = map[string]string{}
	name, b := "", strings.Builder{}
	end := func() {
		if name == "" {
			head = b.String()
		} else {
			files[name] = b.String()
		}
		b.Reset()
	}
	for line := range strings.Lines(text) {
		if l := strings.TrimRight(line, " \t\r\n"); strings.HasPrefix(l, "-- ") && strings.HasSuffix(l, " --") && len(l) > 6 {
			end()
			name = l[3 : len(l)-3]
			continue
		}
		b.WriteString(line)
	}
	end()
	return head, files
}

// command reads a command line. It returns false if the line is not a run that a page supports.
func (c *Case) command(line string) bool {
	words, ok := split(strings.TrimLeft(line, "!? "))
	if !ok || len(words) < 2 || words[0] != "concerto" || words[1] != "run" {
		return false
	}
	for i := 2; i < len(words); i++ {
		w := words[i]
		value := func() string {
			i++
			if i < len(words) {
				return words[i]
			}
			return ""
		}
		switch {
		case w == "--":
			c.Args = words[i+1:]
			i = len(words)
		case w == "--emit":
			c.Emit = value()
		case w == "--mock":
			c.Mock = true
		case w == "--answer":
			c.Answers = append(c.Answers, value())
		case w == "--no-input":
		case strings.HasPrefix(w, "-") || c.Path != "":
			return false
		default:
			c.Path = w
		}
	}
	if c.Path == "" {
		return c.Files["Concerto.toml"] != ""
	}
	return c.Files[c.Path] != "" && path.Ext(c.Path) == ".conc"
}

// split splits a command line into words. ok is false for lines that need a shell.
func split(line string) (words []string, ok bool) {
	if strings.ContainsAny(line, "$|;><*`\\\"") {
		return nil, false
	}
	quoted, word, any := false, "", false
	for _, r := range line {
		switch {
		case r == '\'':
			quoted, any = !quoted, true
		case r == ' ' && !quoted:
			if word != "" || any {
				words = append(words, word)
			}
			word, any = "", false
		default:
			word += string(r)
		}
	}
	if word != "" || any {
		words = append(words, word)
	}
	return words, !quoted
}
